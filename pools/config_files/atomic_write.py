"""Configuration files replaced whole: a reader, or a crash at any moment, finds all the old bytes or all the new."""

import os
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from pools.config_files import symlink_swap
from pools.errors import ApplyFailed

READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC
LARGEST_BYTES = 32 * 1024 * 1024
POLLS = 5  # at a file that another process swaps meanwhile


class UnsafeFolder(ApplyFailed):
    """The configuration folder, or a file in it, is not what the panel may write to."""


def read(folder: str, names: list[str]) -> dict[str, bytes | None]:
    """The bytes of each file; None where there is none. Raises `UnsafeFolder`."""
    with _opened(folder) as folder_fd:
        return {name: _read_one(folder_fd, folder, name) for name in names}


def replace(folder: str, contents: Mapping[str, bytes | None]) -> None:
    """Make all files hold these bytes (None: remove it) at one moment; raises `UnsafeFolder` or `ApplyFailed`.

    Everything is on disk under other names before that moment, so a full disk changes nothing, and files that hold
    these bytes already are left alone, so that it keeps nobody from putting the old ones back.
    Mode 0600, or 0640 where the folder is setgid: that is how its owner shares it with PgBouncer's group.
    """
    with _opened(folder) as folder_fd:
        changed = {name: new for name, new in contents.items() if _read_one(folder_fd, folder, name) != new}
        try:
            if changed:
                symlink_swap.replace(folder_fd, changed)
            else:
                symlink_swap.finish(folder_fd)
        except OSError as error:
            raise ApplyFailed(f"{folder} could not be written: {error.strerror}; its files are whole") from error


def refuse_unsafe(folder: str) -> None:
    """Raise `UnsafeFolder` unless the panel may keep configuration there."""
    with _opened(folder):
        pass


@contextmanager
def _opened(folder: str) -> Iterator[int]:
    """The folder's descriptor, once it is a real folder that nobody else can write to."""
    path = Path(folder)  # drops a trailing slash, which would follow a symbolic link
    try:
        folder_fd = os.open(path, READ | os.O_DIRECTORY)
    except OSError as error:
        why = "it is a symbolic link" if path.is_symlink() else error.strerror
        raise UnsafeFolder(f"config_dir {folder} can't be opened: {why}") from error
    try:
        _refuse_strangers(folder_fd, folder)
        yield folder_fd
    finally:
        os.close(folder_fd)


def _refuse_strangers(folder_fd: int, folder: str) -> None:
    """Only the panel's own account may own it (root may write for any), and only its owner may write to it."""
    status, me = os.fstat(folder_fd), os.geteuid()
    if me not in (0, status.st_uid):
        raise UnsafeFolder(f"config_dir {folder} belongs to uid {status.st_uid}: give it to uid {me}, the panel's own")
    if status.st_mode & stat.S_IWOTH:
        raise UnsafeFolder(f"config_dir {folder} is writable by everybody: chmod o-w it")


def _refuse_anything_but_a_file(folder_fd: int, folder: str, name: str) -> None:
    """A symbolic link, a folder or a device in the file's place is somebody's trap or mistake."""
    with suppress(FileNotFoundError):
        if not stat.S_ISREG(os.stat(name, dir_fd=folder_fd, follow_symlinks=False).st_mode):
            raise UnsafeFolder(f"{folder}/{name} is not a regular file: remove it, then apply again")


def _read_one(folder_fd: int, folder: str, name: str) -> bytes | None:
    for _ in range(POLLS):
        if not symlink_swap.is_swapped(folder_fd, name):
            try:
                return _read_plain(folder_fd, folder, name)
            except UnsafeFolder:
                if symlink_swap.is_swapped(folder_fd, name):  # since it was looked at
                    continue
                raise
        try:
            with symlink_swap.shared_side(folder_fd) as side_fd:
                return _read_plain(side_fd, folder, name)
        except OSError:
            continue
    raise UnsafeFolder(f"{folder}/{name} leads nowhere, left by an apply that was cut short: remove it, then apply")


def _read_plain(parent_fd: int, folder: str, name: str) -> bytes | None:
    _refuse_anything_but_a_file(parent_fd, folder, name)
    try:
        with os.fdopen(os.open(name, READ, dir_fd=parent_fd), "rb") as file:
            return file.read(LARGEST_BYTES)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise UnsafeFolder(f"{folder}/{name} can't be read: {error.strerror}") from error
