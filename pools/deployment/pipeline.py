"""The steps of an apply, from the lock to the verification; after any fault the old configuration is live."""

import gc
import logging
from collections.abc import Iterator
from contextlib import contextmanager

from django.contrib.auth.models import User
from django.utils.translation import gettext as _

from core.audit.acts import subject_of
from core.audit.recording import record
from pools.config_files import deliveries, pooler_files
from pools.deployment import apply_lock, live_files, offers, retries, snapshots
from pools.deployment.attempt import (
    Attempt,
    DesiredState,
    count_unsettled,
    fail_interrupted_revisions,
    mark_not_applied,
    refuse,
    roll_back_pending,
    set_reason,
)
from pools.errors import ApplyFailed, HostUnreachable, LockLost, PoolerUnreachable, PoolsError
from pools.hosts.base import HostRefused, UnsafeFolder
from pools.models import Pooler, PoolerState, PoolState, Revision, RevisionFields, RevisionState, Specs
from pools.poolers import KINDS, smart_shutdown
from pools.poolers.faults import Rejected, Route
from pools.poolers.session import Session

logger = logging.getLogger(__name__)

MOST_ATTEMPTS = 25  # limit of one apply, in which each attempt refuses other pools and writes all files
COLLECTED_AFTER = 200_000  # objects
CUT_OFF = "connection lost"  # the last step of an apply that could not tell which files its host has


class Busy(PoolsError):
    """Another worker applies right now, and the request to overwrite is stored nowhere."""

    status = 409


class Drifted(PoolsError):
    """The panel's part of the files was edited by hand."""


def apply_pooler(pooler: Pooler, author: User | None = None, *, overwrite: bool = False) -> Revision | None:
    """Apply what is unsettled; return the last revision made, or None where nothing could be done.

    Nothing happens to a watched pooler, nor while another worker applies, or while the pooler is down (the changes
    wait, with the reason).
    Pools or settings that cause a fault are rolled back alone, the others are tried again without them. Manual edits of
    the files keep everything waiting unless `overwrite`: that request is stored nowhere, so it raises `Busy` while
    another worker applies.
    """
    if not pooler.is_watched:
        with apply_lock.acquire(pooler) as is_held:
            if is_held:
                return _apply_under_lock(pooler, author, overwrite=overwrite)
    if overwrite:
        raise Busy(_("another apply of pooler %(pooler)s is running: the overwrite follows") % {"pooler": pooler})
    return None


def _apply_under_lock(pooler: Pooler, author: User | None, *, overwrite: bool) -> Revision | None:
    ended = _last_ended(pooler)
    try:
        with _infrequent_garbage_collection():
            last = _apply_all(pooler, author, overwrite=overwrite)
        retries.record_circumstances(pooler)
        return last
    except LockLost as error:
        logger.warning("%s", error)
    except HostUnreachable as error:  # its console may answer all the same
        _let_wait(pooler, str(error), author, ended)
    except PoolerUnreachable as error:
        reason = smart_shutdown.explain(pooler) or str(error)
        pooler.mark(PoolerState.UNREACHABLE, error=reason)
        _let_wait(pooler, reason, author, ended)
    except (Drifted, HostRefused) as error:
        _let_wait(pooler, str(error), author, ended)
    return None


def _last_ended(pooler: Pooler) -> Revision | None:
    return pooler.revisions.exclude(state=RevisionState.PENDING).only("pk").first()


def _let_wait(pooler: Pooler, reason: str, author: User | None, ended: Revision | None) -> None:
    """Write why everything waits, into the trail too: once for each reason, since beat tries again every few seconds.

    An apply that got as far as a revision has its entry by the end of that.
    """
    if set_reason(pooler, reason) and _last_ended(pooler) == ended:
        asked_by = author.get_username() if author else ""
        record("pooler.apply", subject_of(pooler), outcome=f"failed: {reason}", asked_by=asked_by)


@contextmanager
def _infrequent_garbage_collection() -> Iterator[None]:
    """Raise the threshold of Python's garbage collector: the objects of ten thousand pools all live until the end.

    With the default threshold of some hundreds, the collector took half of the time of an apply.
    """
    usual = gc.get_threshold()
    gc.set_threshold(COLLECTED_AFTER, *usual[1:])
    try:
        yield
    finally:
        gc.set_threshold(*usual)


def _apply_all(pooler: Pooler, author: User | None, *, overwrite: bool) -> Revision | None:
    dead, last = list(pooler.revisions.cut_short().select_related("author")), None
    died, author = bool(dead) or _was_interrupted(pooler), author or next((one.author for one in dead), None)
    busy: set[Route] = set()
    if not died and not count_unsettled(pooler) and not overwrite:
        return None
    live = Revision.objects.live_on(pooler)
    if not died and not overwrite:
        _refuse_drift(pooler, live)
    try:
        with KINDS[pooler.kind].open(pooler) as session:
            # The session comes first: an apply that ended while the pooler is down proves nothing about its files.
            fail_interrupted_revisions(dead)
            pooler.mark(PoolerState.ONLINE, session.version_text)
            for _attempt_number in range(MOST_ATTEMPTS):
                asked = DesiredState.of(pooler, live, busy)
                last = _attempt(asked, session, author, overwrite=overwrite, trust_disk=not died)
                live = last if last.state == RevisionState.APPLIED else live
                if not count_unsettled(pooler, busy) or last.state == RevisionState.PENDING:  # it is offered
                    break
            else:
                roll_back_pending(DesiredState.of(pooler, live, busy), _given_up(last))
    except Rejected as fault:  # The driver refused before it opened a session.
        fail_interrupted_revisions(dead)
        asked = DesiredState.of(pooler, live)
        last = _refuse_unrendered(asked, author, fault, _revision_fields(asked, overwrite=overwrite))
    _clear_cause(pooler)
    return last


def _was_interrupted(pooler: Pooler) -> bool:
    """Return whether the last apply lost its host, so that its files may be the old or the new ones."""
    last = pooler.revisions.first()
    return bool(last and last.state == RevisionState.FAILED and last.steps and last.steps[-1]["step"] == CUT_OFF)


def _given_up(last: Revision | None) -> str:
    return _(
        "given up after %(attempts)d attempts, each refused because of other pools: correct those, then try again; "
        "the last reason: %(reason)s"
    ) % {"attempts": MOST_ATTEMPTS, "reason": last.reason if last else ""}


def _attempt(
    asked: DesiredState, session: Session, author: User | None, *, overwrite: bool, trust_disk: bool
) -> Revision:
    """Carry one revision to its end."""
    pooler, fields = asked.pooler, _revision_fields(asked, overwrite=overwrite)
    try:
        with _breakage_reported(pooler):
            draft = session.draft(asked.pools, asked.live.files if asked.live else {}, trust_disk)
    except ApplyFailed as fault:
        return _refuse_unrendered(asked, author, fault, fields)
    if offer := Revision.objects.offered_on(pooler):
        if offer.files == draft.texts:
            offers.check(Attempt(asked, session, offer, draft))
            return offer
        offers.withdraw(offer)
    revision = Revision.objects.draft(pooler, draft.texts, author, **fields)
    attempt = Attempt(asked, session, revision, draft)
    attempt.step("rendered", _("for %(version)s: %(changes)s") % {"version": session.version_text, "changes": asked})
    try:
        with _breakage_reported(pooler):
            session.preflight(draft, attempt)
    except ApplyFailed as fault:
        refuse(revision, fault, asked)
        return revision
    except PoolerUnreachable as gone:
        revision.finish(RevisionState.FAILED, _("%(fault)s; nothing was written") % {"fault": gone})
        raise
    if deliveries.of(pooler).writes:
        _make_live(attempt)
    else:
        offers.make(attempt)
    return revision


def _make_live(attempt: Attempt) -> None:
    session, draft = attempt.session, attempt.draft
    try:
        with _breakage_reported(attempt.pooler):
            attempt.step("writing", ", ".join(draft.texts))
            session.go_live(draft.files, attempt)
            attempt.step("reloaded")
            session.read_back(draft.files)
            attempt.step("read back", _("the pooler reports the settings of the files"))
            session.log_in(draft, attempt)
            restarts = session.restarts_needed()
            if restarts:
                attempt.step("needs a restart", ", ".join(one["name"] for one in restarts))
            session.start_processes(attempt)
    except (ApplyFailed, PoolerUnreachable) as fault:
        _roll_back(attempt, fault)
    else:
        attempt.settle(restarts)


def _roll_back(attempt: Attempt, fault: Exception) -> None:
    """Restore the old bytes and verify that they are live; if the pooler is down, its changes stay pending."""
    attempt.step("rolling back", str(fault))
    session, before, asked = attempt.session, attempt.draft.before, attempt.wanted
    try:
        with _breakage_reported(attempt.pooler):
            pooler_files.replace(attempt.pooler, before)  # first of all, whether the pooler answers or not
            session.go_live(before, attempt)
            session.read_back(before)
    except HostUnreachable as gone:
        reason = _(
            "%(fault)s; whether it has its old or its new files is unknown; the next apply restores a known state"
        )
        attempt.revision.note(CUT_OFF, str(gone), write=False)
        attempt.revision.finish(RevisionState.FAILED, reason % {"fault": fault})
        raise
    except PoolerUnreachable as gone:
        reason = _("%(fault)s; the old files are restored for its next start") % {"fault": fault}
        attempt.revision.finish(RevisionState.FAILED, reason)
        raise (fault if isinstance(fault, PoolerUnreachable) else gone) from None
    except ApplyFailed as second:
        faults = {"fault": fault, "second": second}
        reason = _("%(fault)s; and the old configuration could not be verified: %(second)s") % faults
        attempt.revision.finish(RevisionState.FAILED, reason)
        mark_not_applied(asked, asked.changed, asked.changed_settings, PoolState.FAILED, reason)
    else:
        attempt.step("rolled back", _("the pooler reports the settings of the old files"))
        if isinstance(fault, HostUnreachable):  # No pool caused this, so the next apply tries again.
            attempt.revision.finish(RevisionState.ROLLED_BACK, str(fault))
            raise fault
        refuse(attempt.revision, fault, asked)


def _revision_fields(asked: DesiredState, *, overwrite: bool) -> RevisionFields:
    """Build the fields of a revision that describe the spec it is rendered from."""
    pooler = asked.pooler
    live = asked.live.specs if asked.live else Specs()
    specs = snapshots.snapshot(pooler, asked.pools, live)
    cause = pooler.spec_cause or (_("manual edits overwritten") if overwrite else "")
    uploaded = snapshots.uploaded_files(pooler)
    summary = snapshots.summary(live, specs)
    return {"specs": specs, "given": uploaded, "summary": summary, "cause": cause}


def _refuse_unrendered(asked: DesiredState, author: User | None, fault: Exception, fields: RevisionFields) -> Revision:
    revision = Revision.objects.draft(asked.pooler, {}, author, **fields)
    refuse(revision, fault, asked)
    return revision


def _clear_cause(pooler: Pooler) -> None:
    """Clear the cause once all is settled, unless another has been recorded since."""
    if pooler.spec_cause and not count_unsettled(pooler):
        Pooler.objects.filter(pk=pooler.pk, spec_cause=pooler.spec_cause).update(spec_cause="")


@contextmanager
def _breakage_reported(pooler: Pooler) -> Iterator[None]:
    """Turn what a host refused, and an unexpected exception, into `ApplyFailed`, so that it is rolled back.

    The traceback of an unexpected one goes to the log.
    """
    try:
        yield
    except HostRefused as error:
        raise ApplyFailed(str(error)) from error
    except PoolsError:
        raise
    except Exception as error:
        logger.exception("pooler %s: the apply failed", pooler.pk)
        raise ApplyFailed(
            _("the apply failed with %(error)s: see the worker's log") % {"error": type(error).__name__}
        ) from error


def _refuse_drift(pooler: Pooler, live: Revision | None) -> None:
    """Raise `Drifted` for manual edits; a folder without any panel's part is new or was cleaned, and is no drift."""
    try:
        texts = live_files.on_disk(pooler)
    except UnsafeFolder:
        return  # the attempt reports it, with a revision
    kind = KINDS[pooler.kind]
    if not any(kind.ours(name, text) for name, text in texts.items()):
        return
    if found := live_files.differences(pooler, texts, live):
        differences = "; ".join(f"{name}: {difference}" for name, difference in found.items())
        raise Drifted(
            _(
                "the files of pooler %(pooler)s differ from what was applied (%(differences)s): adopt the changes, or "
                "overwrite them (drift=adopt, drift=overwrite)"
            )
            % {"pooler": pooler, "differences": differences}
        )
