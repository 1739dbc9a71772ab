"""What a program must reach to run: its file, its loader, its libraries, and what names and certificates need."""

import re
import subprocess
from dataclasses import dataclass
from functools import cache
from pathlib import Path

# resolving names, and trusting certificates where the connection says sslrootcert=system
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
PROC = "/proc"  # among what is read: that of the sandbox itself, where it has one, and never the host's
ASKED_S = 10.0
_LOADED = re.compile(r"(?:=> )?(?P<path>/\S+) \(0x[0-9a-f]+\)")
_LOADER = re.compile(r"ld(?:-linux|64|-musl)?[^/]*\.so(?:\.[0-9]+)?")


class NotConfinable(Exception):
    """A program whose needs can't be told."""


@dataclass(frozen=True, slots=True)
class Needs:
    """The program and its loader, which must be executable, and what it reads; `sockets` are files it connects to."""

    program: str
    loader: str
    readable: tuple[str, ...]
    sockets: tuple[str, ...] = ()


def needs_of(program: str, sockets: tuple[str, ...] = (), reads: tuple[str, ...] = ()) -> Needs:
    """What the program needs to run, to connect to these Unix sockets and to read these files and folders.

    Raises `NotConfinable`.
    """
    loader, folders = _libraries(program)
    there = tuple(path for path in (*SYSTEM_FILES, *reads) if Path(path).exists())
    return Needs(program, loader, (*folders, *there), sockets)


@cache
def _libraries(program: str) -> tuple[str, tuple[str, ...]]:
    """The dynamic loader and the folders of its libraries, as the loader itself tells them (what ldd(1) prints).

    The whole folders, since the C library opens further ones there when it resolves a name.
    """
    try:
        described = subprocess.run(
            [program],
            env={"LD_TRACE_LOADED_OBJECTS": "1", "LC_ALL": "C"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=ASKED_S,
            check=True,
        ).stdout
    except (OSError, UnicodeDecodeError, subprocess.SubprocessError) as error:
        raise NotConfinable(f"the libraries of {program} can't be told ({error})") from error
    loaded = [Path(found["path"]) for found in _LOADED.finditer(described)]
    loader = next((path for path in loaded if _LOADER.fullmatch(path.name)), None)
    if loader is None:
        raise NotConfinable(f"{program} is no program with libraries of its own: set POOLDECK_PGBENCH to one")
    return str(loader), tuple(sorted({str(path.parent) for path in loaded if path != loader}))
