"""Throughput of runs over time in a few points, for lists of runs; three queries whatever the number of runs."""

from collections.abc import Iterable
from functools import reduce
from operator import or_
from uuid import UUID

from django.db.models import Avg, Case, F, FloatField, IntegerField, OuterRef, Q, Subquery, TextField, Value, When
from django.db.models.functions import Cast, Floor

from benchmarks.models import Run, Sample

POINTS = 40
READ_WHOLE = 4_000  # events of a run; of a longer one, only those about each point are read
ABOUT_A_POINT = 20


def of_runs(runs: Iterable[Run], points: int = POINTS) -> dict[UUID, list[float]]:
    """Return run id → at most `points` mean tps in order of time; a run without samples is absent.

    Of a run of many hours each mean is that of a few samples, so that its length does not matter.
    """
    last = list(_last_samples(runs))
    if not last:
        return {}
    ends = {sample.run_id: sample.t for sample in last}
    whole = Q(run__in=[sample.run_id for sample in last if sample.seq <= READ_WHOLE])
    long = (_about_points(sample, points) for sample in last if sample.seq > READ_WHOLE)
    samples = Sample.objects.filter(reduce(or_, long, whole)).order_by()
    found: dict[str, list[float]] = {}
    # The id as text: a UUID made of it for each point takes longer than all else that is done with the point.
    grouped = samples.annotate(of=Cast("run", TextField()), bucket=_bucket(ends, points)).values("of", "bucket")
    means = grouped.annotate(mean=Avg("tps")).order_by("of", "bucket")
    for run_id, _, mean in means.values_list("of", "bucket", "mean"):
        found.setdefault(run_id, []).append(mean or 0.0)
    return {UUID(run_id): points_of_run for run_id, points_of_run in found.items()}


def path(points: list[float], width: int = 96, height: int = 24) -> str:
    """Return the points as SVG polyline coordinates, from zero to the highest; empty for fewer than two points."""
    if len(points) < 2:
        return ""
    step, top = width / (len(points) - 1), max(points) or 1.0
    return " ".join(f"{at * step:.1f},{height - 1 - value / top * (height - 2):.1f}" for at, value in enumerate(points))


def _last_samples(runs: Iterable[Run]) -> Iterable[Sample]:
    """Return the last sample of each run that has any, by an index whose entries need not be counted."""
    of_run = Sample.objects.filter(run=OuterRef("pk")).order_by("-attempt", "-seq").values("pk")[:1]
    keys = Run.objects.filter(pk__in=[run.pk for run in runs]).order_by().values_list(Subquery(of_run), flat=True)
    return Sample.objects.filter(pk__in=[key for key in keys if key is not None]).order_by()


def _about_points(last: Sample, points: int) -> Q:
    """Return the condition for the samples about each point of a run's last attempt."""
    starts = (int(last.seq * point / (points - 1)) for point in range(points))
    read = [seq for start in starts for seq in range(start, start + ABOUT_A_POINT)]
    return Q(run=last.run_id, attempt=last.attempt, seq__in=read)  # ranges of seq would not be sought in the index


def _bucket(ends: dict[UUID, float], points: int) -> Cast:
    widths = [When(run=run_id, then=Value((last or 1.0) / (points - 1))) for run_id, last in ends.items()]
    return Cast(Floor(F("t") / Case(*widths, output_field=FloatField())), IntegerField())
