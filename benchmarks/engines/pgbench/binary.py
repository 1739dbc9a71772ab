"""Which pgbench is run, and what version it says it has."""

import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from django.conf import settings

from benchmarks.errors import BenchmarksError

_VERSION = re.compile(r"pgbench \(PostgreSQL\) (?P<major>[0-9]+)(?:\.(?P<minor>[0-9]+))?")
DEBIAN_BINARIES = Path("/usr/lib/postgresql")


class BinaryMissing(BenchmarksError):
    """No pgbench can be run here; the message says where it was sought."""

    status = 503


@dataclass(frozen=True, slots=True)
class Binary:
    """A pgbench that answered; `version` is (15, 18) of 15.18, (9, 6) of 9.6.24 and (18, 0) of 18devel."""

    path: str
    version_text: str
    version: tuple[int, int]


def find() -> Binary:
    """POOLDECK_PGBENCH, else the newest of Debian's, else what PATH finds; raises `BinaryMissing`."""
    if path := settings.PGBENCH or _newest_of_debian() or shutil.which("pgbench"):
        return ask(path)
    raise BinaryMissing(
        f"no pgbench in {DEBIAN_BINARIES}/*/bin nor on the PATH: install postgresql-contrib or set POOLDECK_PGBENCH"
    )


def ask(path: str) -> Binary:
    """The version of the pgbench at this path; raises `BinaryMissing` where none answers in 10 s."""
    try:
        answer = subprocess.run([path, "--version"], capture_output=True, text=True, timeout=10, check=True)
    except (OSError, subprocess.SubprocessError) as error:
        raise BinaryMissing(f"{path} can't be run as pgbench ({error}): check POOLDECK_PGBENCH") from error
    version_text = answer.stdout.strip()
    return Binary(path, version_text, version_of(version_text, path))


def version_of(text: str, path: str = "this") -> tuple[int, int]:
    """(major, minor) of `pgbench --version`'s answer; raises `BinaryMissing` for any other text."""
    if not (found := _VERSION.match(text)):
        raise BinaryMissing(f"{path} answers {text[:80]!r}, which is not pgbench's: check POOLDECK_PGBENCH")
    return int(found["major"]), int(found["minor"] or 0)


def _newest_of_debian() -> str | None:
    """Debian keeps each major version in a folder of that name."""
    found = [path for path in DEBIAN_BINARIES.glob("*/bin/pgbench") if path.parts[-3].replace(".", "").isdigit()]
    newest = max(found, key=lambda path: tuple(map(int, path.parts[-3].split("."))), default=None)
    return str(newest) if newest else None
