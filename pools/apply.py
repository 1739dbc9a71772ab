"""Brings a pooler's wishes live and proves it, or puts back what was; the same for every kind of pooler."""

import logging
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from pools import files
from pools.errors import ApplyFailed, PoolerUnreachable, PoolsError
from pools.models import Pool, Pooler, PoolerState, PoolState, Revision, RevisionState
from pools.poolers import KINDS
from pools.poolers.kind import Draft, Rejected, Session

logger = logging.getLogger(__name__)

MOST_NAMED = 10
RETRY_UNREACHABLE_AFTER = timedelta(seconds=10)


class LockLost(PoolsError):
    """The lease ran out and another worker applies now; this one must not write any more."""


class Drifted(PoolsError):
    """Somebody else changed the panel's part of the files."""


@dataclass
class Attempt:
    """One revision on its way; `pools` are those wanted, `leaving` those to be removed."""

    pooler: Pooler
    session: Session
    revision: Revision
    draft: Draft
    pools: Collection[Pool]
    leaving: Collection[Pool]

    def step(self, word: str, detail: str = "") -> None:
        """Note a step for the page, if this worker may still act."""
        self.renew()
        self.revision.note(word, detail)
        logger.info("pooler %s %s: %s %s", self.pooler.pk, self.revision, word, detail)

    def renew(self) -> None:
        """Keep the lease; raises `LockLost`."""
        if not self.pooler.holds_apply_lock():
            raise LockLost(f"another worker took over pooler {self.pooler} during {self.revision}")


def apply_pooler(pooler: Pooler, author: Any = None, *, overwrite: bool = False) -> Revision | None:
    """Bring what is pending or to be removed live; the last revision made, or None where nothing could be done.

    Nothing is done while another worker applies, or while the pooler is down (its pools wait, with the reason).
    Pools to blame for a fault are rolled back alone, the others are tried again without them. Changes made to
    the files by hand keep everything waiting unless `overwrite`.
    """
    if not pooler.take_apply_lock():
        return None
    try:
        return _apply_all(pooler, author, overwrite)
    except LockLost as error:
        logger.warning("%s", error)
    except PoolerUnreachable as error:
        pooler.mark(PoolerState.UNREACHABLE, error=str(error))
        pooler.pools.unsettled().update(state_reason=str(error))
    except Drifted as error:
        pooler.pools.unsettled().update(state_reason=str(error))
    finally:
        pooler.release_apply_lock()
    return None


def waiting_poolers() -> list[Pooler]:
    """Poolers with unsettled pools; one that was down is asked again only some seconds after the last look."""
    lately = timezone.now() - RETRY_UNREACHABLE_AFTER
    resting = Q(state=PoolerState.UNREACHABLE, checked_at__gt=lately)
    waiting = Pool.objects.unsettled().values("pooler")
    return list(Pooler.objects.filter(pk__in=waiting).exclude(resting).order_by("name"))


def try_again(pooler: Pooler) -> None:
    """Make every pool that was rolled back or failed a wish again."""
    again = [PoolState.ROLLED_BACK, PoolState.FAILED, PoolState.DRIFTED]
    pooler.pools.filter(state__in=again).update(state=PoolState.PENDING, state_reason="")


def live_files(pooler: Pooler) -> dict[str, object]:
    """`{state, revision, files: [{name, content}]}` as they lie in config_dir, secrets masked.

    `state` is `in sync`, `drifted`, `not applied yet` or `unreadable` (with `error`); `revision` is the number
    of the last applied one or None.
    """
    kind, last = KINDS[pooler.kind], last_applied(pooler)
    try:
        texts = _on_disk(pooler)
    except files.UnsafeFolder as error:
        return {"state": "unreadable", "error": str(error), "revision": last and last.number, "files": []}
    state = "not applied yet" if last is None else "drifted" if _drifted_files(pooler, texts) else "in sync"
    shown = kind.masked(texts).items()
    return {
        "state": state,
        "revision": last and last.number,
        "files": [{"name": name, "content": content} for name, content in shown],
    }


def last_applied(pooler: Pooler) -> Revision | None:
    """The revision that is live."""
    return pooler.revisions.filter(state=RevisionState.APPLIED).first()


def _apply_all(pooler: Pooler, author: Any, overwrite: bool) -> Revision | None:
    died, last = _bury_the_dead(pooler), None
    wishes = pooler.pools.unsettled().count()
    if not wishes and not overwrite:
        return None
    if not died and not overwrite:
        _refuse_drift(pooler)
    try:
        with KINDS[pooler.kind].open(pooler) as session:
            pooler.mark(PoolerState.ONLINE, session.version_text)
            for _ in range(wishes + 1):
                last = _attempt(pooler, session, author, trust_disk=not died)
                if not pooler.pools.unsettled().exists():
                    break
    except Rejected as fault:  # by its kind, before any session
        last = _refuse_unrendered(pooler, author, fault, pooler.pools.unsettled())
    return last


def _attempt(pooler: Pooler, session: Session, author: Any, *, trust_disk: bool) -> Revision:
    """Carry one revision to its end."""
    found = list(pooler.pools.select_related("cluster"))
    wanted = [pool for pool in found if pool.removal_requested_at is None]
    leaving = [pool for pool in found if pool.removal_requested_at is not None]
    try:
        with _breakage_told(pooler):
            draft = session.draft(wanted, _settled(pooler), trust_disk)
    except ApplyFailed as fault:
        return _refuse_unrendered(pooler, author, fault, [*_pending(wanted), *leaving])
    revision = Revision.objects.draft(pooler, draft.texts, author)
    attempt = Attempt(pooler, session, revision, draft, wanted, leaving)
    attempt.step("rendered", f"for {session.version_text}: {_summary(attempt)}")
    try:
        with _breakage_told(pooler):
            session.rehearse(draft, attempt)
    except ApplyFailed as fault:
        _refuse(revision, fault, [*_pending(wanted), *leaving])
        return revision
    _bring_live(attempt)
    return revision


def _bring_live(attempt: Attempt) -> None:
    session, draft = attempt.session, attempt.draft
    try:
        with _breakage_told(attempt.pooler):
            attempt.step("writing", ", ".join(draft.texts))
            session.go_live(draft.files, attempt)
            attempt.step("reloaded")
            session.read_back(draft.files)
            attempt.step("read back", "the pooler says what the files say")
            session.log_in(draft, attempt)
    except (ApplyFailed, PoolerUnreachable) as fault:
        _roll_back(attempt, fault)
    else:
        _settle(attempt)


def _roll_back(attempt: Attempt, fault: Exception) -> None:
    """Put the old bytes back and prove that they are live; a pooler that went away leaves its pools waiting."""
    attempt.step("rolling back", str(fault))
    session, before = attempt.session, attempt.draft.before
    changed = [*_pending(attempt.pools), *attempt.leaving]
    try:
        files.replace(attempt.pooler.config_dir, before)  # first of all, whether the pooler answers or not
        session.go_live(before, attempt)
        session.read_back(before)
    except PoolerUnreachable as gone:
        attempt.revision.finish(RevisionState.FAILED, f"{fault}; the old files are back for its next start")
        raise (fault if isinstance(fault, PoolerUnreachable) else gone) from None
    except ApplyFailed as second:
        reason = f"{fault}; and the old configuration could not be proved live: {second}"
        attempt.revision.finish(RevisionState.FAILED, reason)
        _give_up(changed, PoolState.FAILED, reason)
    else:
        attempt.step("rolled back", "the pooler says what the old files say")
        _refuse(attempt.revision, fault, changed)


def _settle(attempt: Attempt) -> None:
    """Everything was proved: say so, at once for all. A pool edited meanwhile stays pending."""
    attempt.renew()
    with transaction.atomic():
        attempt.revision.finish(RevisionState.APPLIED)
        for pool in _pending(attempt.pools):
            Pool.objects.filter(pk=pool.pk, version=pool.version).update(state=PoolState.APPLIED, state_reason="")
        Pool.objects.filter(pk__in=[pool.pk for pool in attempt.leaving]).delete()


def _refuse(revision: Revision, fault: Exception, changed: Collection[Pool]) -> None:
    """The old configuration is live: end the revision, and the wishes of the pools to blame (else of all)."""
    blamed: frozenset[UUID] = getattr(fault, "pools", frozenset())
    with transaction.atomic():
        revision.finish(RevisionState.ROLLED_BACK, str(fault))
        _give_up([pool for pool in changed if pool.pk in blamed] or changed, PoolState.ROLLED_BACK, str(fault))


def _refuse_unrendered(pooler: Pooler, author: Any, fault: Exception, changed: Collection[Pool]) -> Revision:
    revision = Revision.objects.draft(pooler, {}, author)
    _refuse(revision, fault, changed)
    return revision


def _give_up(pools: Collection[Pool], state: PoolState, reason: str) -> None:
    """What is live stays, so a removal is no longer wished either, unless its name was given to another pool."""
    for pool in pools:
        same = Pool.objects.filter(pk=pool.pk, version=pool.version)
        same.update(state=state, state_reason=reason)
        namesakes = Pool.objects.wanted().filter(pooler=pool.pooler_id, name=pool.name).exclude(pk=pool.pk)
        if not namesakes.exists():
            same.update(removal_requested_at=None)


@contextmanager
def _breakage_told(pooler: Pooler) -> Iterator[None]:
    """Make of a fault that nobody foresaw one that is rolled back like the others; its traceback goes to the log."""
    try:
        yield
    except PoolsError:
        raise
    except Exception as error:
        logger.exception("pooler %s: the apply broke", pooler.pk)
        raise ApplyFailed(f"the apply broke with {type(error).__name__}: see the worker's log") from error


def _bury_the_dead(pooler: Pooler) -> bool:
    """End revisions that a dead worker left behind; whether there were any (then the disk proves nothing)."""
    dead = list(pooler.revisions.filter(state=RevisionState.PENDING))
    for revision in dead:
        last = revision.steps[-1]["step"] if revision.steps else "drafted"
        revision.finish(RevisionState.FAILED, f"the worker died after the step {last!r}; started over")
    return bool(dead)


def _settled(pooler: Pooler) -> Mapping[str, str]:
    last = last_applied(pooler)
    return last.files if last else {}


def _pending(pools: Collection[Pool]) -> list[Pool]:
    return [pool for pool in pools if pool.state == PoolState.PENDING]


def _summary(attempt: Attempt) -> str:
    changed, leaving = _named(_pending(attempt.pools)), _named(attempt.leaving)
    return f"{changed or 'nothing'} to change" + (f", {leaving} to remove" if leaving else "")


def _named(pools: Collection[Pool]) -> str:
    first = ", ".join(pool.name for pool in list(pools)[:MOST_NAMED])
    return f"{first} and {len(pools) - MOST_NAMED} more" if len(pools) > MOST_NAMED else first


def _on_disk(pooler: Pooler) -> dict[str, str]:
    found = files.read(pooler.config_dir, list(KINDS[pooler.kind].files))
    return {name: content.decode(errors="replace") for name, content in found.items() if content is not None}


def _refuse_drift(pooler: Pooler) -> None:
    """A file without a panel's part is no drift to keep wishes for: it is a new folder, or a clean one."""
    try:
        texts = _on_disk(pooler)
    except files.UnsafeFolder:
        return  # the attempt says it, with a revision
    ours = KINDS[pooler.kind].ours
    if changed := [name for name in _drifted_files(pooler, texts) if ours(name, texts.get(name, ""))]:
        raise Drifted(
            f"{' and '.join(changed)} of pooler {pooler} was changed by hand since the last apply: "
            "put it back, or apply with drift=overwrite"
        )


def _drifted_files(pooler: Pooler, texts: Mapping[str, str]) -> list[str]:
    """The files whose panel's part is neither that of the last applied revision nor of the last one tried."""
    kind, last = KINDS[pooler.kind], last_applied(pooler)
    if last is None:
        return []
    known = [last.files] + [revision.files for revision in pooler.revisions.all()[:1]]
    return [
        name
        for name in kind.files
        if kind.ours(name, texts.get(name, "")) not in {kind.ours(name, one.get(name, "")) for one in known}
    ]
