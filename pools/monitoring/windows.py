"""Windows of time that charts show: a span back from now or any other, and the same hours of days before."""

import time
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta, tzinfo

from django.utils.translation import gettext as _

STEPS = (1, 2, 5, 10, 15, 20, 30, 40, 60, 120, 180, 240, 360, 480, 720, 1440)  # minutes, each a part of a day
MOST_POINTS = 300
LONGEST = timedelta(days=366)


@dataclass(frozen=True)
class Window:
    """Minutes since 1970 from `begins` up to `ends`, in steps of so many; `name` is that of its range, if any."""

    begins: int
    ends: int
    step: int
    name: str = ""

    @property
    def since(self) -> datetime:
        return datetime.fromtimestamp(self.begins * 60, UTC)

    @property
    def until(self) -> datetime:
        return datetime.fromtimestamp(self.ends * 60, UTC)

    @property
    def minutes(self) -> int:
        return self.ends - self.begins

    def days_before(self, days: int, zone: tzinfo) -> "Window":
        """Return the same hours of a day so many days before, by the clock of a zone: a day may have 23 hours."""
        local = self.since.astimezone(zone)
        began = int((local - timedelta(days=days)).timestamp() // 60)
        return replace(self, begins=began, ends=began + self.minutes)


@dataclass(frozen=True)
class Range:
    """A span back from now."""

    name: str
    minutes: int

    @property
    def step(self) -> int:
        return step_of(self.minutes)

    def window(self) -> Window:
        """Return the window that ends with the present minute, of whole steps, so that a point does not move."""
        now = int(time.time() // 60)
        return Window((now - self.minutes) // self.step * self.step, now + 1, self.step, self.name)


RANGES = {
    one.name: one
    for one in (
        Range("quarter_hour", 15),
        Range("hour", 60),
        Range("six_hours", 6 * 60),
        Range("day", 24 * 60),
        Range("week", 7 * 24 * 60),
    )
}


def fault(since: datetime, until: datetime) -> str:
    """Return why no chart can show what lies between these times; empty if one can."""
    if since >= until:
        return _("it has to be later than the beginning")
    if until - since > LONGEST:
        return _("a window may last %(days)d days at most") % {"days": LONGEST.days}
    return ""


def between(since: datetime, until: datetime) -> Window:
    """Return the window of all minutes that these times touch, from the beginning of a step on."""
    first, last = int(since.timestamp() // 60), -int(-until.timestamp() // 60)
    step = step_of(last - first)
    return Window(first // step * step, max(last, first + 1), step)


def step_of(minutes: int) -> int:
    """Return how many minutes make one point, so that a chart has at most some 300, or one a day."""
    return next((step for step in STEPS if minutes <= step * MOST_POINTS), STEPS[-1])
