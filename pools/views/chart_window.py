"""The window of time that the address of a page with charts names, and the addresses of other windows."""

from dataclasses import dataclass
from datetime import datetime, tzinfo
from urllib.parse import urlencode

from django.http import HttpRequest
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from pools.forms.windows import MINUTE, WindowForm, zone_named
from pools.monitoring.windows import RANGES, Window

LIVE = "live"
CHOICES = [
    (LIVE, _("Live")),
    ("quarter_hour", _("15 min")),
    ("hour", _("1 h")),
    ("six_hours", _("6 h")),
    ("day", _("24 h")),
    ("week", _("7 d")),
]
EARLIER = {"day": 1, "week": 7}  # what a window is compared with: so many days before
DAY = 24 * 60  # minutes
Query = list[tuple[str, str]]


@dataclass(frozen=True)
class Choice:
    """What an address asks for: `name` is that of a range, or empty for a window with a beginning and an end.

    `compared` names the earlier windows that are drawn beside it. A form with errors belongs to the last hour.
    """

    name: str
    window: Window
    zone: tzinfo
    compared: tuple[str, ...]
    form: WindowForm
    given: Query  # of the address, what links to other windows keep
    figure: Query  # that of a page that shows one

    @property
    def is_live(self) -> bool:
        return self.name == LIVE

    @property
    def ranges(self) -> list[tuple[str, object, str]]:
        """Name, label and query of each range."""
        return [(name, label, urlencode([("range", name), *self.given, *self.figure])) for name, label in CHOICES]

    @property
    def kept(self) -> Query:
        """The names and values by which another form on the page keeps the window."""
        if self.name:
            return [("range", self.name), *self.given]
        return [*self._ends, ("zone", str(self.zone))]

    @property
    def fixed_query(self) -> str:
        """The query of this very window, so that a link shows the same later."""
        compared = [("compare", name) for name in self.compared] or [("compare", "")]
        return urlencode([*self._ends, *self.figure, ("zone", str(self.zone)), *compared])

    @property
    def _ends(self) -> Query:
        return [("since", self._written(self.window.since)), ("until", self._written(self.window.until))]

    def _written(self, moment: datetime) -> str:
        return moment.astimezone(self.zone).strftime(MINUTE)


def zone_of(request: HttpRequest) -> tzinfo:
    """Return the zone that `?zone=` names; that of the panel for none, or for an unknown one."""
    return zone_named(request.GET.get("zone", "")) or timezone.get_current_timezone()


def choice(request: HttpRequest, usual: str = LIVE) -> Choice:
    """Return what the address asks for, its zone being active: `?since=&until=`, `?range=`, else the usual range."""
    zone = timezone.get_current_timezone()
    figure = [("figure", request.GET["figure"])] if "figure" in request.GET else []
    given = [("zone", str(zone))] if "zone" in request.GET else []
    given += [("compare", name) for name in request.GET.getlist("compare")]
    if "since" in request.GET or "until" in request.GET:
        form = WindowForm(request.GET)
        window = form.window() if form.is_valid() else RANGES["hour"].window()
        return Choice("", window, zone, _compared(request, window), form, given, figure)
    name = request.GET.get("range", usual)
    name = name if name in RANGES else usual
    window = RANGES["hour" if name == LIVE else name].window()
    form = WindowForm(initial={"since": window.since, "until": window.until, "zone": str(zone)})
    return Choice(name, window, zone, () if name == LIVE else _compared(request, window), form, given, figure)


def _compared(request: HttpRequest, window: Window) -> tuple[str, ...]:
    """Return what `?compare=` names; without it, the days before of a window that is no longer than what is between."""
    if "compare" in request.GET:
        return tuple(name for name in EARLIER if name in request.GET.getlist("compare"))
    return tuple(name for name, days in EARLIER.items() if window.minutes <= days * DAY + window.step)
