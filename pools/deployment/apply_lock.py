"""The apply lock of a pooler: the process that holds it, and how one that died is told from one that only is slow.

The lock is a row with a lease, since workers may run on many hosts. That of a process which certainly ended is taken
over at once: it had a number in this PID namespace, or it held a lock on the very folder that this process sees, which
the kernel takes back from whoever ends (flock(2)), in a container too.
"""

import fcntl
import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from pools.config_files import deliveries
from pools.models import Pooler

logger = logging.getLogger(__name__)

PROC = Path("/proc")
STATE, STARTED = 0, 19  # positions among the fields after the name in /proc/PID/stat (proc(5): fields 3 and 22)
ENDED = ("Z", "X")
OPEN = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


@contextmanager
def acquire(pooler: Pooler) -> Iterator[bool]:
    """Hold the apply lock of a pooler, if it is free or its holder is dead; yield whether it is held."""
    with lock_folder(pooler.config_dir if deliveries.of(pooler).runs_here else "") as folder:
        is_held = _claim(pooler, folder)
        try:
            yield is_held
        finally:
            if is_held:
                pooler.release_apply_lock()


@contextmanager
def lock_folder(folder: str) -> Iterator[str]:
    """Lock a folder, which leaves nothing in it, and yield its device and inode while this process has the lock.

    Yields an empty text where another process has it, where there is no folder, and where its file system locks no
    folders (NFS).
    """
    try:
        folder_fd = os.open(folder or "/nowhere", OPEN)
    except OSError:
        yield ""
        return
    try:
        yield _identity(folder_fd) if _is_locked(folder_fd) else ""
    finally:
        os.close(folder_fd)


def holder_id(folder: str = "") -> str:
    """Return boot, PID namespace, number and start of this process in one word, with the `folder` that it locked.

    Empty where the system does not report them.
    """
    boot, namespace, fields = _boot(), _namespace(), _stat(os.getpid())
    if not (boot and namespace and fields):
        return ""
    where = f"{boot}:{namespace}@{folder}" if folder else f"{boot}:{namespace}"
    return f"{where}/{os.getpid()}/{fields[STARTED]}"


def is_dead(holder: str, folder: str = "") -> bool:
    """Return whether the holder has certainly ended; False where that is unknown, as on another host.

    `folder` is the one that this process has locked: a living holder of that same folder would have kept it from that.
    While its holder lives, a folder stays open and no other gets its device and inode.
    """
    where, _, process = holder.partition("/")
    seen_from, _, its_folder = where.partition("@")
    boot, _, namespace = seen_from.partition(":")
    if not boot or boot != _boot():
        return False
    return (folder != "" and folder == its_folder) or (namespace == _namespace() and _has_ended(process))


def _claim(pooler: Pooler, folder: str) -> bool:
    me = holder_id(folder)
    if pooler.take_apply_lock(me):
        return True
    held_by = Pooler.objects.filter(pk=pooler.pk).values_list("apply_holder", flat=True).first() or ""
    if not is_dead(held_by, folder):
        return False
    logger.warning("pooler %s: the worker %s died during an apply", pooler.pk, held_by)
    return pooler.take_apply_lock(me, dead=held_by)


def _is_locked(folder_fd: int) -> bool:
    with suppress(OSError):
        fcntl.flock(folder_fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return True
    return False


def _identity(folder_fd: int) -> str:
    status = os.fstat(folder_fd)
    return f"{status.st_dev}:{status.st_ino}"


def _has_ended(process: str) -> bool:
    """Return whether no process of this PID namespace has that number and start."""
    number, _, started = process.partition("/")
    if not number:
        return False
    try:
        os.kill(int(number), 0)
    except ProcessLookupError:
        return True
    except PermissionError:
        pass  # it belongs to another account
    fields = _stat(int(number))
    return bool(fields) and (fields[STATE] in ENDED or fields[STARTED] != started)


def _boot() -> str:
    """Return the id of this boot of this machine; empty where the system hides it."""
    try:
        return (PROC / "sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return ""


def _namespace() -> str:
    """Return the PID namespace of this process; empty where the system hides it."""
    try:
        return str((PROC / "self/ns/pid").stat().st_ino)
    except OSError:
        return ""


def _stat(number: int) -> list[str]:
    """Return the fields after the process's name (any text); empty for a process that can't be seen."""
    try:
        return (PROC / str(number) / "stat").read_text(errors="replace").rpartition(")")[2].split()
    except OSError:
        return []
