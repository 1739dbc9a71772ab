"""The weekly summary: what of each schedule ran and was missed, where its levels are, and which of them changed."""

from collections import Counter
from collections.abc import Iterator
from datetime import datetime, time, timedelta
from statistics import median

from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from benchmarks.models import NoticeKind, Schedule, ScheduleNotice, StartState
from benchmarks.schedules import notices, trend_chart, trends
from benchmarks.schedules.trends import History, Trend
from pools.monitoring import channels

MORNING = time(8)  # of Monday, in the panel's time zone
WEEK = timedelta(days=7)


def queue_due(now: datetime | None = None) -> None:
    """Queue the summary of the week that ended last, once for each schedule that is to be in it."""
    monday = _last_monday(now or timezone.now())
    if not channels.configured():
        return
    reported = ScheduleNotice.objects.filter(kind=NoticeKind.WEEK, since=monday).values("schedule")
    missing = Schedule.objects.filter(weekly_summary=True, created_at__lt=monday).exclude(pk__in=reported)
    for schedule in missing.select_related("run", "experiment"):
        title = _("%(schedule)s: the week until %(day)s") % {"schedule": schedule.name, "day": f"{monday:%Y-%m-%d}"}
        notices.queue(schedule, NoticeKind.WEEK, monday, title, " ".join(summary(schedule, monday)))


def _last_monday(now: datetime) -> datetime:
    """Return the midnight that began the latest Monday whose morning has come."""
    local = timezone.localtime(now)
    day = local.date() - timedelta(days=local.weekday())
    if local < timezone.make_aware(datetime.combine(day, MORNING)):
        day -= WEEK
    return timezone.make_aware(datetime.combine(day, time()))


def summary(schedule: Schedule, monday: datetime) -> Iterator[str]:
    """Yield sentences on the week before a moment."""
    starts = schedule.starts.filter(due_at__gte=monday - WEEK, due_at__lt=monday)
    counts = Counter[str]()
    for state, due_times in starts.order_by().values_list("state", "due_times"):
        counts[state] += due_times
    found = trends.of(schedule, monday)
    yield _in_words(counts[StartState.STARTED], counts[StartState.MISSED])
    if missed := starts.filter(state=StartState.MISSED).first():
        yield _("The latest was missed: %(reason)s.") % {"reason": missed.reason.rstrip(".")}
    if without := _without_figure(found, monday):
        text = ngettext("%(count)s night has no valid figure.", "%(count)s nights have no valid figure.", without)
        yield text % {"count": without}
    for trend in found.trends:
        yield from _of_trend(trend, schedule, monday)


def _in_words(started: int, missed: int) -> str:
    words = {"started": started, "missed": missed}
    if not started and not missed:
        return _("Nothing was due.")
    return _("Started: %(started)s; missed: %(missed)s.") % words


def _without_figure(found: History, monday: datetime) -> int:
    """Return how many nights of the week started and have no figure."""
    return sum(one.start.due_at >= monday - WEEK and one.start.run_id is not None for one in found.left_out)


def _of_trend(trend: Trend, schedule: Schedule, monday: datetime) -> Iterator[str]:
    figure = trend_chart.figure(trend, median(trend.level))
    words = {"label": trend.metric.label, "figure": figure}
    recent = [one for one in trend.changes if one.night.at >= monday - WEEK]
    if not recent:
        yield _("%(label)s: %(figure)s, unchanged.") % words
        return
    yield _("%(label)s: %(figure)s.") % words
    for change in recent:
        yield trend_chart.sentence(trend, change, schedule.time_zone)
