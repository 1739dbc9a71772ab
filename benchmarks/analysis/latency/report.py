"""What is told of a run's latencies, or of repeats taken together: percentiles, histogram, and how firm they are."""

from collections.abc import Iterable
from dataclasses import dataclass
from math import log10
from typing import Any

from benchmarks.analysis.latency.histogram import FIRM_COUNT, PERCENTILES, Bar, Histogram, merged
from benchmarks.models import LatencyHistogram, Purpose, Run, Validity

FIGURES = frozenset({f"latency_{name}_ms" for name in PERCENTILES} | {"latency_samples"})  # of a summary


@dataclass(frozen=True)
class Spread:
    """The latencies of one or more runs; `count` transactions were logged, `sampling_rate` of all.

    `percentiles_ms` are `p50 p90 p95 p99 p99_9`.
    """

    runs: int
    count: int
    sampling_rate: float
    percentiles_ms: dict[str, float]
    bars: list[Bar]

    @property
    def is_firm(self) -> bool:
        """Whether enough transactions were logged for a p99 to be relied on."""
        return self.count >= FIRM_COUNT

    @property
    def note(self) -> str:
        """What the figures rest on, in a sentence."""
        share = "" if self.sampling_rate >= 1 else f", {self.sampling_rate:.2%} of all,"
        source = f"From {self.count:,} transactions{share} that were logged"
        if self.runs > 1:
            source += f" in {self.runs} runs, counted together"
        return f"{source}." if self.is_firm else f"{source}: with fewer than {FIRM_COUNT:,} a p99 is rough."


def of_run(run: Run) -> Spread | None:
    """Of one run; None where nothing was logged."""
    return _spread(LatencyHistogram.objects.filter(run=run))


def of_runs(runs: Iterable[Run]) -> Spread | None:
    """Of several runs taken together: their histograms merged, each by the share of its transactions it counts."""
    return _spread(LatencyHistogram.objects.filter(run__in=list(runs)))


def repeats_of(run: Run) -> list[Run]:
    """The valid runs of its group that did the same on the same target, itself included."""
    same: dict[str, Any] = {
        "group": run.group,
        "cluster": run.cluster_id,
        "pool": run.pool_id,
        "external": run.external_id,
        "pooled": run.pooled,  # a pool that was removed is no pool's id any more
        "database": run.database,
    }
    runs = Run.objects.filter(**same, purpose=Purpose.LOAD, validity=Validity.VALID).order_by("number")
    return [one for one in runs if one.options == run.options]


def _spread(rows: Iterable[LatencyHistogram]) -> Spread | None:
    found = list(rows)
    if not found:
        return None
    whole = merged((row.encoded, row.stands_for) for row in found)
    logged = sum(row.count for row in found)
    return Spread(len(found), logged, logged / sum(row.stands_for for row in found), *_figures(whole))


def _figures(whole: Histogram) -> tuple[dict[str, float], list[Bar]]:
    return whole.percentiles_ms(), whole.bars()


def repeated(runs: Iterable[Run]) -> list[tuple[list[Run], Spread]]:
    """The sets of repeats that these runs belong to, each once, with their latencies taken together."""
    sets = {tuple(one.pk for one in same): same for run in runs if run.group and len(same := repeats_of(run)) > 1}
    found = ((same, of_runs(same)) for same in sets.values())
    return [(same, spread) for same, spread in found if spread and spread.runs > 1]


@dataclass(frozen=True)
class Column:
    """A bar as it is drawn in a box of 100 by 100 from the upper left corner."""

    x: float
    width: float
    y: float
    height: float
    bar: Bar


def columns(spread: Spread) -> list[Column]:
    """The bars side by side, all of the same width since their steps are of equal ratio."""
    width, most = 100 / len(spread.bars), max(bar.count for bar in spread.bars)
    heights = [100 * bar.count / most for bar in spread.bars]
    return [
        Column(round(width * at, 2), round(width, 2), round(100 - height, 2), round(height, 2), bar)
        for at, (bar, height) in enumerate(zip(spread.bars, heights, strict=True))
    ]


def marks(spread: Spread) -> dict[str, float]:
    """Where each percentile lies in that box, from the left."""
    first, last = log10(spread.bars[0].from_ms), log10(spread.bars[-1].to_ms)
    return {
        name: round(min(100.0, 100 * (log10(max(ms, 0.001)) - first) / (last - first)), 2)
        for name, ms in spread.percentiles_ms.items()
    }
