"""Series for a run's charts: samples and observations as compact rows, thinned where they are many."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Any, TypedDict

from django.db.models import Avg, Count, F, Q, QuerySet, Sum
from django.db.models.functions import Floor, Mod

from benchmarks.analysis import extremes
from benchmarks.analysis.downsampling import Row, thinned
from benchmarks.models import Observation, ObservationKind, PoolSample, Run, Sample
from benchmarks.models.metrics import SAMPLE_METRICS
from benchmarks.models.summaries import Summary
from pools.poolers import KINDS

DRAWN_AT_MOST = 20_000  # rows of one kind sent to a browser; longer runs are thinned, never cut
FIGURES = tuple(one.key for one in SAMPLE_METRICS if one.is_charted)
SAMPLE_COLUMNS = ("attempt", "seq", "t", *FIGURES)
POOL_COLUMNS = ("attempt", "seq", "t", "cl_active", "cl_waiting", "sv_active", "sv_idle", "maxwait_ms")

OBSERVATIONS_DRAWN_AT_MOST = 4_000  # rows of one kind sent to a browser: some for each pixel
READ_FOR_EACH = 3  # rows read for each that is drawn
OBSERVATIONS_READ_AT_MOST = 12_000  # rows of one kind read for a chart; beyond, only every nth second is read
# The curve that decides which rows of each kind are kept by the thinning.
FOLLOWED: dict[str, Callable[[Mapping[str, Any]], float | None]] = {
    ObservationKind.POOLER: lambda figures: figures.get("wait_ms"),
    ObservationKind.SERVER: lambda figures: sum(figures.get("waits", {}).values()),
    ObservationKind.HOST: lambda figures: figures.get("cpu_percent"),
    ObservationKind.GENERATOR: lambda figures: figures.get("cpu_percent"),
}
BEGINNING = (0, 0)
WITHOUT_END = (2**31, 0)

Place = tuple[int, int]


class Table(TypedDict):
    """Rows with their columns' names."""

    columns: Sequence[str]
    rows: Sequence[Row]


@dataclass(frozen=True)
class Detail:
    """How many rows of each kind are given, and of which seconds of the run (None: of all)."""

    rows: int = DRAWN_AT_MOST
    observations: int | None = None  # the usual number
    span: tuple[float, float] | None = None

    @property
    def most_observations(self) -> int:
        """The most observations of a kind that are drawn."""
        return self.observations or OBSERVATIONS_DRAWN_AT_MOST

    @property
    def most_read(self) -> int:
        """The most observations of a kind that are read for these."""
        return min(OBSERVATIONS_READ_AT_MOST, READ_FOR_EACH * self.most_observations)

    def within(self, rows: QuerySet[Any]) -> QuerySet[Any]:
        """Return the rows of its span, with those about its edges, so that lines reach these."""
        if self.span is None:
            return rows
        first, last = self.span
        about = (last - first) / 20
        return rows.filter(t__gte=first - about, t__lte=last + about)


class ProgressSeries(TypedDict):
    """The samples of a run, and its planned duration in seconds (None: none was planned)."""

    span: float | None
    samples: Table


class Course(ProgressSeries):
    """All series of a run.

    `uncounted` names the columns that the pool's kind of pooler does not count. `after` is the id of the last event
    included: a live viewer subscribes from there. A checkpoint is `(t, timed, requested)`.
    """

    after: str
    pool: Table
    uncounted: list[str]
    observations: dict[str, Table]
    checkpoints: list[tuple[float, int, int]]


def course(run: Run, detail: Detail | None = None) -> Course:
    """Return what a run's charts show so far; `after` is the last event in it, from which the stream goes on."""
    detail = detail or Detail()
    upto = max(_last_place(model, run) for model in (Sample, PoolSample, Observation))
    unknown = "cl_active" if run.pool and "cl_waiting" in KINDS[run.pool.pooler.kind].uncounted else "cl_waiting"
    pool = _rows(PoolSample, POOL_COLUMNS, run, upto, unknown, detail)
    return {
        **progress(run, upto, detail),
        "after": f"{upto[0]}-{upto[1]}",
        "pool": {"columns": POOL_COLUMNS, "rows": pool},
        "uncounted": _uncounted(run, pool),
        "observations": tables(run, upto, detail),
        "checkpoints": checkpoints(run, upto),
    }


def progress(run: Run, upto: Place = WITHOUT_END, detail: Detail | None = None) -> ProgressSeries:
    """Return the `samples` of a run up to a place in its events, and the planned `span` in seconds."""
    rows = _rows(Sample, SAMPLE_COLUMNS, run, upto, "tps", detail or Detail())
    return {"span": planned_seconds(run), "samples": {"columns": SAMPLE_COLUMNS, "rows": rows}}


def is_thinned(course: Course, detail: Detail) -> bool:
    """Tell whether a part of the run has more to show than this."""
    several = (course["samples"], course["pool"])
    if any(len(table["rows"]) >= detail.rows for table in several):
        return True
    return any(len(table["rows"]) >= detail.most_observations for table in course["observations"].values())


def planned_seconds(run: Run) -> float | None:
    """Return the planned duration; None where a number of transactions ends the run, or nothing is known."""
    duration = run.options.get("duration")
    return None if run.options.get("transactions") else duration


def failed_so_far(run: Run) -> int:
    """Return the failed transactions: the program's own count once it is printed, else the sum over samples."""
    printed = run.summary.get("failed")
    if printed is not None:
        return printed
    return run.samples.filter(failed__gt=0).order_by().aggregate(total=Sum("failed"))["total"] or 0


def partial_summary(run: Run) -> Summary:
    """Average the progress lines of a run that printed no summary; latency is weighted by throughput."""
    samples = run.samples.filter(tps__isnull=False).order_by()
    found = samples.aggregate(
        count=Count("pk"),
        mean_tps=Avg("tps"),
        weight=Sum("tps", filter=Q(latency_ms__isnull=False)),
        weighted=Sum(F("tps") * F("latency_ms")),
        all_failed=Sum("failed"),
    )
    if not found["count"]:
        return {}
    figures: Summary = {"tps": found["mean_tps"], "failed": found["all_failed"]}
    if found["weight"]:
        figures["latency_avg_ms"] = found["weighted"] / found["weight"]
    return figures


def few(table: Table, at_most: int, name: str) -> Sequence[Row]:
    """Return at most so many rows of a table, thinned by one of its columns."""
    columns = table["columns"]
    return thinned(table["rows"], at_most, t=itemgetter(columns.index("t")), value=itemgetter(columns.index(name)))


def _last_place(model: type[Sample] | type[PoolSample] | type[Observation], run: Run) -> Place:
    places = model.objects.filter(run=run).order_by("-attempt", "-seq").values_list("attempt", "seq")
    return places.first() or BEGINNING


def _rows(
    model: type[Sample] | type[PoolSample],
    columns: tuple[str, ...],
    run: Run,
    upto: Place,
    followed: str,
    detail: Detail,
) -> Sequence[Row]:
    """Return the rows up to a place; rows written between two queries arrive once, as events of the run.

    Many are thinned by the column whose shape the eye follows: of very many only the extremes of short times are read
    for that, and only those that stay are read whole.
    """
    rows = detail.within(model.objects.filter(run=run))
    if rows[: detail.rows + 1].count() > detail.rows:
        keys = extremes.of_buckets(rows, followed, detail.rows)
        read = rows if keys is None else model.objects.filter(pk__in=keys)
        points = list(read.values_list("attempt", "seq", "t", followed, "pk"))
        kept = thinned(points, detail.rows, t=itemgetter(2), value=itemgetter(3))
        rows = model.objects.filter(pk__in=[point[4] for point in kept])
    return [row for row in rows.values_list(*columns) if row[:2] <= upto]


def _uncounted(run: Run, pool: Sequence[Row]) -> list[str]:
    """Return the pool's columns without a value; before its first observation, those that its kind does not count."""
    if pool:
        return [name for at, name in enumerate(POOL_COLUMNS) if all(row[at] is None for row in pool)]
    return sorted(KINDS[run.pool.pooler.kind].uncounted & set(POOL_COLUMNS)) if run.pool else []


def tables(run: Run, upto: Place, detail: Detail | None = None) -> dict[str, Table]:
    """Return the observations up to a place in the run's events as `{columns, rows}` by kind, without empty kinds."""
    detail = detail or Detail()
    counts = dict(detail.within(run.observations.order_by()).values_list("kind").annotate(count=Count("pk")))
    return {
        kind: _observation_table(kind, _observation_rows(run, kind, count, upto, detail), detail.most_observations)
        for kind, count in sorted(counts.items())
    }


def checkpoints(run: Run, upto: Place) -> list[tuple[float, int, int]]:
    """Return `(t, timed, requested)` of each observation in which checkpoints began; these are never thinned."""
    timed = Q(figures__checkpoints_timed__gt=0)
    began = run.observations.filter(timed | Q(figures__checkpoints_requested__gt=0), kind=ObservationKind.SERVER)
    return [
        (observation.t, observation.figures["checkpoints_timed"], observation.figures["checkpoints_requested"])
        for observation in began
        if (observation.attempt, observation.seq) <= upto
    ]


def _observation_rows(run: Run, kind: str, count: int, upto: Place, detail: Detail | None = None) -> list[Row]:
    """Return `(t, figures)` in order of time, where there are many those of every so many seconds."""
    detail = detail or Detail()
    observations = detail.within(Observation.objects.filter(run=run, kind=kind))
    if (step := -(-count // detail.most_read)) > 1:
        observations = observations.annotate(left_out=Mod(Floor("t"), step)).filter(left_out__lt=1)
    listed = observations.values_list("attempt", "seq", "t", "figures")
    return [(t, figures) for attempt, seq, t, figures in listed if (attempt, seq) <= upto]


def _observation_table(kind: str, rows: list[Row], at_most: int) -> Table:
    followed = FOLLOWED[kind]
    drawn = thinned(rows, at_most, t=itemgetter(0), value=lambda row: followed(row[1]))
    names = _names(row[1] for row in drawn)
    return {"columns": ("t", *names), "rows": [(t, *(figures.get(name) for name in names)) for t, figures in drawn]}


def _names(figures: Iterable[Mapping[str, object]]) -> list[str]:
    """Return the names of all figures, in order of their first appearance."""
    return list(dict.fromkeys(name for one in figures for name in one))
