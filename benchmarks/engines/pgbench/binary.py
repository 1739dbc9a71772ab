"""Which pgbench is run, and what version it says it has."""

import re
import shutil
import subprocess
from pathlib import Path

from django.conf import settings

from benchmarks.engines.binaries import Program, ProgramMissing

_VERSION = re.compile(r"pgbench \(PostgreSQL\) (?P<major>[0-9]+)(?:\.(?P<minor>[0-9]+))?")
DEBIAN_BINARIES = Path("/usr/lib/postgresql")


def find() -> Program:
    """POOLDECK_PGBENCH, else the newest of Debian's, else what PATH finds; raises `ProgramMissing`."""
    if path := settings.PGBENCH or _newest_of_debian() or shutil.which("pgbench"):
        return ask(path)
    raise ProgramMissing(
        f"no pgbench in {DEBIAN_BINARIES}/*/bin nor on the PATH: install postgresql-contrib or set POOLDECK_PGBENCH"
    )


def ask(path: str) -> Program:
    """The version of the pgbench at this path; raises `ProgramMissing` where none answers in 10 s."""
    try:
        answer = subprocess.run([path, "--version"], capture_output=True, text=True, timeout=10, check=True)
    except (OSError, subprocess.SubprocessError) as error:
        raise ProgramMissing(f"{path} can't be run as pgbench ({error}): check POOLDECK_PGBENCH") from error
    version_text = answer.stdout.strip()
    return Program(path, version_text, version_of(version_text, path))


def version_of(text: str, path: str = "this") -> tuple[int, int]:
    """(major, minor) of `pgbench --version`'s answer; raises `ProgramMissing` for any other text."""
    if not (found := _VERSION.match(text)):
        raise ProgramMissing(f"{path} answers {text[:80]!r}, which is not pgbench's: check POOLDECK_PGBENCH")
    return int(found["major"]), int(found["minor"] or 0)


def _newest_of_debian() -> str | None:
    """Debian keeps each major version in a folder of that name."""
    found = [path for path in DEBIAN_BINARIES.glob("*/bin/pgbench") if path.parts[-3].replace(".", "").isdigit()]
    newest = max(found, key=lambda path: tuple(map(int, path.parts[-3].split("."))), default=None)
    return str(newest) if newest else None
