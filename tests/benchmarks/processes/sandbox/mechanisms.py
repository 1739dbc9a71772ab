"""The sandboxes to test, each where this host lets its program work at all."""

import subprocess

import pytest

from benchmarks.processes.process import drops_root, setpriv_words
from benchmarks.processes.sandbox import bubblewrap, landlock


def _why_no_bubblewrap() -> str:
    """What bubblewrap itself says where it can do nothing here (in a chroot, or without namespaces); else empty."""
    account = ["setpriv", *setpriv_words(), "--"] if drops_root() else []
    words = [*account, "bwrap", "--unshare-all", "--ro-bind", "/", "/", "true"]
    try:
        done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=60)
    except OSError as error:
        return str(error)
    return done.stderr.strip() if done.returncode else ""


NO_BUBBLEWRAP = _why_no_bubblewrap()
MECHANISMS = [
    pytest.param(
        bubblewrap,
        id="bubblewrap",
        marks=pytest.mark.skipif(bool(NO_BUBBLEWRAP), reason=f"bubblewrap can do nothing here: {NO_BUBBLEWRAP}"),
    ),
    pytest.param(landlock, id="landlock"),
]
