"""Tells of a level that changed for the worse: once for each change, by the night that made it visible."""

import logging
from collections.abc import Iterator
from datetime import datetime

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from benchmarks.models import NoticeKind, Schedule, ScheduledStart, ScheduleNotice, StartState
from benchmarks.schedules import notices, trend_chart, trends
from benchmarks.schedules.trends import Change, Trend

log = logging.getLogger(__name__)

# Another night moves the place at which a change is found by some nights; it is the same change all the same.
SAME_WITHIN = 5


def judge_ended_nights() -> None:
    """Look at each night whose runs have ended since the last call, and queue notices of what it made visible."""
    waiting = ScheduledStart.objects.filter(state=StartState.STARTED, judged_at=None, run__isnull=False)
    for start in waiting.select_related("schedule__run", "run", "experiment").order_by("due_at"):
        if not start.goes_on:
            _judge(start)


def _judge(start: ScheduledStart) -> None:
    with transaction.atomic():
        if not ScheduledStart.objects.filter(pk=start.pk, judged_at=None).update(judged_at=timezone.now()):
            return  # another worker was quicker
        if start.schedule.notify_on_change:
            _queue_notices(start.schedule, start.due_at)


def _queue_notices(schedule: Schedule, until: datetime) -> None:
    for trend in trends.of(schedule, until).trends:
        if trend.nights[-1].at != until:  # the night has no figure, so that it showed nothing
            continue
        for change in newly_found(trend):
            if not _is_reported(schedule, trend, change):
                _queue(schedule, trend, change)


def newly_found(trend: Trend) -> Iterator[Change]:
    """Yield the changes for the worse that the nights before the last one did not show."""
    before = trends.trend(trend.metric, trend.nights[:-1])
    known = [trend.nights.index(one.night) for one in before.changes if one.is_worse]
    for change in trend.changes:
        at = trend.nights.index(change.night)
        if change.is_worse and all(abs(at - other) > SAME_WITHIN for other in known):
            yield change


def _is_reported(schedule: Schedule, trend: Trend, change: Change) -> bool:
    """Test whether the change was told before: it may have been found, lost by another night, and found again."""
    at = trend.nights.index(change.night)
    beside = trend.nights[max(0, at - SAME_WITHIN) : at + SAME_WITHIN + 1]
    reported = ScheduleNotice.objects.filter(schedule=schedule, kind=NoticeKind.WORSE, metric=trend.metric.key)
    return reported.filter(since__range=(beside[0].at, beside[-1].at)).exists()


def _queue(schedule: Schedule, trend: Trend, change: Change) -> None:
    words = {"schedule": schedule.name, "metric": trend.metric.noun, "ratio": f"×{change.ratio:.2f}"}
    title = _("%(schedule)s: %(metric)s is %(ratio)s") % words
    message = trend_chart.sentence(trend, change, schedule.time_zone)
    notices.queue(
        schedule, NoticeKind.WORSE, change.night.at, title, message, metric=trend.metric.key, value=change.ratio
    )
    log.info("schedule %s: %s", schedule.pk, message)
