"""The times of a cron line in a time zone, and the lines of "daily" and "weekly"; pure.

The nights in which clocks change are as in Debian's cron: what is due at a time that does not exist starts when the
clock has gone forward, and what is due at a time that exists twice starts at the first.
"""

import re
from collections.abc import Iterator
from datetime import datetime, time
from enum import StrEnum
from itertools import islice, pairwise
from zoneinfo import ZoneInfo, available_timezones

from cronsim import CronSim, CronSimError
from django.utils.formats import date_format
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from benchmarks.errors import InvalidFields

SHORTEST_MINUTES = 5  # between two times: a run alone lasts longer than a minute, with what comes before and after it
CHECKED_TIMES = 50  # times between which the shortest distance is taken
WEEKDAYS = (
    (1, gettext_lazy("Monday")),
    (2, gettext_lazy("Tuesday")),
    (3, gettext_lazy("Wednesday")),
    (4, gettext_lazy("Thursday")),
    (5, gettext_lazy("Friday")),
    (6, gettext_lazy("Saturday")),
    (0, gettext_lazy("Sunday")),
)
_PLAIN = re.compile(r"(?P<minute>\d{1,2}) (?P<hour>\d{1,2}) \* \* (?P<day>\*|[0-6])")


class Rhythm(StrEnum):
    """How a cron line came about."""

    DAILY = "daily"
    WEEKLY = "weekly"
    CRON = "cron"


def daily(at: time) -> str:
    """Return the line of a time of the day."""
    return f"{at.minute} {at.hour} * * *"


def weekly(weekday: int, at: time) -> str:
    """Return the line of a time of a day of the week, 0 for Sunday."""
    return f"{at.minute} {at.hour} * * {weekday}"


def read(line: str) -> tuple[Rhythm, time | None, int | None]:
    """Return the rhythm of a line, with its time and its day of the week where it has one."""
    plain = _PLAIN.fullmatch(line)
    if plain is None or int(plain["hour"]) > 23 or int(plain["minute"]) > 59:
        return Rhythm.CRON, None, None
    at = time(int(plain["hour"]), int(plain["minute"]))
    return (Rhythm.DAILY, at, None) if plain["day"] == "*" else (Rhythm.WEEKLY, at, int(plain["day"]))


def in_words(line: str) -> str:
    """Return the line as a text: "daily at 02:30"; one of another rhythm as it is."""
    rhythm, at, weekday = read(line)
    if at is None:
        return line
    if rhythm is Rhythm.DAILY:
        return _("daily at %(time)s") % {"time": f"{at:%H:%M}"}
    return _("each %(weekday)s at %(time)s") % {"weekday": dict(WEEKDAYS)[weekday or 0], "time": f"{at:%H:%M}"}


def times(line: str, zone: str, after: datetime) -> Iterator[datetime]:
    """Yield the times of a checked line after a moment, in its zone, without an end."""
    return CronSim(line, after.astimezone(ZoneInfo(zone)))


def upcoming(line: str, zone: str, after: datetime, count: int) -> list[datetime]:
    """Return the next times of a checked line."""
    return list(islice(times(line, zone, after), count))


def shown(moment: datetime, zone: str) -> str:
    """Return a moment as its day and time in a zone, with the zone's name of that day: "Sun 29 Nov 2026, 02:15 CET"."""
    return date_format(moment.astimezone(ZoneInfo(zone)), "D j M Y, H:i T")


def check(line: str, zone: str, now: datetime) -> str:
    """Return the line with single blanks; raise `InvalidFields` for one that is none, and for an unknown zone."""
    line = " ".join(line.split())
    if zone not in available_timezones():
        text = _("%(zone)s is not a time zone here: choose one such as Europe/Berlin")
        raise InvalidFields({"time_zone": [text % {"zone": repr(zone)}]})
    if fault := _fault(line, zone, now):
        raise InvalidFields({"cron": [fault]})
    return line


def _fault(line: str, zone: str, now: datetime) -> str:
    if len(line.split()) != 5:
        return _("a cron line has five fields: minute, hour, day of the month, month and day of the week")
    try:
        found = upcoming(line, zone, now, CHECKED_TIMES)
    except CronSimError as error:
        return _("%(line)s is not a cron line: %(error)s") % {"line": line, "error": error}
    if not found:
        return _("%(line)s has no time in the next 50 years") % {"line": line}
    shortest = min(((later - earlier).total_seconds() for earlier, later in pairwise(found)), default=None)
    if shortest is not None and shortest < 60 * SHORTEST_MINUTES:
        text = _("%(line)s is due more often than every %(minutes)s minutes, the shortest time between two starts")
        return text % {"line": line, "minutes": SHORTEST_MINUTES}
    return ""
