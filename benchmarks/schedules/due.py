"""Starts what is due, each due time at most once, and notes what was missed and why; nothing piles up.

A due time is claimed by moving `Schedule.due_at` on, in one conditional UPDATE together with the row of the start, so
that a second beat or a redelivered message finds nothing left to claim.
"""

import logging
from datetime import datetime, timedelta

from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.db import IntegrityError, transaction
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from benchmarks.models import Run, Schedule, ScheduledStart, StartState, Status
from benchmarks.runs.submission import queue_status
from benchmarks.schedules import cron, starting
from core.lib.errors import DomainError

log = logging.getLogger(__name__)

MOST_COUNTED = 1000  # due times of a long outage
INTERRUPTED_AFTER = timedelta(minutes=10)  # no submission takes so long


def start_due(now: datetime | None = None) -> None:
    """Start what is due at this moment; tell of what could not begin in time, and of what was interrupted."""
    now = now or timezone.now()
    _settle_interrupted(now)
    _miss_late(now)
    for schedule in Schedule.objects.due(now):
        if start := claim(schedule, now):
            carry_out(start)


def start_now(schedule: Schedule, person: User) -> ScheduledStart:
    """Start it now, beside its own times; return the start, which says why where nothing began."""
    now = timezone.now()
    start = ScheduledStart.objects.create(schedule=schedule, due_at=now, claimed_at=now, by=person)
    carry_out(start)
    return start


def claim(schedule: Schedule, now: datetime) -> ScheduledStart | None:
    """Return the start of the latest due time; None where another claimed it, or where it is too late for it.

    The due times before it, and one that is too late, become a single missed start.
    """
    first = schedule.due_at
    if first is None:
        return None
    latest, passed = _latest(schedule, first, now)
    is_late = now - latest > schedule.starting_deadline
    (upcoming,) = cron.upcoming(schedule.cron, schedule.time_zone, now, 1)
    try:
        with transaction.atomic():
            unclaimed = Schedule.objects.filter(pk=schedule.pk, due_at=first, paused_at=None)
            if not unclaimed.update(due_at=upcoming):
                return None
            missed = passed + 1 if is_late else passed
            if missed:
                _note_outage(schedule, first, missed, now)
            return None if is_late else schedule.starts.create(due_at=latest, claimed_at=now)
    except IntegrityError:  # this due time has its start: it was claimed before the schedule was changed
        log.warning("schedule %s: %s was claimed already", schedule.pk, latest.isoformat())
        Schedule.objects.filter(pk=schedule.pk, due_at=first).update(due_at=upcoming)
        return None


def _latest(schedule: Schedule, first: datetime, now: datetime) -> tuple[datetime, int]:
    """Return the last due time until now, and how many there were before it."""
    latest, passed = first, 0
    for moment in cron.times(schedule.cron, schedule.time_zone, first):
        if moment > now or passed == MOST_COUNTED:
            break
        latest, passed = moment, passed + 1
    return latest, passed


def _note_outage(schedule: Schedule, first: datetime, count: int, now: datetime) -> None:
    text = ngettext(
        "the panel was down or paused: %(count)s due time passed",
        "the panel was down or paused: %(count)s due times passed",
        count,
    )
    reason = text % {"count": _("more than %(count)s") % {"count": MOST_COUNTED} if count > MOST_COUNTED else count}
    schedule.starts.create(due_at=first, due_times=count, claimed_at=now, state=StartState.MISSED, reason=reason)


def carry_out(start: ScheduledStart) -> None:
    """Start what is repeated, or note why it can't be; an unexpected failure keeps no other schedule from its time."""
    schedule = start.schedule
    others = schedule.starts.exclude(pk=start.pk)
    if reason := starting.why_not(schedule, others):
        start.miss(reason)
        return
    try:
        began = starting.start(schedule, start.pk)
    except (DomainError, PermissionDenied) as error:
        start.miss(str(error))
    except Exception as error:
        log.exception("schedule %s could not start", schedule.pk)
        start.miss(_("the panel failed (%(error)s); the log of the worker has more") % {"error": type(error).__name__})
    else:
        start.note(began)
        log.info("schedule %s started %s", schedule.pk, began)


def _settle_interrupted(now: datetime) -> None:
    """Settle the starts whose worker ended in between: what began has the id of its start."""
    for start in ScheduledStart.objects.filter(state=StartState.CLAIMED, claimed_at__lt=now - INTERRUPTED_AFTER):
        began = starting.find(start.pk)
        start.note(began) if began else start.miss(_("the worker ended while it started"))


def _miss_late(now: datetime) -> None:
    """Cancel the runs that still wait at their deadline: at another time they would measure something else."""
    waiting = ScheduledStart.objects.filter(state=StartState.STARTED, run__status=Status.QUEUED)
    for start in waiting.select_related("schedule", "run"):
        if start.run and now - start.due_at > start.schedule.starting_deadline and not _has_begun(start):
            _give_up(start, start.run)


def _has_begun(start: ScheduledStart) -> bool:
    return start.runs.exclude(status=Status.QUEUED).exists()


def _give_up(start: ScheduledStart, first: Run) -> None:
    reasons = queue_status.waits_for(first)
    for run in start.runs:
        run.request_cancel()
    text = _("%(run)s had not begun after %(minutes)s minutes and was cancelled: %(reasons)s")
    why = "; ".join(reasons.sentences) if reasons else _("no generator took it")
    words = {"run": first, "minutes": start.schedule.starting_deadline_minutes, "reasons": why}
    start.miss(text % words)
