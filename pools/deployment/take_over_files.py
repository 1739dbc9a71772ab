"""The files of a take-over: who may write them, and how they are written and given back."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path

from django.utils.translation import gettext as _

from pools.config_files import deliveries, folder_owner, pooler_files
from pools.errors import ApplyFailed, IllegalTransition
from pools.hosts.base import Access, UnsafeFolder
from pools.models import Original, Pooler
from pools.poolers import KINDS
from pools.poolers.operators_files import MAIN, ReadFile

Contents = Mapping[str, bytes | None]


def refuse(pooler: Pooler) -> None:
    """Raise `IllegalTransition` for a pooler that can't be taken over, or from here."""
    if obstacle := KINDS[pooler.kind].take_over_obstacle(pooler):
        raise IllegalTransition(obstacle)
    if not pooler.is_watched:
        text = _("pooler %(pooler)s is managed already: its files are the panel's")
        raise IllegalTransition(text % {"pooler": pooler})
    if not (owner := folder_owner.of(pooler)).is_here:
        text = _(
            "the files of pooler %(pooler)s are on the host of generator %(generator)s, and can't be previewed here"
        )
        raise IllegalTransition(text % {"generator": owner.generator, "pooler": pooler})


def unwritable(taken: Pooler, paths: Iterable[str], own_files: Iterable[str] = ()) -> Iterator[str]:
    """Yield why these files can't be written as they have to be; `own_files` must not be there yet."""
    delivery = deliveries.of(taken)
    for path in paths:
        try:
            delivery.refuse_unsafe(taken, str(Path(path).parent))
        except UnsafeFolder as error:
            yield str(error)
            continue
        yield from _not_ours(taken, path)
    for path in own_files:
        if _is_there(taken, path):
            yield _("%(path)s is there already, as another panel's: move it away") % {"path": path}
    for other in deliveries.others_in(taken, taken.config_dir):
        text = _("%(folder)s is the folder of pooler %(pooler)s: two would overwrite each other's pools")
        yield text % {"folder": taken.config_dir, "pooler": other}


def _not_ours(pooler: Pooler, path: str) -> Iterator[str]:
    try:
        file = deliveries.of(pooler).file_at(pooler, path, follow=False)
    except OSError:
        yield _("%(path)s is a link, so that another program has the file: it stays watched") % {"path": path}
        return
    own = _own_uid(pooler)
    if file and own not in (0, file.access.uid):
        params = {"path": path, "owner": file.access.uid, "own": own}
        yield _("%(path)s belongs to uid %(owner)s, and the panel runs as uid %(own)s") % params


def _is_there(pooler: Pooler, path: str) -> bool:
    try:
        return deliveries.of(pooler).file_at(pooler, path, follow=False) is not None
    except OSError:  # a link, a folder, or a file that may not be read
        return True


def _own_uid(pooler: Pooler) -> int:
    """Return the account by which the panel works on the pooler's host; root's where it does not work there."""
    with deliveries.of(pooler).connected(pooler) as host:
        return host.uid if host else 0


def refuse_edited(pooler: Pooler, files: Mapping[str, ReadFile]) -> None:
    """Raise `ApplyFailed` for a file that was edited since it was read."""
    for path, file in files.items():
        if bytes_at(pooler, path, follow=True) != file.content:
            raise ApplyFailed(_("%(path)s was edited in this moment: try again") % {"path": path})


def access_of_panels(originals: Mapping[str, Original]) -> Access:
    """Return the owner and mode of the panel's file: those of the main one, closed to everybody else."""
    main = next(one for one in originals.values() if one.role == MAIN)
    return Access(main.uid, main.gid, main.mode & 0o640)


def write(pooler: Pooler, contents: Contents, own: str, of_new: Access, *, own_first: bool) -> None:
    """Write files by path, those of one folder at one moment; the panel's `own` folder first, or last.

    Each state between is whole: an entry stands twice alike, never nowhere. Raises `LockLost` between two writes.
    """
    folders: dict[str, dict[str, bytes | None]] = defaultdict(dict)
    for path, content in contents.items():
        folders[str(Path(path).parent)][Path(path).name] = content
    renew = partial(pooler_files.renew_lock, pooler)
    for number, folder in enumerate(sorted(folders, key=lambda one: (one == own) != own_first)):
        if number:
            renew()
        deliveries.of(pooler).replace(pooler, folder, folders[folder], of_new, renew)


def bytes_at(pooler: Pooler, path: str, *, follow: bool = False) -> bytes | None:
    """Return the bytes of a file on a pooler's host; None where there is none, or no regular one."""
    try:
        found = deliveries.of(pooler).file_at(pooler, path, follow=follow)
    except OSError:
        return None
    return found.content if found else None
