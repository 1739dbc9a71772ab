"""Configuration files replaced whole: a reader, or a crash at any moment, finds the old bytes or the new."""

import os
import re
import secrets
import stat
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from pools.errors import ApplyFailed

READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC
CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
LARGEST_BYTES = 32 * 1024 * 1024


class UnsafeFolder(ApplyFailed):
    """The configuration folder, or a file in it, is not what the panel may write to."""


def read(folder: str, names: list[str]) -> dict[str, bytes | None]:
    """The bytes of each file; None where there is none. Raises `UnsafeFolder`."""
    with _opened(folder) as folder_fd:
        return {name: _read_one(folder_fd, folder, name) for name in names}


def replace(folder: str, contents: Mapping[str, bytes | None]) -> None:
    """Make each file hold these bytes (None: remove it), in this order; raises `UnsafeFolder` or `ApplyFailed`.

    Everything is on disk under temporary names before the first rename, so a full disk changes nothing, and
    files that hold these bytes already are left alone, so that it keeps nobody from putting the old ones back.
    Mode 0600, or 0640 where the folder is setgid: that is how its owner shares it with PgBouncer's group.
    """
    with _opened(folder) as folder_fd:
        _remove_leftovers(folder_fd, contents)
        changed = {name: new for name, new in contents.items() if _read_one(folder_fd, folder, name) != new}
        try:
            written = {name: _write_aside(folder_fd, name, new) for name, new in changed.items() if new is not None}
            for name in changed:
                _put_in_place(folder_fd, name, written)
            os.fsync(folder_fd)
        except OSError as error:
            raise ApplyFailed(f"{folder} could not be written: {error.strerror}; its files are whole") from error
        finally:
            _remove_leftovers(folder_fd, contents)


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
    _refuse_anything_but_a_file(folder_fd, folder, name)
    try:
        with os.fdopen(os.open(name, READ, dir_fd=folder_fd), "rb") as file:
            return file.read(LARGEST_BYTES)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise UnsafeFolder(f"{folder}/{name} can't be read: {error.strerror}") from error


def _write_aside(folder_fd: int, name: str, content: bytes) -> str:
    """The temporary name under which the bytes now lie on disk, owned by the folder's owner."""
    aside = f".{name}.{secrets.token_hex(8)}"
    folder = os.fstat(folder_fd)
    file_fd = os.open(aside, CREATE, 0o600, dir_fd=folder_fd)
    with os.fdopen(file_fd, "wb") as file:
        file.write(content)
        file.flush()
        os.fchmod(file_fd, 0o640 if folder.st_mode & stat.S_ISGID else 0o600)
        if os.geteuid() == 0:
            os.fchown(file_fd, folder.st_uid, folder.st_gid)
        os.fsync(file_fd)
    return aside


def _remove_leftovers(folder_fd: int, names: Iterable[str]) -> None:
    """Temporary files of this write, or of a worker that was killed in one: they hold passwords."""
    aside = re.compile(rf"\.({'|'.join(map(re.escape, names))})\.[0-9a-f]{{16}}")
    for name in os.listdir(folder_fd):
        if aside.fullmatch(name):
            with suppress(FileNotFoundError):
                os.unlink(name, dir_fd=folder_fd)


def _put_in_place(folder_fd: int, name: str, written: dict[str, str]) -> None:
    if name in written:
        os.rename(written[name], name, src_dir_fd=folder_fd, dst_dir_fd=folder_fd)
        return
    with suppress(FileNotFoundError):
        os.unlink(name, dir_fd=folder_fd)
