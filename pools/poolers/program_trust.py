"""Says which programs of a host may be started: nobody but root and the account that runs one may have a say in it.

Any account of a host may listen at a pooler's port, or name a program of its own `pgbouncer`.
"""

import os
import stat
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import psutil

from core.lib import env

ROOT = 0
PROCESSES = Path("/proc")
KEPT = ("LANG", "LC_ALL", "TZ")  # the rest of the worker's environment holds the panel's keys


def environment(search_path: str) -> dict[str, str]:
    """Return the whole environment of a program that was found: nothing of the panel's own."""
    return {name: value for name in KEPT if (value := env.text(name))} | {"PATH": search_path}


def account_of(config_dir: str) -> int:
    """Return the account that starts a found program: the folder's owner, where this process may become it."""
    return Path(config_dir).stat().st_uid if os.geteuid() == ROOT else os.geteuid()


def checked(path: str, account: int) -> tuple[Path, Path | None]:
    """Return the file itself, without symbolic links, and what of its path others could change (None: nothing).

    Others are all but root and the account. The link of a process leads to its file wherever that is now, so there are
    no folders to look at. Raises OSError where there is no such file.
    """
    file = Path(path)
    if file.is_relative_to(PROCESSES):
        return file, None if _is_kept(file.stat(), account) else file
    file = file.resolve(strict=True)
    return file, next((one for one in (file, *file.parents) if not _is_kept(one.stat(), account)), None)


def _is_kept(found: os.stat_result, account: int) -> bool:
    """Return whether none but root and the account may write it; in a sticky folder, each file counts by itself."""
    if found.st_uid not in (ROOT, account):
        return False
    if stat.S_ISDIR(found.st_mode) and found.st_mode & stat.S_ISVTX:
        return True
    by_group = found.st_mode & stat.S_IWGRP and found.st_gid != ROOT
    return not (by_group or found.st_mode & stat.S_IWOTH)


def accounts_of(config_dir: str) -> set[int]:
    """Return the accounts whose process may be the pooler: root's, this one's, the folder's and those of its files.

    A package may keep the folder as root's, and give the file in it to the account of the service (PGDG's do).
    """
    found = {ROOT, os.geteuid()}
    if config_dir:
        with suppress(OSError):
            found |= set(_owners(Path(config_dir)))
    return found


def _owners(folder: Path) -> Iterator[int]:
    of_folder = folder.stat()
    yield of_folder.st_uid
    if not of_folder.st_mode & stat.S_IWOTH:
        yield from (path.lstat().st_uid for path in folder.iterdir())


def is_of(process: psutil.Process, accounts: set[int]) -> bool:
    """Return whether the process, or the one of the same program that started it, runs as one of these accounts.

    HAProxy's master is root's, and its worker another account's. Raises `psutil.Error`.
    """
    if _runs_as(process, accounts):
        return True
    parent = process.parent()
    return parent is not None and parent.exe() == process.exe() and _runs_as(parent, accounts)


def _runs_as(process: psutil.Process, accounts: set[int]) -> bool:
    uids = process.uids()
    return {uids.real, uids.effective, uids.saved} <= accounts
