"""What happened around a load, as the charts of the run's file: pooler, server, host and generator."""

from array import array
from collections import Counter
from collections.abc import Callable, Iterator
from math import isnan, nan
from operator import itemgetter
from typing import Any, TypeAlias

from benchmarks.analysis.downsampling import thinned
from benchmarks.models import ObservationKind, Run
from benchmarks.results.export.svg import Drawing, Line, draw

DRAWN_AT_MOST = 2_000
WAITS_DRAWN = 3  # of those that most sessions were in
MB = 1e6
AT_ONCE = 1_000
Course: TypeAlias = "array[float]"  # nan where nothing was seen
Value = Callable[[dict[str, Any]], float | None]


def drawings(run: Run, span: float) -> Iterator[Drawing]:
    """Those of which something was seen, over `span` seconds."""
    charts = (*_CHARTS, _waits(run))
    times, courses = _courses(run, {value: kind for _, _, kind, lines in charts for _, value in lines})
    for title, unit, kind, lines in charts:
        drawn = [_line(label, times[kind], courses[value]) for label, value in lines]
        if found := draw(title, unit, drawn, span):
            yield found


def _courses(run: Run, kinds: dict[Value, str]) -> tuple[dict[str, Course], dict[Value, Course]]:
    """When each kind was looked at, and what each value was then: numbers alone, since a day has 345,600 looks."""
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


def _line(label: str, times: Course, course: Course) -> Line:
    points = [(t, None if isnan(value) else value) for t, value in zip(times, course, strict=True)]
    kept = thinned(points, DRAWN_AT_MOST, t=itemgetter(0), value=itemgetter(1))
    return Line(label, [(t, drawn) for t, drawn in kept])


def _named(name: str, by: float = 1.0) -> Value:
    def value(figures: dict[str, Any]) -> float | None:
        found = figures.get(name)
        return None if found is None else found / by

    return value


def _waiting(name: str) -> Value:
    return lambda figures: figures["waits"].get(name, 0) if "waits" in figures else None


def _waits(run: Run) -> tuple[str, str, str, list[tuple[str, Value]]]:
    whole: Counter[str] = Counter()
    observations = run.observations.filter(kind=ObservationKind.SERVER).order_by().values_list("figures", flat=True)
    for figures in observations.iterator(chunk_size=AT_ONCE):
        whole.update(figures.get("waits", {}))
    common = [name for name, _ in whole.most_common(WAITS_DRAWN)]
    return "Wait events", "sessions", ObservationKind.SERVER, [(name, _waiting(name)) for name in common]


_CHARTS: tuple[tuple[str, str, str, list[tuple[str, Value]]], ...] = (
    (
        "Queue and service",
        "ms of a transaction",
        ObservationKind.POOLER,
        [("service", _named("service_ms")), ("queue", _named("wait_ms"))],
    ),
    (
        "Transactions on the server",
        "per second",
        ObservationKind.SERVER,
        [("commits", _named("commits_per_s")), ("rollbacks", _named("rollbacks_per_s"))],
    ),
    (
        "Data blocks",
        "per second",
        ObservationKind.SERVER,
        [("in shared buffers", _named("blocks_hit_per_s")), ("read", _named("blocks_read_per_s"))],
    ),
    (
        "WAL and temporary files",
        "MB/s",
        ObservationKind.SERVER,
        [("WAL", _named("wal_bytes_per_s", MB)), ("temporary files", _named("temp_bytes_per_s", MB))],
    ),
    (
        "Server's host: processors",
        "percent of all cores",
        ObservationKind.HOST,
        [("busy", _named("cpu_percent")), ("waiting for disks", _named("waiting_percent"))],
    ),
    (
        "Server's host: disks",
        "MB/s",
        ObservationKind.HOST,
        [("read", _named("read_bytes_per_s", MB)), ("written", _named("written_bytes_per_s", MB))],
    ),
    (
        "Generator: processors",
        "percent of one core",
        ObservationKind.GENERATOR,
        [
            ("the load", _named("cpu_percent")),
            ("the pooler", _named("pooler_cpu_percent")),
            ("the service", _named("service_cpu_percent")),
        ],
    ),
)
