"""Account that load programs run as: one without rights of its own, where this process can drop root."""

import os
import subprocess
from functools import cache
from pathlib import Path

# An account that nothing else uses and that /etc/passwd need not know: systemd's list of ids calls 65520–65533 unused.
LOAD_UID = 65533


@cache
def drops_root() -> bool:
    """Test whether the load can run as LOAD_UID: only root can arrange that, and not in every container."""
    if os.geteuid() != 0:
        return False
    trial = subprocess.run(["setpriv", *setpriv_words(), "true"], capture_output=True, check=False)
    return trial.returncode == 0


def setpriv_words() -> list[str]:
    """Return the arguments with which setpriv(1) changes to that account."""
    return [f"--reuid={LOAD_UID}", f"--regid={LOAD_UID}", "--clear-groups", "--no-new-privs"]


def is_reachable(program: str) -> bool:
    """Test whether an account without rights of its own can start the program (one under /root it can't).

    A link must be reachable as well as its target, since a virtual environment keeps its packages beside the link.
    """
    link, path = Path(program).absolute(), Path(program).resolve()
    folders = (link, *link.parents, path, *path.parents)
    return path.is_file() and all(folder.stat().st_mode & 0o001 for folder in folders)
