"""Replaces configuration files atomically: a reader, or a crash at any moment, finds all old bytes or all new ones.

A rename replaces one file. To replace several, each becomes a symbolic link to the same bytes, through one link that
they share; a rename then redirects the shared link, and afterwards the new files replace their links. At rest there
are no links, and no step but that rename changes what a reader finds.
"""

import os
import shutil
import stat
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from django.utils.translation import gettext as _

from pools.errors import ApplyFailed
from pools.hosts.base import LARGEST_BYTES, Access, UnsafeFolder
from pools.hosts.free_space import refuse_full

READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC
POLLS = 5  # attempts to read a file that another process is swapping


def read(folder: str, names: list[str]) -> dict[str, bytes | None]:
    """Read the bytes of each file; None where there is none. Raises `UnsafeFolder`."""
    with _opened(folder) as folder_fd:
        return {name: _read_one(folder_fd, folder, name) for name in names}


def replace(folder: str, contents: Mapping[str, bytes | None], of_new: Access | None = None) -> None:
    """Replace all files by these bytes (None: remove it) at one moment; raises `UnsafeFolder` or `ApplyFailed`.

    Files for which the disk has no room are refused (`DiskFull`). Everything is on disk under other names before that
    moment, so a disk that gets full changes nothing. Files that already hold these bytes are left alone, so that a full
    disk never prevents a rollback.
    Mode 0600, or 0640 where the folder is setgid: its owner shares it so with PgBouncer's group. With `of_new`, files
    that are there keep their owner and mode, and new ones get these.
    """
    with _opened(folder) as folder_fd:
        changed = {name: new for name, new in contents.items() if _read_one(folder_fd, folder, name) != new}
        try:
            finish_swap(folder_fd)
            refuse_full(folder_fd, folder, changed.values())
            if changed:
                replace_behind_link(folder_fd, changed, of_new)
        except OSError as error:
            raise ApplyFailed(
                _("%(folder)s could not be written: %(reason)s; its files are unchanged")
                % {"folder": folder, "reason": error.strerror}
            ) from error


def refuse_unsafe(folder: str) -> None:
    """Raise `UnsafeFolder` unless the panel may keep configuration there."""
    with _opened(folder) as folder_fd:
        if not os.access(".", os.W_OK | os.X_OK, dir_fd=folder_fd, effective_ids=True):
            raise UnsafeFolder(
                _("config_dir %(folder)s can't be written by the panel's account: chmod u+rwx it, or mount it writable")
                % {"folder": folder}
            )


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
        mode = os.stat(name, dir_fd=folder_fd, follow_symlinks=False).st_mode
        if stat.S_ISLNK(mode):
            text = _(
                "%(folder)s/%(name)s is a symbolic link to %(target)s: put the file itself there, or register the "
                "folder that has it, since an apply replaces whole files"
            )
            target = os.readlink(name, dir_fd=folder_fd)
            raise UnsafeFolder(text % {"folder": folder, "name": name, "target": target})
        if not stat.S_ISREG(mode):
            raise UnsafeFolder(
                _("%(folder)s/%(name)s is not a regular file: remove it, then apply again")
                % {"folder": folder, "name": name}
            )


def _read_one(folder_fd: int, folder: str, name: str) -> bytes | None:
    for _attempt in range(POLLS):
        if not is_swapped(folder_fd, name):
            try:
                return _read_plain(folder_fd, folder, name)
            except UnsafeFolder:
                if is_swapped(folder_fd, name):  # the swap began after the check above
                    continue
                raise
        try:
            with shared_side(folder_fd) as side_fd:
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


OPEN = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_DIRECTORY
CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
STAGE, SHARED, OLD, NEW, NEXT = ".pooldeck", "live", "old", "new", "next"


def link_of(name: str) -> str:
    """Return the target of a file's link during a swap."""
    return f"{STAGE}/{SHARED}/{name}"


def is_swapped(folder_fd: int, name: str) -> bool:
    """Return whether the file is a link of a running or an interrupted swap."""
    try:
        return os.readlink(name, dir_fd=folder_fd) == link_of(name)
    except OSError:  # absent, or no link
        return False


@contextmanager
def shared_side(folder_fd: int) -> Iterator[int]:
    """Open the folder that the shared link leads to, following no other link; `FileNotFoundError` without one."""
    with ExitStack() as opened:
        stage_fd = opened.enter_context(_folder(folder_fd, STAGE))
        side = os.readlink(SHARED, dir_fd=stage_fd)
        if side not in (OLD, NEW):
            raise FileNotFoundError(f"{STAGE}/{SHARED} leads to {side}")
        yield opened.enter_context(_folder(stage_fd, side))


def replace_behind_link(folder_fd: int, contents: Mapping[str, bytes | None], of_new: Access | None = None) -> None:
    """Make each file hold these bytes (None: remove it), all at once; raises `OSError` with every file whole."""
    finish_swap(folder_fd)
    try:
        with _staged(folder_fd, contents, of_new) as (stage_fd, old_fd, new_fd):
            if len(contents) > 1:
                _link_up(folder_fd, stage_fd, old_fd, contents)
                os.symlink(NEW, NEXT, dir_fd=stage_fd)
                os.rename(NEXT, SHARED, src_dir_fd=stage_fd, dst_dir_fd=stage_fd)  # the moment
                os.fsync(stage_fd)
            for name in contents:
                _put_in_place(folder_fd, new_fd, name)
        os.fsync(folder_fd)
    finally:
        finish_swap(folder_fd)


def finish_swap(folder_fd: int) -> None:
    """Complete an interrupted swap, to the side that its shared link names, and remove its leftovers."""
    if STAGE not in os.listdir(folder_fd):
        return
    with suppress(FileNotFoundError), shared_side(folder_fd) as side_fd:
        for name in os.listdir(folder_fd):
            if is_swapped(folder_fd, name):
                _put_in_place(folder_fd, side_fd, name)
        os.fsync(folder_fd)
    shutil.rmtree(STAGE, dir_fd=folder_fd)


@contextmanager
def _folder(parent_fd: int, name: str) -> Iterator[int]:
    opened = os.open(name, OPEN, dir_fd=parent_fd)
    try:
        yield opened
    finally:
        os.close(opened)


@contextmanager
def _staged(
    folder_fd: int, contents: Mapping[str, bytes | None], of_new: Access | None
) -> Iterator[tuple[int, int, int]]:
    """Write the new files to the stage, so that a full disk shows before anything changes."""
    with ExitStack() as opened:
        stage_fd = opened.enter_context(_made(folder_fd, STAGE, folder_fd))
        old_fd, new_fd = (opened.enter_context(_made(stage_fd, side, folder_fd)) for side in (OLD, NEW))
        for name, content in contents.items():
            if content is not None:
                _write(new_fd, name, content, folder_fd, of_new and _access_of(folder_fd, name, of_new))
        os.fsync(new_fd)
        yield stage_fd, old_fd, new_fd


@contextmanager
def _made(parent_fd: int, name: str, folder_fd: int) -> Iterator[int]:
    """Create a folder with the access rights of the configuration folder."""
    os.mkdir(name, 0o700, dir_fd=parent_fd)
    with _folder(parent_fd, name) as made_fd:
        _share(made_fd, folder_fd, 0o2750, 0o700)
        yield made_fd


def _access_of(folder_fd: int, name: str, otherwise: Access) -> Access:
    """Return the owner and mode of a file that is there."""
    try:
        status = os.stat(name, dir_fd=folder_fd, follow_symlinks=False)
    except FileNotFoundError:
        return otherwise
    return Access(status.st_uid, status.st_gid, stat.S_IMODE(status.st_mode))


def _write(parent_fd: int, name: str, content: bytes, folder_fd: int, access: Access | None = None) -> None:
    file_fd = os.open(name, CREATE, 0o600, dir_fd=parent_fd)
    with os.fdopen(file_fd, "wb") as file:
        file.write(content)
        file.flush()
        if access:
            os.fchown(file_fd, access.uid, access.gid)
            os.fchmod(file_fd, access.mode)
        else:
            _share(file_fd, folder_fd, 0o640, 0o600)
        os.fsync(file_fd)


def _share(made_fd: int, folder_fd: int, shared_mode: int, private_mode: int) -> None:
    """Give it the owner of the configuration folder, and its group's access where that folder is setgid."""
    folder = os.fstat(folder_fd)
    if os.geteuid() == 0:
        os.fchown(made_fd, folder.st_uid, folder.st_gid)
    os.fchmod(made_fd, shared_mode if folder.st_mode & stat.S_ISGID else private_mode)


def _link_up(folder_fd: int, stage_fd: int, old_fd: int, names: Mapping[str, object]) -> None:
    """Replace each file by a link to the same bytes; an absent one by a dangling link."""
    for name in names:
        _keep(folder_fd, old_fd, name)
    os.symlink(OLD, SHARED, dir_fd=stage_fd)
    os.fsync(old_fd)
    os.fsync(stage_fd)
    for name in names:
        os.symlink(link_of(name), NEXT, dir_fd=stage_fd)
        os.rename(NEXT, name, src_dir_fd=stage_fd, dst_dir_fd=folder_fd)
    os.fsync(folder_fd)


def _keep(folder_fd: int, old_fd: int, name: str) -> None:
    """Keep the old file as a hard link, or as a copy where its owner forbids links."""
    with suppress(FileNotFoundError):
        try:
            os.link(name, name, src_dir_fd=folder_fd, dst_dir_fd=old_fd, follow_symlinks=False)
        except PermissionError:
            with os.fdopen(os.open(name, os.O_RDONLY | os.O_NOFOLLOW, dir_fd=folder_fd), "rb") as file:
                _write(old_fd, name, file.read(), folder_fd)


def _put_in_place(folder_fd: int, side_fd: int, name: str) -> None:
    """Replace the link by the file itself, or remove it where the swap removes the file."""
    try:
        os.rename(name, name, src_dir_fd=side_fd, dst_dir_fd=folder_fd)
    except FileNotFoundError:
        with suppress(FileNotFoundError):
            os.unlink(name, dir_fd=folder_fd)
