"""Throughput of runs over time in a few points, for lists of runs; two queries whatever the number of runs."""

from collections.abc import Iterable
from uuid import UUID

from django.db.models import Avg, Case, F, FloatField, IntegerField, Max, Value, When
from django.db.models.functions import Cast, Floor

from benchmarks.models import Run, Sample

POINTS = 40


def of_runs(runs: Iterable[Run], points: int = POINTS) -> dict[UUID, list[float]]:
    """Return run id → at most `points` mean tps in order of time; a run without samples is absent."""
    samples = Sample.objects.filter(run__in=[run.pk for run in runs]).order_by()
    ends = dict(samples.values_list("run").annotate(last=Max("t")))
    if not ends:
        return {}
    found: dict[UUID, list[float]] = {}
    means = samples.annotate(bucket=_bucket(ends, points)).values("run", "bucket").annotate(mean=Avg("tps"))
    for run_id, _, mean in means.order_by("run", "bucket").values_list("run", "bucket", "mean"):
        found.setdefault(run_id, []).append(mean or 0.0)
    return found


def path(points: list[float], width: int = 96, height: int = 24) -> str:
    """Return the points as SVG polyline coordinates, from zero to the highest; empty for fewer than two points."""
    if len(points) < 2:
        return ""
    step, top = width / (len(points) - 1), max(points) or 1.0
    return " ".join(f"{at * step:.1f},{height - 1 - value / top * (height - 2):.1f}" for at, value in enumerate(points))


def _bucket(ends: dict[UUID, float], points: int) -> Cast:
    widths = [When(run=run_id, then=Value((last or 1.0) / (points - 1))) for run_id, last in ends.items()]
    return Cast(Floor(F("t") / Case(*widths, output_field=FloatField())), IntegerField())
