"""What lies in a pooler's folder, beside what was applied there last."""

from collections.abc import Mapping

from pools.models import Pooler, Revision
from pools.poolers import KINDS
from pools.revisions import files


def last_applied(pooler: Pooler) -> Revision | None:
    """The revision that is live."""
    return pooler.revisions.applied().select_related("content").first()


def settled_texts(pooler: Pooler) -> Mapping[str, str]:
    """The files of the revision that is live, secrets in clear; none before the first."""
    last = last_applied(pooler)
    return last.files if last else {}


def on_disk(pooler: Pooler) -> dict[str, str]:
    """The files that are there; raises `UnsafeFolder`."""
    found = files.read(pooler.config_dir, list(KINDS[pooler.kind].files))
    return {name: content.decode(errors="replace") for name, content in found.items() if content is not None}


def live_files(pooler: Pooler) -> dict[str, object]:
    """`{state, revision, files: [{name, content}]}` as they lie in config_dir, secrets masked.

    `state` is `in sync`, `drifted`, `not applied yet` or `unreadable` (with `error`); `revision` is the number
    of the last applied one or None.
    """
    kind, last = KINDS[pooler.kind], last_applied(pooler)
    try:
        texts = on_disk(pooler)
    except files.UnsafeFolder as error:
        return {"state": "unreadable", "error": str(error), "revision": last and last.number, "files": []}
    state = "not applied yet" if last is None else "drifted" if changed_by_hand(pooler, texts) else "in sync"
    shown = kind.masked(texts).items()
    return {
        "state": state,
        "revision": last and last.number,
        "files": [{"name": name, "content": content} for name, content in shown],
    }


def changed_by_hand(pooler: Pooler, texts: Mapping[str, str]) -> list[str]:
    """The files that `differences` finds, by name."""
    return list(differences(pooler, texts, last_applied(pooler)))


def differences(pooler: Pooler, texts: Mapping[str, str], last: Revision | None) -> dict[str, str]:
    """File → what was done to it since the last apply, in a sentence without secrets.

    Its panel's part is neither that of `last`, the last applied revision, nor of the last one tried; or the program
    no longer reads the panel's files.
    """
    kind = KINDS[pooler.kind]
    if last is None:
        return {}
    tried, settled = pooler.revisions.first(), last.files
    known = [settled] if tried is None or tried.pk == last.pk else [settled, tried.files]
    found = {}
    for name in kind.files:
        ours = kind.ours(name, texts.get(name, ""))
        if ours not in {kind.ours(name, one.get(name, "")) for one in known}:
            found[name] = "it was changed by hand" if ours else "what the panel wrote is gone"
    return found | kind.detached(settled, texts)
