"""Finds pgbench and its version."""

import re
import shutil
import subprocess
from collections.abc import Iterable
from pathlib import Path

from django.conf import settings
from django.utils.translation import gettext as _

from benchmarks.engines.binaries import Program, ProgramMissing, answer_of
from benchmarks.processes.machines import Machine

_VERSION = re.compile(r"pgbench \(PostgreSQL\) (?P<major>[0-9]+)(?:\.(?P<minor>[0-9]+))?")
DEBIAN_BINARIES = Path("/usr/lib/postgresql")


def find() -> Program:
    """Return POOLDECK_PGBENCH, else the newest of Debian's, else that of the PATH; raise `ProgramMissing`."""
    if path := settings.PGBENCH or _newest_of_debian() or shutil.which("pgbench"):
        return ask(path)
    raise ProgramMissing(
        _("no pgbench in %(folder)s/*/bin nor on the PATH: install postgresql-contrib or set POOLDECK_PGBENCH")
        % {"folder": DEBIAN_BINARIES}
    )


def find_on(machine: Machine) -> Program:
    """Return the pgbench of the load's machine: on another one, the newest of Debian's, else that of its PATH.

    Raises `ProgramMissing`, and `HostUnreachable` of the pools app.
    """
    if machine.is_here:
        return find()
    paths = machine.answer(
        ["sh", "-c", f"ls {DEBIAN_BINARIES}/*/bin/pgbench 2> /dev/null; command -v pgbench; :"]
    ).split()
    path = _newest([Path(one) for one in paths]) or next(iter(paths[-1:]), None)
    if path is None:
        raise ProgramMissing(_("there is no pgbench on the generator's host: install postgresql-contrib there"))
    version_text = machine.answer([path, "--version"]).strip()
    return Program(path, version_text, version_of(version_text, path))


def ask(path: str) -> Program:
    """Return the pgbench at this path with its version; raise `ProgramMissing` where none answers in 10 s."""
    try:
        answer = answer_of(path, "--version")
    except (OSError, subprocess.SubprocessError) as error:
        raise ProgramMissing(
            _("%(path)s can't be run as pgbench (%(error)s): check POOLDECK_PGBENCH") % {"path": path, "error": error}
        ) from error
    version_text = answer.stdout.strip()
    return Program(path, version_text, version_of(version_text, path))


def version_of(text: str, path: str = "this") -> tuple[int, int]:
    """Return (major, minor) of the answer to `pgbench --version`; raise `ProgramMissing` for any other text."""
    if not (found := _VERSION.match(text)):
        raise ProgramMissing(
            _("%(path)s answers %(text)s, which is not pgbench's: check POOLDECK_PGBENCH")
            % {"path": path, "text": repr(text[:80])}
        )
    return int(found["major"]), int(found["minor"] or 0)


def _newest_of_debian() -> str | None:
    """Return the newest of Debian's, which keeps each major version in a folder of that name."""
    return _newest(DEBIAN_BINARIES.glob("*/bin/pgbench"))


def _newest(paths: Iterable[Path]) -> str | None:
    found = [path for path in paths if len(path.parts) > 3 and path.parts[-3].replace(".", "").isdigit()]
    newest = max(found, key=lambda path: tuple(map(int, path.parts[-3].split("."))), default=None)
    return str(newest) if newest else None
