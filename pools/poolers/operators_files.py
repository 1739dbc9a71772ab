"""The files that a running pooler reads, with their bytes, as a take-over finds them."""

import errno
import hashlib
import os
from collections.abc import Callable
from dataclasses import dataclass, field

from pools.errors import PoolsError
from pools.hosts.base import PlacedFile

MAIN, INCLUDED, USERS, RULES, OTHER = "main", "include", "auth_file", "auth_hba_file", "other"
UNWRITTEN = (RULES, OTHER)  # roles of files that the panel never writes

Load = Callable[[str], PlacedFile | None]  # takes an absolute path; raises OSError


class Unreadable(PoolsError):
    """The main file can't be read here; the message says which and why."""


@dataclass(frozen=True)
class ReadFile:
    """One file as it is on the disk; `role` is what the program reads it as."""

    path: str
    role: str
    content: bytes = field(repr=False)
    mode: int
    uid: int
    gid: int

    @property
    def text(self) -> str:
        """Its text, from which the same bytes can be made again."""
        return self.content.decode(errors="surrogateescape")

    @property
    def sha256(self) -> str:
        """The digest of its bytes."""
        return hashlib.sha256(self.content).hexdigest()


def loaded(load: Load, path: str, role: str) -> ReadFile:
    """Read a file. Raises `OSError`, also where there is none."""
    file = load(path)
    if file is None:
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
    return ReadFile(path, role, file.content, file.access.mode, file.access.uid, file.access.gid)
