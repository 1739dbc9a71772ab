"""Lets a pooler go that was taken over: its files get back their bytes, and keep exactly edits made since then."""

import logging
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from django.db import models, transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from pools import task_queue
from pools.deployment import apply_lock, diff
from pools.deployment.pgbouncer import take_over
from pools.deployment.take_over_steps import active_take_over
from pools.errors import IllegalTransition, LockLost, PoolsError
from pools.inventory import histories
from pools.models import Entry, Pool, Pooler, PoolState, Revision, RevisionState, TakeOver, TakeOverState
from pools.poolers import KINDS
from pools.poolers.pgbouncer import console, processes, render

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Release:
    """The effects of letting go: `pools` become entries again, `lost` ones exist only in the panel's file."""

    taken: TakeOver
    pools: list[Pool]
    lost: list[Pool]
    files: dict[str, tuple[bytes | None, bytes | None]] = field(repr=False)
    edited: list[str] = field(default_factory=list)  # files that others edited, which keep these edits

    @property
    def changes(self) -> list[diff.FileDiff]:
        """The files that differ, secrets masked."""
        before, after = ({path: _text(both[side]) for path, both in self.files.items()} for side in (0, 1))
        return diff.of_files(_known(before), _known(after), _masked)

    @property
    def blockers(self) -> list[str]:
        """Why the pooler can't be let go yet."""
        found, pooler = [], self.taken.pooler
        if self.lost:
            text = _("pools made since the take-over would be gone: remove %(pools)s first")
            found.append(text % {"pools": ", ".join(pool.name for pool in self.lost)})
        if KINDS[pooler.kind].files_of(pooler) != KINDS[pooler.kind].files:
            text = _("further processes have main files of the panel's: ask for one process, and stop the others first")
            found.append(text)
        return found


def preview(pooler: Pooler) -> Release:
    """Return the files and entries that letting go changes; raises `IllegalTransition` if it was not taken over."""
    taken = active_take_over(pooler)
    files = _files(taken)
    originals = taken.originals
    edited = [
        path
        for path, (now, after) in files.items()
        if path in originals and after != originals[path].content and now is not None and after is not None
    ]
    pools = list(pooler.pools.wanted())
    back = [pool for pool in pools if pool.taken_over]
    return Release(taken, back, [pool for pool in pools if not pool.taken_over], files, edited)


def request(pooler: Pooler, author: models.Model | None = None) -> TakeOver:
    """Queue the release. Raises `IllegalTransition` with what has to be done before."""
    release = preview(pooler)
    _refuse_blocked(release)
    release.taken.move(TakeOverState.LEAVING)
    task_queue.ask([pooler.pk], author)
    logger.info("pooler %s is to be let go, requested by %s", pooler.pk, author)
    return release.taken


def resume(pooler: Pooler) -> None:
    """Let a pooler go that is to be, from the beginning where a worker died; no-op while another process works."""
    leaving = pooler.take_overs.filter(state__in=(TakeOverState.LEAVING, TakeOverState.RELEASING)).first()
    if leaving is None:
        return
    with apply_lock.acquire(pooler) as is_held:
        if is_held:
            _resume_under_lock(leaving)


def _resume_under_lock(leaving: TakeOver) -> None:
    try:
        _release(leaving)
    except LockLost as error:
        logger.warning("%s", error)
    except PoolsError as fault:
        logger.warning("pooler %s was not let go: %s", leaving.pooler_id, fault)
        leaving.move(TakeOverState.TAKEN, str(fault))


def _release(taken: TakeOver) -> None:
    pooler, release = taken.pooler, preview(taken.pooler)
    if taken.state == TakeOverState.LEAVING:  # No file is restored yet.
        _refuse_blocked(release)
    revision = _revision(release)
    taken.move(TakeOverState.RELEASING)
    before = {path: now for path, (now, _after) in release.files.items()}
    try:
        with processes.opened(pooler) as found:
            revision.note("writing", ", ".join(release.files), write=True)
            _write(taken, {path: after for path, (_now, after) in release.files.items()})
            for one in found:
                console.reload(one.console)
    except LockLost:  # whoever has it carries on
        raise
    except PoolsError as fault:
        _write(taken, before)
        revision.finish(RevisionState.ROLLED_BACK, str(fault))
        raise
    if not pooler.holds_apply_lock():
        raise LockLost(_("another worker took over pooler %(pooler)s") % {"pooler": pooler})
    with transaction.atomic():
        _watch(pooler)
        revision.finish(RevisionState.APPLIED)
        taken.move(TakeOverState.RELEASED, "; ".join(release.edited))
    logger.info("pooler %s is let go", pooler.pk)


def _refuse_blocked(release: Release) -> None:
    if release.blockers:
        raise IllegalTransition("; ".join(release.blockers))


def _write(taken: TakeOver, contents: take_over.Contents) -> None:
    own = str(Path(taken.config_file).parent)
    take_over.write(taken.pooler, contents, own, take_over.access_of_panels(taken.originals), own_first=False)


def _revision(release: Release) -> Revision:
    taken = release.taken
    texts = {Path(path).name: _text(after) or "" for path, (_now, after) in release.files.items() if after}
    summary = _("the operator's files, as before the take-over")
    return Revision.objects.draft(taken.pooler, texts, taken.author, cause=_("let go"), summary=summary)


def _watch(pooler: Pooler) -> None:
    """Make pools entries again, with their history, and the pooler a watched one."""
    for pool in pooler.pools.select_related("cluster"):
        entry, _made = Entry.objects.get_or_create(
            pooler=pooler, name=pool.name, defaults={"seen_at": timezone.now(), "cluster": pool.cluster}
        )
        histories.to_entry(pool, entry)
        Entry.objects.filter(pk=entry.pk).update(pool=None)  # it stays when the pool goes
        pool.delete()
    nothing: dict[str, object] = {"settings": {}, "user_settings": {}, "drift": [], "needs_restart": []}
    pooler.given_files.all().delete()
    pooler.edit(
        None,
        config_dir="",
        config_file="",
        file_paths={},
        **nothing,
        drift_seen_at=None,
        settings_state=PoolState.APPLIED,
        settings_reason="",
        files_checked_at=None,
    )


def _files(taken: TakeOver) -> dict[str, tuple[bytes | None, bytes | None]]:
    """Return path → bytes now and after, of the files that change: the operator's, and those of the panel that go."""
    found = take_over.restored_files(taken)
    for path in _added_files(taken):
        now = take_over.bytes_at(taken.pooler, path)
        is_shared = now is not None and path == taken.pooler.file_paths.get(render.USERLIST)
        found[path] = (now, _operators_users(now) if now is not None and is_shared else None)
    return {path: (now, after) for path, (now, after) in found.items() if now != after}


def _added_files(taken: TakeOver) -> Iterator[str]:
    """Yield the files that the panel added to the folder later."""
    kind, originals = KINDS[taken.pooler.kind], taken.originals
    paths = {name: str(Path(taken.config_file).with_name(name)) for name in kind.files_of(taken.pooler)}
    paths.pop(render.USERLIST, None)  # one that PgBouncer does not read is not the panel's
    for path in {**paths, **taken.pooler.file_paths}.values():
        if path not in originals and take_over.bytes_at(taken.pooler, path) is not None:
            yield path


def _operators_users(now: bytes) -> bytes | None:
    """Return the lines of an auth_file outside the panel's part; None where there are none."""
    kept = render.kept_part(now.decode(errors="surrogateescape"))
    return kept.encode(errors="surrogateescape") if kept.strip() else None


def _text(content: bytes | None) -> str | None:
    return None if content is None else content.decode(errors="surrogateescape")


def _known(texts: dict[str, str | None]) -> dict[str, str]:
    return {path: text for path, text in texts.items() if text is not None}


def _masked(texts: "diff.Texts") -> dict[str, str]:
    """Mask secrets; what has users is masked as a user list, whatever its name."""
    found = {}
    for path, text in texts.items():
        name = render.USERLIST if render.users(text) else path
        found[path] = render.masked({name: text})[name]
    return found
