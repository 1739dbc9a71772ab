"""Landlock: the kernel denies the program every file that it does not need, and every other program; pure.

Linux 5.13 and newer have it, in containers too. The program keeps its process id, so it is killed as any other load.
"""

import json
import os
import sys
from pathlib import Path

from django.utils.translation import gettext as _

from benchmarks.processes.process import drops_root, is_reachable
from benchmarks.processes.sandbox.needs import PROC, Needs, NotConfinable

NAME = "Landlock"
LAUNCHER = Path(__file__).with_name("landlocked.py")
DEVICES = ("/dev/null", "/dev/urandom", "/dev/random")  # Java takes seconds to make random bytes without the last one.


def words(needs: Needs, home: Path) -> list[str]:
    """Return the words before the program's own; raise `NotConfinable` where no Python can be started.

    The launcher is passed as text, since the load's account may not be able to read this checkout.
    """
    rules = {
        "execute": [needs.program, needs.loader],
        "read": [*(path for path in needs.readable if path != PROC), *DEVICES],
        "write": [str(home), DEVICES[0]],
    }
    return [_python(), "-I", "-S", "-c", LAUNCHER.read_text(encoding="utf-8"), json.dumps(rules)]


def _python() -> str:
    """Return a Python that the load's account can start."""
    for program in (os.path.realpath(sys.executable), "/usr/bin/python3"):
        if not drops_root() or is_reachable(program):
            return program
    raise NotConfinable(
        _("Landlock needs a Python outside %(parent)s: install python3") % {"parent": Path(sys.executable).parent}
    )
