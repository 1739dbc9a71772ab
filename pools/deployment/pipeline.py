"""The way of an apply, from the lock to the proof; each fault ends it with the old configuration live."""

import gc
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from pools.config_files import atomic_write
from pools.deployment import desired_state, live_files, lock_owner, snapshots
from pools.deployment.attempt import Attempt, LockLost, bury_the_dead, give_up, give_up_rest, refuse
from pools.deployment.desired_state import Wanted
from pools.errors import ApplyFailed, PoolerUnreachable, PoolsError
from pools.models import Pooler, PoolerState, PoolState, Revision, RevisionState, Specs
from pools.poolers import KINDS
from pools.poolers.base import Rejected, Route, Session

logger = logging.getLogger(__name__)

OVERWRITTEN = "changes made by hand overwritten"
MOST_ATTEMPTS = 25  # of one apply, each of which found other pools to blame: each writes all files
COLLECTED_AFTER = 200_000  # objects
GIVEN_UP = (
    f"given up after {MOST_ATTEMPTS} attempts, each refused because of other pools: correct those, then try again"
)


class Busy(PoolsError):
    """Another worker applies right now, and nothing but this order asks for an overwrite."""

    status = 409


class Drifted(PoolsError):
    """Somebody else changed the panel's part of the files."""


def apply_pooler(pooler: Pooler, author: Any = None, *, overwrite: bool = False) -> Revision | None:
    """Bring what is unsettled live; the last revision made, or None where nothing could be done.

    Nothing is done while another worker applies, or while the pooler is down (its wishes wait, with the reason).
    Pools or settings to blame for a fault are rolled back alone, the others are tried again without them. Changes
    made to the files by hand keep everything waiting unless `overwrite`: no wish remembers that order, so it raises
    `Busy` while another worker applies.
    """
    if not _take_lock(pooler):
        if overwrite:
            raise Busy(f"pooler {pooler} is being applied: the overwrite comes next")
        return None
    try:
        with _rarely_collected():
            return _apply_all(pooler, author, overwrite=overwrite)
    except LockLost as error:
        logger.warning("%s", error)
    except PoolerUnreachable as error:
        pooler.mark(PoolerState.UNREACHABLE, error=str(error))
        desired_state.set_reason(pooler, str(error))
    except Drifted as error:
        desired_state.set_reason(pooler, str(error))
    finally:
        pooler.release_apply_lock()
    return None


@contextmanager
def _rarely_collected() -> Iterator[None]:
    """Have Python look for garbage rarely: what is made of ten thousand pools all lives until their apply is over.

    By its usual threshold of some hundreds it went through them again and again, for half of the time.
    """
    usual = gc.get_threshold()
    gc.set_threshold(COLLECTED_AFTER, *usual[1:])
    try:
        yield
    finally:
        gc.set_threshold(*usual)


def _take_lock(pooler: Pooler) -> bool:
    """Claim the right to apply; that of a process which was killed is free at once."""
    me = lock_owner.this_process()
    if pooler.take_apply_lock(me):
        return True
    held_by = Pooler.objects.filter(pk=pooler.pk).values_list("apply_holder", flat=True).first() or ""
    if not lock_owner.is_dead(held_by):
        return False
    logger.warning("pooler %s: the worker %s died during an apply", pooler.pk, held_by)
    return pooler.take_apply_lock(me, dead=held_by)


def _apply_all(pooler: Pooler, author: Any, *, overwrite: bool) -> Revision | None:
    dead, last = list(pooler.revisions.cut_short().select_related("author")), None
    died, author = bool(dead), author or next((one.author for one in dead), None)
    busy: set[Route] = set()
    if not died and not desired_state.unsettled(pooler) and not overwrite:
        return None
    live = Revision.objects.live_on(pooler)
    if not died and not overwrite:
        _refuse_drift(pooler, live)
    try:
        with KINDS[pooler.kind].open(pooler) as session:
            bury_the_dead(dead)  # not before: while the pooler is down they tell that its files prove nothing
            pooler.mark(PoolerState.ONLINE, session.version_text)
            for _ in range(MOST_ATTEMPTS):
                asked = Wanted.of(pooler, live, busy)
                last = _attempt(asked, session, author, overwrite=overwrite, trust_disk=not died)
                live = last if last.state == RevisionState.APPLIED else live
                if not desired_state.unsettled(pooler, busy):
                    break
            else:
                give_up_rest(Wanted.of(pooler, live, busy), f"{GIVEN_UP}; the last: {last.reason if last else ''}")
    except Rejected as fault:  # by its kind, before any session
        bury_the_dead(dead)
        asked = Wanted.of(pooler, live)
        last = _refuse_unrendered(asked, author, fault, _described(asked, overwrite=overwrite))
    _forget_cause(pooler)
    return last


def _attempt(asked: Wanted, session: Session, author: Any, *, overwrite: bool, trust_disk: bool) -> Revision:
    """Carry one revision to its end."""
    pooler, described = asked.pooler, _described(asked, overwrite=overwrite)
    try:
        with _breakage_reported(pooler):
            draft = session.draft(asked.pools, asked.live.files if asked.live else {}, trust_disk)
    except ApplyFailed as fault:
        return _refuse_unrendered(asked, author, fault, described)
    revision = Revision.objects.draft(pooler, draft.texts, author, **described)
    attempt = Attempt(asked, session, revision, draft)
    attempt.step("rendered", f"for {session.version_text}: {asked}")
    try:
        with _breakage_reported(pooler):
            session.rehearse(draft, attempt)
    except ApplyFailed as fault:
        refuse(revision, fault, asked)
        return revision
    _bring_live(attempt)
    return revision


def _bring_live(attempt: Attempt) -> None:
    session, draft = attempt.session, attempt.draft
    try:
        with _breakage_reported(attempt.pooler):
            attempt.step("writing", ", ".join(draft.texts))
            session.go_live(draft.files, attempt)
            attempt.step("reloaded")
            session.read_back(draft.files)
            attempt.step("read back", "the pooler says what the files say")
            session.log_in(draft, attempt)
            restarts = session.restarts_needed()
            if restarts:
                attempt.step("needs a restart", ", ".join(one["name"] for one in restarts))
    except (ApplyFailed, PoolerUnreachable) as fault:
        _roll_back(attempt, fault)
    else:
        attempt.settle(restarts)


def _roll_back(attempt: Attempt, fault: Exception) -> None:
    """Put the old bytes back and prove that they are live; a pooler that went away leaves its wishes waiting."""
    attempt.step("rolling back", str(fault))
    session, before, asked = attempt.session, attempt.draft.before, attempt.wanted
    try:
        atomic_write.replace(attempt.pooler.config_dir, before)  # first of all, whether the pooler answers or not
        session.go_live(before, attempt)
        session.read_back(before)
    except PoolerUnreachable as gone:
        attempt.revision.finish(RevisionState.FAILED, f"{fault}; the old files are back for its next start")
        raise (fault if isinstance(fault, PoolerUnreachable) else gone) from None
    except ApplyFailed as second:
        reason = f"{fault}; and the old configuration could not be proved live: {second}"
        attempt.revision.finish(RevisionState.FAILED, reason)
        give_up(asked, asked.changed, asked.changed_settings, PoolState.FAILED, reason)
    else:
        attempt.step("rolled back", "the pooler says what the old files say")
        refuse(attempt.revision, fault, asked)


def _described(asked: Wanted, *, overwrite: bool) -> dict[str, Any]:
    """What a revision keeps of the wishes it is rendered from."""
    pooler = asked.pooler
    live = asked.live.specs if asked.live else Specs()
    held = snapshots.snapshot(pooler, asked.pools, live)
    cause = pooler.spec_cause or (OVERWRITTEN if overwrite else "")
    given = snapshots.given(pooler)
    summary = snapshots.summary(live, held)
    return {"specs": held, "given": given, "summary": summary, "cause": cause}


def _refuse_unrendered(asked: Wanted, author: Any, fault: Exception, described: dict[str, Any]) -> Revision:
    revision = Revision.objects.draft(asked.pooler, {}, author, **described)
    refuse(revision, fault, asked)
    return revision


def _forget_cause(pooler: Pooler) -> None:
    """What was asked for under that cause is settled; another may have been given meanwhile."""
    if pooler.spec_cause and not desired_state.unsettled(pooler):
        Pooler.objects.filter(pk=pooler.pk, spec_cause=pooler.spec_cause).update(spec_cause="")


@contextmanager
def _breakage_reported(pooler: Pooler) -> Iterator[None]:
    """Make of a fault that nobody foresaw one that is rolled back like the others; its traceback goes to the log."""
    try:
        yield
    except PoolsError:
        raise
    except Exception as error:
        logger.exception("pooler %s: the apply broke", pooler.pk)
        raise ApplyFailed(f"the apply broke with {type(error).__name__}: see the worker's log") from error


def _refuse_drift(pooler: Pooler, live: Revision | None) -> None:
    """A folder where nothing of the panel's is left is no drift to keep wishes for: it is a new or a clean one."""
    try:
        texts = live_files.on_disk(pooler)
    except atomic_write.UnsafeFolder:
        return  # the attempt says it, with a revision
    kind = KINDS[pooler.kind]
    if not any(kind.ours(name, text) for name, text in texts.items()):
        return
    if found := live_files.differences(pooler, texts, live):
        described = "; ".join(f"{name}: {what}" for name, what in found.items())
        raise Drifted(
            f"the files of pooler {pooler} are not as they were applied ({described}): adopt what was changed, or "
            "overwrite it (drift=adopt, drift=overwrite)"
        )
