"""Replaces configuration files atomically: a reader, or a crash at any moment, finds all old bytes or all new ones."""

import os
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from django.utils.translation import gettext as _

from pools.config_files import symlink_swap
from pools.errors import ApplyFailed

READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC
LARGEST_BYTES = 32 * 1024 * 1024
POLLS = 5  # of a file that another process is swapping


class UnsafeFolder(ApplyFailed):
    """The panel may not write to the configuration folder, or to a file in it."""


def read(folder: str, names: list[str]) -> dict[str, bytes | None]:
    """Read the bytes of each file; None where there is none. Raises `UnsafeFolder`."""
    with _opened(folder) as folder_fd:
        return {name: _read_one(folder_fd, folder, name) for name in names}


def replace(folder: str, contents: Mapping[str, bytes | None]) -> None:
    """Replace all files by these bytes (None: remove it) at one moment; raises `UnsafeFolder` or `ApplyFailed`.

    Everything is on disk under other names before that moment, so a full disk changes nothing. Files that already hold
    these bytes are left alone, so that a full disk never prevents a rollback.
    Mode 0600, or 0640 where the folder is setgid: its owner shares it so with PgBouncer's group.
    """
    with _opened(folder) as folder_fd:
        changed = {name: new for name, new in contents.items() if _read_one(folder_fd, folder, name) != new}
        try:
            if changed:
                symlink_swap.replace(folder_fd, changed)
            else:
                symlink_swap.finish(folder_fd)
        except OSError as error:
            raise ApplyFailed(
                _("%(folder)s could not be written: %(reason)s; its files are unchanged")
                % {"folder": folder, "reason": error.strerror}
            ) from error


def refuse_unsafe(folder: str) -> None:
    """Raise `UnsafeFolder` unless the panel may keep configuration there."""
    with _opened(folder):
        pass


@contextmanager
def _opened(folder: str) -> Iterator[int]:
    """Open the folder, and yield its descriptor if it is a real folder that only its owner can write to."""
    path = Path(folder)  # drops a trailing slash, which would follow a symbolic link
    try:
        folder_fd = os.open(path, READ | os.O_DIRECTORY)
    except OSError as error:
        reason = _("it is a symbolic link") if path.is_symlink() else error.strerror
        raise UnsafeFolder(
            _("config_dir %(folder)s can't be opened: %(reason)s") % {"folder": folder, "reason": reason}
        ) from error
    try:
        _refuse_strangers(folder_fd, folder)
        yield folder_fd
    finally:
        os.close(folder_fd)


def _refuse_strangers(folder_fd: int, folder: str) -> None:
    """Raise unless the panel's account owns it (root may write for any), and not everybody may write to it."""
    status, me = os.fstat(folder_fd), os.geteuid()
    if me not in (0, status.st_uid):
        raise UnsafeFolder(
            _("config_dir %(folder)s belongs to uid %(owner)s: give it to uid %(own)s, the panel's own")
            % {"folder": folder, "owner": status.st_uid, "own": me}
        )
    if status.st_mode & stat.S_IWOTH:
        raise UnsafeFolder(_("config_dir %(folder)s is writable by everybody: chmod o-w it") % {"folder": folder})


def _refuse_anything_but_a_file(folder_fd: int, folder: str, name: str) -> None:
    """Raise `UnsafeFolder` where a symbolic link, a folder or a device has the file's name."""
    with suppress(FileNotFoundError):
        if not stat.S_ISREG(os.stat(name, dir_fd=folder_fd, follow_symlinks=False).st_mode):
            raise UnsafeFolder(
                _("%(folder)s/%(name)s is not a regular file: remove it, then apply again")
                % {"folder": folder, "name": name}
            )


def _read_one(folder_fd: int, folder: str, name: str) -> bytes | None:
    for _attempt in range(POLLS):
        if not symlink_swap.is_swapped(folder_fd, name):
            try:
                return _read_plain(folder_fd, folder, name)
            except UnsafeFolder:
                if symlink_swap.is_swapped(folder_fd, name):  # the swap began after the check above
                    continue
                raise
        try:
            with symlink_swap.shared_side(folder_fd) as side_fd:
                return _read_plain(side_fd, folder, name)
        except OSError:
            continue
    raise UnsafeFolder(
        _("%(folder)s/%(name)s is a dangling link of an interrupted apply: remove it, then apply again")
        % {"folder": folder, "name": name}
    )


def _read_plain(parent_fd: int, folder: str, name: str) -> bytes | None:
    _refuse_anything_but_a_file(parent_fd, folder, name)
    try:
        with os.fdopen(os.open(name, READ, dir_fd=parent_fd), "rb") as file:
            return file.read(LARGEST_BYTES)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise UnsafeFolder(
            _("%(folder)s/%(name)s can't be read: %(reason)s")
            % {"folder": folder, "name": name, "reason": error.strerror}
        ) from error
