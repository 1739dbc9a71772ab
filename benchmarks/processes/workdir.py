"""Folders that load programs work in: private to one attempt of a run, and removed with it."""

import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks.processes.command import PASSFILE, ROOT_CERTIFICATE
from benchmarks.processes.process import LOAD_UID, drops_root

PREFIX = "pooldeck-run-"


@contextmanager
def private_home(owner: str, password: str, certificate: str = "") -> Iterator[Path]:
    """Make a 0700 folder with a 0600 `pgpass` of that password (and `root.crt`), removed afterwards.

    Its name holds `owner`, so that the reaper can tell which attempt left it.
    """
    home = Path(tempfile.mkdtemp(prefix=f"{PREFIX}{owner}-"))
    try:
        put(home / PASSFILE, passfile_text(password))
        if certificate:
            put(home / ROOT_CERTIFICATE, certificate)
        if drops_root():
            os.chown(home, LOAD_UID, LOAD_UID)
        yield home
    finally:
        shutil.rmtree(home, ignore_errors=True)


def passfile_text(password: str) -> str:
    """Return a password file (libpq's) for any connection of this run, with `:` and `\\` escaped."""
    escaped = password.replace("\\", "\\\\").replace(":", "\\:")
    return f"*:*:*:*:{escaped}\n"


def put(path: Path, text: str) -> None:
    """Write a new 0600 file into a private home, owned by the load's account."""
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
        file.write(text)
    if drops_root():
        os.chown(path, LOAD_UID, LOAD_UID)


def left_homes() -> dict[str, Path]:
    """Return owner → folder for every private home on this host, including those in use."""
    pattern = re.compile(re.escape(PREFIX) + r"(?P<owner>[0-9a-f]{32}-\d+)-[^/]+")
    folders = Path(tempfile.gettempdir()).glob(f"{PREFIX}*")
    return {match["owner"]: folder for folder in folders if (match := pattern.fullmatch(folder.name))}


def remove_home(folder: Path) -> None:
    """Remove a private home that its run left."""
    shutil.rmtree(folder, ignore_errors=True)
