"""Lets a pooler go that was taken over: its files get back their bytes, and keep exactly edits made since then."""

import logging
from collections.abc import Callable, Collection, Iterator
from functools import partial
from pathlib import Path

from django.db import models, transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from pools import task_queue
from pools.deployment import apply_lock
from pools.deployment.take_over_plans import Release
from pools.deployment.take_over_steps import TakeOverSteps, active_take_over
from pools.errors import IllegalTransition, LockLost, PoolsError
from pools.inventory import histories
from pools.models import Entry, Pool, Pooler, PoolState, Revision, RevisionState, TakeOver, TakeOverState

logger = logging.getLogger(__name__)


def preview(steps: TakeOverSteps, pooler: Pooler) -> Release:
    """Return the files and entries that letting go changes; raises `IllegalTransition` if it was not taken over."""
    taken = active_take_over(pooler)
    files = {**steps.restored_files(taken), **steps.added_files(taken)}
    files = {path: (now, after) for path, (now, after) in files.items() if now != after}
    originals = taken.originals
    edited = [
        path
        for path, (now, after) in files.items()
        if path in originals and after != originals[path].content and now is not None and after is not None
    ]
    pools = list(pooler.pools.wanted())
    lost = [pool for pool in pools if not pool.taken_over]
    back = [pool for pool in pools if pool.taken_over]
    blockers = [*_of_pools(lost), *steps.release_blockers(taken)]
    return Release(taken, back, lost, files, edited, blockers, partial(steps.masked_for, pooler))


def _of_pools(lost: Collection[Pool]) -> Iterator[str]:
    if lost:
        text = _("pools made since the take-over would be gone: remove %(pools)s first")
        yield text % {"pools": ", ".join(pool.name for pool in lost)}


def request(steps: TakeOverSteps, pooler: Pooler, author: models.Model | None = None) -> TakeOver:
    """Queue the release. Raises `IllegalTransition` with what has to be done before."""
    release = preview(steps, pooler)
    _refuse_blocked(release)
    release.taken.move(TakeOverState.LEAVING)
    task_queue.ask([pooler.pk], author)
    logger.info("pooler %s is to be let go, requested by %s", pooler.pk, author)
    return release.taken


def resume(steps: TakeOverSteps, pooler: Pooler) -> None:
    """Let a pooler go that is to be, from the beginning where a worker died; no-op while another process works."""
    leaving = pooler.take_overs.filter(state__in=(TakeOverState.LEAVING, TakeOverState.RELEASING)).first()
    if leaving is None:
        return
    with apply_lock.acquire(pooler) as is_held:
        if is_held:
            _resume_under_lock(steps, leaving)


def _resume_under_lock(steps: TakeOverSteps, leaving: TakeOver) -> None:
    try:
        _release(steps, leaving)
    except LockLost as error:
        logger.warning("%s", error)
    except PoolsError as fault:
        logger.warning("pooler %s was not let go: %s", leaving.pooler_id, fault)
        leaving.move(TakeOverState.TAKEN, str(fault))


def _release(steps: TakeOverSteps, taken: TakeOver) -> None:
    pooler, release = taken.pooler, preview(steps, taken.pooler)
    if taken.state == TakeOverState.LEAVING:  # No file is restored yet.
        _refuse_blocked(release)
        _begin(taken)
    revision = _revision(release)
    try:
        with steps.reloading(pooler) as reload:
            revision.note("writing", ", ".join(release.files), write=True)
            _give_back(steps, release, reload)
    except LockLost:  # whoever has it carries on
        raise
    except PoolsError as fault:
        steps.write(taken, {path: now for path, (now, _after) in release.files.items()})
        revision.finish(RevisionState.ROLLED_BACK, str(fault))
        raise
    if not pooler.holds_apply_lock():
        raise LockLost(_("another worker took over pooler %(pooler)s") % {"pooler": pooler})
    with transaction.atomic():
        Pooler.objects.hold(pooler.pk)
        pooler.pools.all().hold()
        _watch(pooler)
        revision.finish(RevisionState.APPLIED)
        taken.move(TakeOverState.RELEASED, "; ".join(release.edited))
    logger.info("pooler %s is let go", pooler.pk)


def _begin(taken: TakeOver) -> None:
    """Have no pool made or changed from now on. Raises `IllegalTransition` where one was made since the preview."""
    with transaction.atomic():
        Pooler.objects.hold(taken.pooler_id)
        made = [pool for pool in taken.pooler.pools.wanted() if not pool.taken_over]
        if blockers := list(_of_pools(made)):
            raise IllegalTransition("; ".join(blockers))
        taken.move(TakeOverState.RELEASING)


def _give_back(steps: TakeOverSteps, release: Release, reload: Callable[[], None]) -> None:
    """Write the files as they are to be, after those that undo settings which a reload would leave alone."""
    if first := steps.before_release(release.taken, release.files):
        steps.write(release.taken, first)
        reload()
    steps.write(release.taken, {path: after for path, (_now, after) in release.files.items()})
    reload()


def _refuse_blocked(release: Release) -> None:
    if release.blockers:
        raise IllegalTransition("; ".join(release.blockers))


def _revision(release: Release) -> Revision:
    taken = release.taken
    given_back = {path: after for path, (_now, after) in release.files.items() if after}
    texts = {Path(path).name: after.decode(errors="surrogateescape") for path, after in given_back.items()}
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
