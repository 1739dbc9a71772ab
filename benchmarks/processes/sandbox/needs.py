"""What a program needs to run: its file, its loader, its libraries, and files for name resolution and certificates."""

import re
import subprocess
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from django.utils.translation import gettext as _

# The first group resolves names, the second has the certificates for sslrootcert=system.
SYSTEM_FILES = (
    "/etc/resolv.conf",
    "/etc/nsswitch.conf",
    "/etc/hosts",
    "/etc/host.conf",
    "/etc/gai.conf",
    "/etc/services",
    "/etc/ssl/openssl.cnf",
    "/etc/ssl/certs",
    "/usr/lib/ssl",
    "/usr/share/ca-certificates",
)
PROC = "/proc"  # the sandbox's own, where it has one, and never the host's
ASKED_S = 10.0
LISTING_LIBRARIES = {"LD_TRACE_LOADED_OBJECTS": "1", "LC_ALL": "C"}  # the environment in which a program lists them
_LOADED = re.compile(r"(?:=> )?(?P<path>/\S+) \(0x[0-9a-f]+\)")
_LOADER = re.compile(r"ld(?:-linux|64|-musl)?[^/]*\.so(?:\.[0-9]+)?")


class NotConfinable(Exception):
    """A program whose needs can't be found out."""


@dataclass(frozen=True, slots=True)
class Needs:
    """The program and its loader, which must be executable, and what it reads; it connects to the files `sockets`."""

    program: str
    loader: str
    readable: tuple[str, ...]
    sockets: tuple[str, ...] = ()


def needs_of(program: str, sockets: tuple[str, ...] = (), reads: tuple[str, ...] = ()) -> Needs:
    """Return the files and rights to run the program, to connect to these sockets and to read these paths.

    Raises `NotConfinable`.
    """
    loader, folders = _libraries(program)
    there = tuple(path for path in (*SYSTEM_FILES, *reads) if Path(path).exists())
    return Needs(program, loader, (*folders, *there), sockets)


@cache
def _libraries(program: str) -> tuple[str, tuple[str, ...]]:
    """Return the dynamic loader and the folders of its libraries."""
    try:
        listing = subprocess.run(
            [program],
            env=LISTING_LIBRARIES,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=ASKED_S,
            check=True,
        ).stdout
    except (OSError, UnicodeDecodeError, subprocess.SubprocessError) as error:
        raise NotConfinable(
            _("the libraries of %(program)s can't be found out (%(error)s)") % {"program": program, "error": error}
        ) from error
    try:
        return libraries_in(listing, program)
    except NotConfinable as error:
        raise NotConfinable(_("%(error)s: set POOLDECK_PGBENCH to one") % {"error": error}) from error


def libraries_in(listing: str, program: str) -> tuple[str, tuple[str, ...]]:
    """Return the dynamic loader and the folders of its libraries, as the loader itself lists them (as ldd(1) does).

    Whole folders, since the C library opens further libraries there when it resolves a name. Raises `NotConfinable`.
    """
    loaded = [Path(found["path"]) for found in _LOADED.finditer(listing)]
    loader = next((path for path in loaded if _LOADER.fullmatch(path.name)), None)
    if loader is None:
        raise NotConfinable(_("%(program)s is not a program with libraries of its own") % {"program": program})
    return str(loader), tuple(sorted({str(path.parent) for path in loaded if path != loader}))
