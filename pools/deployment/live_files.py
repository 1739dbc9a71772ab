"""Reads the files in a pooler's folder, and compares them with the revision that was applied last."""

from collections.abc import Mapping
from datetime import datetime
from typing import NotRequired, TypedDict

from django.utils.translation import gettext as _

from core.installation import pausing
from pools.config_files import deliveries, folder_owner, pooler_files
from pools.errors import HostUnreachable
from pools.hosts.base import UnsafeFolder
from pools.models import Difference, Pooler, Revision
from pools.poolers import KINDS

LIVE = "live"  # the place of a difference that is in no file


def settled_texts(pooler: Pooler) -> Mapping[str, str]:
    """Return the files of the live revision, secrets in clear; none before the first."""
    last = Revision.objects.live_on(pooler)
    return last.files if last else {}


def on_disk(pooler: Pooler) -> dict[str, str]:
    """Read the files in the folder; raises `UnsafeFolder`."""
    contents = pooler_files.read(pooler, KINDS[pooler.kind].files_of(pooler))
    return {name: content.decode(errors="replace") for name, content in contents.items() if content is not None}


class ShownFile(TypedDict):
    """A file with its secrets masked."""

    name: str
    content: str


class LiveFiles(TypedDict):
    """The files in the folder of a pooler, and how they compare with the last applied revision.

    `state` is `in sync`, `drifted`, `not applied yet`, `unreadable`, `not looked at` for another generator's files
    that no worker checks now, and `unverified` while the panel is paused; these three come with `error`. It is
    `watched` where the panel writes none.
    """

    state: str
    revision: int | None  # the number of the last applied one
    files: list[ShownFile]
    error: NotRequired[str]
    is_overridden: NotRequired[bool]  # True if somebody edited the panel's part
    generator: NotRequired[str]  # the other one that has the files
    looked_at: NotRequired[datetime | None]  # the worker's last look at the folder


def live_files(pooler: Pooler) -> LiveFiles:
    """Return the files in config_dir, secrets masked."""
    if pooler.is_watched:
        return {"state": "watched", "revision": None, "files": []}
    last, owner = Revision.objects.live_on(pooler), folder_owner.of(pooler)
    if pausing.is_paused():
        masked = _masked(pooler, last.files) if last else []
        return {
            "state": "unverified",
            "error": str(pausing.PAUSED),
            "revision": last.number if last else None,
            "files": masked,
        }
    if not owner.is_here:
        return _as_found_there(pooler, last, owner)
    try:
        texts = on_disk(pooler)
    except (UnsafeFolder, HostUnreachable) as error:
        return {"state": "unreadable", "error": str(error), "revision": last.number if last else None, "files": []}
    is_overridden = bool(manually_edited(pooler, texts))
    is_adrift = is_overridden or file_findings(pooler)
    state = "not applied yet" if last is None else "drifted" if is_adrift else "in sync"
    return {
        "state": state,
        "is_overridden": is_overridden,
        "revision": last.number if last else None,
        "files": _masked(pooler, texts),
    }


def _as_found_there(pooler: Pooler, last: Revision | None, owner: folder_owner.FolderOwner) -> LiveFiles:
    """Return the applied files, and the last findings of the worker that owns them: this process can't read them."""
    found: LiveFiles = {
        "state": "not applied yet",
        "revision": last.number if last else None,
        "files": _masked(pooler, last.files) if last else [],
        "generator": owner.generator,
        "looked_at": owner.last_seen_at,
    }
    if last is None:
        return found
    if owner.is_silent:
        return {**found, "state": "not looked at", "error": owner.reason}
    files = file_findings(pooler)
    overridden = any(not one.get("by") for one in files)
    return {**found, "state": "drifted" if files else "in sync", "is_overridden": overridden}


def _masked(pooler: Pooler, texts: Mapping[str, str]) -> list[ShownFile]:
    masked = KINDS[pooler.kind].masked(texts).items()
    return [{"name": name, "content": content} for name, content in masked]


def file_findings(pooler: Pooler) -> list[Difference]:
    """List the differences that the last check of its folder found."""
    return [one for one in pooler.drift if one["where"] != LIVE]


def has_panel_part(pooler: Pooler, texts: Mapping[str, str]) -> bool:
    """Return whether any of these files has a part that the panel wrote."""
    return any(KINDS[pooler.kind].ours(name, text) for name, text in texts.items())


def manually_edited(pooler: Pooler, texts: Mapping[str, str]) -> list[str]:
    """List the names of the files that `differences` finds."""
    return list(differences(pooler, texts, Revision.objects.live_on(pooler)))


def differences(pooler: Pooler, texts: Mapping[str, str], last: Revision | None) -> dict[str, str]:
    """Return file → how it differs from the last apply, in a sentence without secrets.

    A file differs where its panel's part is neither that of `last`, the last applied revision, nor that of the last
    one tried, or where the program no longer reads the panel's files. None does where nobody here can read them.
    """
    kind = KINDS[pooler.kind]
    if last is None or not deliveries.of(pooler).writes:
        return {}
    tried, settled = pooler.revisions.first(), last.files
    known = [settled] if tried is None or tried.pk == last.pk else [settled, tried.files]
    reasons = {}
    asked_since = {name for name in kind.files_of(pooler) if not any(name in one for one in known)} - {*kind.files}
    for name in kind.files_of(pooler):
        if name in asked_since:
            continue  # No apply wrote the file yet, so it is the operator's.
        panels_part = kind.ours(name, texts.get(name, ""))
        if panels_part not in [kind.ours(name, one.get(name, "")) for one in known]:  # megabytes take long to hash
            reasons[name] = _("it was edited by hand") if panels_part else _("the panel's part was removed")
    return reasons | kind.detached(settled, texts)
