"""Replaces several files at one moment: a reader, or a crash at any step, finds all the old ones or all the new.

A rename replaces one file. To replace several, each becomes a symbolic link to the same bytes, through one link that
they share; a rename then redirects the shared link, and afterwards the new files replace their links. At rest there
are no links, and no step but that rename changes what a reader finds.
"""

import os
import shutil
import stat
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress

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


def replace(folder_fd: int, contents: Mapping[str, bytes | None]) -> None:
    """Make each file hold these bytes (None: remove it), all at once; raises `OSError` with every file whole."""
    finish(folder_fd)
    try:
        with _staged(folder_fd, contents) as (stage_fd, old_fd, new_fd):
            if len(contents) > 1:
                _link_up(folder_fd, stage_fd, old_fd, contents)
                os.symlink(NEW, NEXT, dir_fd=stage_fd)
                os.rename(NEXT, SHARED, src_dir_fd=stage_fd, dst_dir_fd=stage_fd)  # the moment
                os.fsync(stage_fd)
            for name in contents:
                _put_in_place(folder_fd, new_fd, name)
        os.fsync(folder_fd)
    finally:
        finish(folder_fd)


def finish(folder_fd: int) -> None:
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
def _staged(folder_fd: int, contents: Mapping[str, bytes | None]) -> Iterator[tuple[int, int, int]]:
    """Write the new files to the stage, so that a full disk shows before anything changes."""
    with ExitStack() as opened:
        stage_fd = opened.enter_context(_made(folder_fd, STAGE, folder_fd))
        old_fd, new_fd = (opened.enter_context(_made(stage_fd, side, folder_fd)) for side in (OLD, NEW))
        for name, content in contents.items():
            if content is not None:
                _write(new_fd, name, content, folder_fd)
        os.fsync(new_fd)
        yield stage_fd, old_fd, new_fd


@contextmanager
def _made(parent_fd: int, name: str, folder_fd: int) -> Iterator[int]:
    """Create a folder with the access rights of the configuration folder."""
    os.mkdir(name, 0o700, dir_fd=parent_fd)
    with _folder(parent_fd, name) as made_fd:
        _share(made_fd, folder_fd, 0o2750, 0o700)
        yield made_fd


def _write(parent_fd: int, name: str, content: bytes, folder_fd: int) -> None:
    file_fd = os.open(name, CREATE, 0o600, dir_fd=parent_fd)
    with os.fdopen(file_fd, "wb") as file:
        file.write(content)
        file.flush()
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
