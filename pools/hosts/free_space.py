"""The room on the disk of a configuration folder: files that can't fit are refused before anything is written.

What is refused could never have fitted: folders and links of a swap are not counted, and a disk that tells no size
takes everything. A disk that gets full in the meantime still leaves the old files.
"""

import os
from collections.abc import Iterable

from django.utils.translation import gettext as _

from pools.errors import ApplyFailed

KB = 1024  # as PostgreSQL writes it


class DiskFull(ApplyFailed):
    """The disk of a folder has no room for its new files; nothing was written."""

    def __init__(self, folder: str, needed_kb: int, free_kb: int) -> None:
        text = _(
            "%(folder)s needs %(needed)d kB for its new files, and its disk has %(free)d kB free: free some space "
            "there; its files are unchanged"
        )
        super().__init__(text % {"folder": folder, "needed": needed_kb, "free": free_kb})


def refuse_full(folder_fd: int, folder: str, contents: Iterable[bytes | None]) -> None:
    """Raise `DiskFull` where the disk can't hold these files beside those that they replace."""
    disk = os.fstatvfs(folder_fd)
    if not disk.f_blocks:
        return
    free_blocks = disk.f_bfree if os.geteuid() == 0 else disk.f_bavail  # some are kept for root
    needed_blocks = sum(-(-len(content) // disk.f_frsize) for content in contents if content is not None)
    if needed_blocks > free_blocks:
        raise DiskFull(folder, _kb(needed_blocks * disk.f_frsize), free_blocks * disk.f_frsize // KB)


def _kb(count: int) -> int:
    return -(-count // KB)
