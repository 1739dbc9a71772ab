"""bubblewrap: namespaces with a root that holds only the program, its libraries and its private home; pure.

It needs user namespaces, which Debian's kernel allows and most containers forbid.
"""

import shutil
from pathlib import Path

from django.utils.translation import gettext as _

from benchmarks.processes.sandbox.needs import PROC, Needs, NotConfinable

NAME = "bubblewrap"


def words(needs: Needs, home: Path) -> list[str]:
    """Return the words before the program's own; raise `NotConfinable` where bwrap is not installed."""
    if not (bwrap := shutil.which("bwrap")):
        raise NotConfinable(_("bubblewrap is not installed"))
    return words_of(bwrap, needs, home)


def words_of(bwrap: str, needs: Needs, home: Path) -> list[str]:
    """Return the words before the program's own, which begin with this path of bwrap.

    Without --new-session: the load has a session of its own already, and a signal to its group must reach the program.
    """
    bound = [path for path in (needs.program, needs.loader, *needs.readable) if path != PROC]
    own = ("--proc", PROC) if PROC in needs.readable else ()
    return [
        bwrap,
        *("--unshare-all", "--share-net", "--die-with-parent", "--cap-drop", "ALL"),
        *own,
        *("--dev", "/dev", "--tmpfs", "/tmp"),  # noqa: S108 (a new one, of this sandbox alone)
        *(word for path in bound for word in ("--ro-bind", path, path)),
        *(word for path in needs.sockets for word in ("--ro-bind-try", path, path)),
        *("--bind", str(home), str(home), "--chdir", str(home), "--remount-ro", "/", "--"),
    ]
