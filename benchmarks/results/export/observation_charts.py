"""The charts of observations in a run's HTML export: pooler, server, host and generator."""

from array import array
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from math import isnan, nan
from operator import itemgetter
from typing import Any, TypeAlias

from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from benchmarks.analysis.downsampling import thinned
from benchmarks.models import ObservationKind, Run
from benchmarks.results.export.svg import Drawing, Line, draw

DRAWN_AT_MOST = 2_000
WAITS_DRAWN = 3  # the wait events with the most sessions
MB = 1e6
AT_ONCE = 1_000
Course: TypeAlias = "array[float]"  # nan: not measured
ChartSpec: TypeAlias = "tuple[str | Promise, str | Promise, str, list[tuple[str | Promise, Value]]]"
Value = Callable[[Mapping[str, Any]], float | None]


def drawings(run: Run, span: float) -> Iterator[Drawing]:
    """Yield the charts that have values, over `span` seconds."""
    charts = (*_CHARTS, _waits(run))
    times, courses = _courses(run, {value: kind for *_head, kind, lines in charts for _label, value in lines})
    for title, unit, kind, lines in charts:
        drawn = [_line(label, times[kind], courses[value]) for label, value in lines]
        if found := draw(title, unit, drawn, span):
            yield found


def _courses(run: Run, kinds: dict[Value, str]) -> tuple[dict[str, Course], dict[Value, Course]]:
    """Return the times of each kind of observation and the values then.

    They are arrays of numbers, since a day has 345,600 observations.
    """
    times: dict[str, Course] = {kind: array("d") for kind in ObservationKind}
    courses: dict[Value, Course] = {value: array("d") for value in kinds}
    of_kind = {kind: [value for value, its in kinds.items() if its == kind] for kind in ObservationKind}
    observations = run.observations.order_by("attempt", "seq").values_list("kind", "t", "figures")
    for kind, t, figures in observations.iterator(chunk_size=AT_ONCE):
        times[kind].append(t)
        for value in of_kind[ObservationKind(kind)]:
            found = value(figures)
            courses[value].append(nan if found is None else found)
    return times, courses


def _line(label: str | Promise, times: Course, course: Course) -> Line:
    points = [(t, None if isnan(value) else value) for t, value in zip(times, course, strict=True)]
    kept = thinned(points, DRAWN_AT_MOST, t=itemgetter(0), value=itemgetter(1))
    return Line(label, [(t, drawn) for t, drawn in kept])


def _named(name: str, by: float = 1.0) -> Value:
    def value(figures: Mapping[str, Any]) -> float | None:
        found = figures.get(name)
        return None if found is None else found / by

    return value


def _waiting(name: str) -> Value:
    return lambda figures: figures["waits"].get(name, 0) if "waits" in figures else None


def _waits(run: Run) -> ChartSpec:
    whole: Counter[str] = Counter()
    observations = run.observations.filter(kind=ObservationKind.SERVER).order_by().values_list("figures", flat=True)
    for figures in observations.iterator(chunk_size=AT_ONCE):
        whole.update(figures.get("waits", {}))
    common = [name for name, _count in whole.most_common(WAITS_DRAWN)]
    return _("Wait events"), _("sessions"), ObservationKind.SERVER, [(name, _waiting(name)) for name in common]


_CHARTS: tuple[ChartSpec, ...] = (
    (
        gettext_lazy("Queue and service"),
        gettext_lazy("ms of a transaction"),
        ObservationKind.POOLER,
        [(gettext_lazy("service"), _named("service_ms")), (gettext_lazy("queue"), _named("wait_ms"))],
    ),
    (
        gettext_lazy("Transactions on the server"),
        gettext_lazy("per second"),
        ObservationKind.SERVER,
        [(gettext_lazy("commits"), _named("commits_per_s")), (gettext_lazy("rollbacks"), _named("rollbacks_per_s"))],
    ),
    (
        gettext_lazy("Data blocks"),
        gettext_lazy("per second"),
        ObservationKind.SERVER,
        [
            (gettext_lazy("in shared buffers"), _named("blocks_hit_per_s")),
            (gettext_lazy("read"), _named("blocks_read_per_s")),
        ],
    ),
    (
        gettext_lazy("WAL and temporary files"),
        gettext_lazy("MB/s"),
        ObservationKind.SERVER,
        [
            (gettext_lazy("WAL"), _named("wal_bytes_per_s", MB)),
            (gettext_lazy("temporary files"), _named("temp_bytes_per_s", MB)),
        ],
    ),
    (
        gettext_lazy("Server's host: processors"),
        gettext_lazy("percent of all cores"),
        ObservationKind.HOST,
        [(gettext_lazy("busy"), _named("cpu_percent")), (gettext_lazy("waiting for disks"), _named("waiting_percent"))],
    ),
    (
        gettext_lazy("Server's host: disks"),
        gettext_lazy("MB/s"),
        ObservationKind.HOST,
        [
            (gettext_lazy("read"), _named("read_bytes_per_s", MB)),
            (gettext_lazy("written"), _named("written_bytes_per_s", MB)),
        ],
    ),
    (
        gettext_lazy("Generator: processors"),
        gettext_lazy("percent of one core"),
        ObservationKind.GENERATOR,
        [
            (gettext_lazy("the load"), _named("cpu_percent")),
            (gettext_lazy("the pooler"), _named("pooler_cpu_percent")),
            (gettext_lazy("the service"), _named("service_cpu_percent")),
        ],
    ),
)
