"""The files of one pooler by the panel's names for them, wherever they lie and whatever its operator calls them.

A pooler that was registered with a folder has them there, under these names. One that was taken over has names and
folders of its own (`Pooler.file_paths`), and its files keep the owner and the mode that they have.
"""

import errno
import os
from collections import defaultdict
from collections.abc import Iterable, Mapping
from functools import partial
from pathlib import PurePosixPath

from django.utils.translation import gettext as _

from pools.config_files import deliveries
from pools.errors import LockLost
from pools.hosts.base import Access
from pools.models import Pooler

Files = Mapping[str, bytes | None]


def read(pooler: Pooler, names: Iterable[str]) -> dict[str, bytes | None]:
    """Read the bytes of each file; None where there is none. Raises `UnsafeFolder`."""
    found: dict[str, bytes | None] = {}
    for folder, folder_names in _by_folder(pooler, names).items():
        contents = deliveries.of(pooler).read(pooler, folder, list(folder_names))
        found |= {folder_names[name]: content for name, content in contents.items()}
    return {name: found[name] for name in names}


def replace(pooler: Pooler, contents: Files) -> None:
    """Replace the files, those of one folder at one moment; raises `UnsafeFolder`, `ApplyFailed`, `LockLost`.

    Other folders come first: what lies there is read by what lies in the pooler's own. The apply lock is renewed before
    each folder after the first, and before each further try.
    """
    folders = _by_folder(pooler, contents)
    access = _access_of_new(pooler) if pooler.file_paths else None
    renew = partial(renew_lock, pooler)
    for number, folder in enumerate(sorted(folders, key=lambda one: one == pooler.config_dir)):
        if number:
            renew()
        contents_here = folders[folder]
        named = {name: contents[contents_here[name]] for name in contents_here}
        deliveries.of(pooler).replace(pooler, folder, named, access, renew)


def renew_lock(pooler: Pooler) -> None:
    """Renew the apply lock between two writes; raises `LockLost`, after which nothing may be written."""
    if not pooler.holds_apply_lock():
        raise LockLost(
            _("another worker took over pooler %(pooler)s while its files were written") % {"pooler": pooler}
        )


def path_of(pooler: Pooler, name: str) -> str:
    """Return the path of the file that the panel calls so."""
    return str(pooler.file_paths.get(name) or PurePosixPath(pooler.config_dir, name))


def text_at(pooler: Pooler, path: str) -> str:
    """Return the text of a file of the operator's, by its path on the pooler's host. Raises `OSError`."""
    found = deliveries.of(pooler).file_at(pooler, path)
    if found is None:
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
    return found.content.decode(errors="surrogateescape")


def _by_folder(pooler: Pooler, names: Iterable[str]) -> dict[str, dict[str, str]]:
    """Group the files: folder → name there → the panel's name."""
    found: dict[str, dict[str, str]] = defaultdict(dict)
    for name in names:
        path = PurePosixPath(path_of(pooler, name))
        found[str(path.parent)][path.name] = name
    return dict(found)


def _access_of_new(pooler: Pooler) -> Access | None:
    """Return the owner and the mode of files that the panel adds to those of a pooler that was taken over."""
    path = pooler.file_paths.get("pooldeck.ini") or pooler.config_file
    try:
        first = deliveries.of(pooler).file_at(pooler, path, follow=False)
    except OSError:
        return None  # a link, or unreadable: the write itself says so
    return first.access if first else None
