"""The files of one pooler by the panel's names for them, wherever they lie and whatever its operator calls them.

A pooler that was registered with a folder has them there, under these names. One that was taken over has names and
folders of its own (`Pooler.file_paths`), and its files keep the owner and the mode that they have.
"""

import stat
from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path, PurePosixPath

from pools.hosts import atomic_write
from pools.hosts.atomic_write import Access
from pools.models import Pooler

Files = Mapping[str, bytes | None]


def read(pooler: Pooler, names: Iterable[str]) -> dict[str, bytes | None]:
    """Read the bytes of each file; None where there is none. Raises `UnsafeFolder`."""
    found: dict[str, bytes | None] = {}
    for folder, ours in _by_folder(pooler, names).items():
        contents = atomic_write.read(folder, list(ours))
        found |= {ours[name]: content for name, content in contents.items()}
    return {name: found[name] for name in names}


def replace(pooler: Pooler, contents: Files) -> None:
    """Replace the files, those of one folder at one moment; raises `UnsafeFolder`, `ApplyFailed`.

    Other folders come first: what lies there is read by what lies in the pooler's own.
    """
    folders = _by_folder(pooler, contents)
    access = _access_of_new(pooler) if pooler.file_paths else None
    for folder in sorted(folders, key=lambda one: one == pooler.config_dir):
        ours = folders[folder]
        atomic_write.replace(folder, {name: contents[ours[name]] for name in ours}, access)


def path_of(pooler: Pooler, name: str) -> str:
    """Return the path of the file that the panel calls so."""
    return str(pooler.file_paths.get(name) or PurePosixPath(pooler.config_dir, name))


def _by_folder(pooler: Pooler, names: Iterable[str]) -> dict[str, dict[str, str]]:
    """Group the files: folder → name there → the panel's name."""
    found: dict[str, dict[str, str]] = defaultdict(dict)
    for name in names:
        path = PurePosixPath(path_of(pooler, name))
        found[str(path.parent)][path.name] = name
    return dict(found)


def _access_of_new(pooler: Pooler) -> Access:
    """Return the owner and the mode of files that the panel adds to those of a pooler that was taken over."""
    status = Path(pooler.file_paths["pooldeck.ini"]).lstat()
    return Access(status.st_uid, status.st_gid, stat.S_IMODE(status.st_mode))
