"""Report on the latencies of a run, or of repeats merged: percentiles, histogram, and how reliable they are."""

from collections.abc import Iterable
from dataclasses import dataclass
from math import log10

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from benchmarks.analysis.latency.histogram import FIRM_COUNT, PERCENTILES, Bar, merged
from benchmarks.models import LatencyHistogram, Purpose, Run, Validity

FIGURES = frozenset({f"latency_{name}_ms" for name in PERCENTILES} | {"latency_samples"})  # keys of a run's summary


@dataclass(frozen=True)
class Spread:
    """The latencies of one or more runs: `count` transactions were logged, the share `sampling_rate` of all.

    `percentiles_ms` are `p50 p90 p95 p99 p99_9`, as far as enough transactions are behind each.
    """

    runs: int
    count: int
    sampling_rate: float
    percentiles_ms: dict[str, float]
    bars: list[Bar]

    @property
    def listed(self) -> dict[str, float | None]:
        """All percentiles by name, None for one that is withheld: the columns of a table of several."""
        return dict.fromkeys(PERCENTILES) | self.percentiles_ms

    @property
    def is_firm(self) -> bool:
        """True if enough transactions were logged for a reliable p99."""
        return self.count >= FIRM_COUNT

    @property
    def note(self) -> str:
        """The number of transactions behind the figures, and a warning where they are few."""
        sentences = [self._source()]
        if withheld := [name.replace("_", ".") for name in PERCENTILES if name not in self.percentiles_ms]:
            text = _("Too few for %(names)s: at least ten transactions must be expected above a percentile.")
            sentences.append(text % {"names": ", ".join(withheld)})
        elif not self.is_firm:
            sentences.append(self._doubt())
        return " ".join(sentences)

    def _source(self) -> str:
        numbers = {"count": f"{self.count:,}", "share": f"{self.sampling_rate:.2%}", "runs": self.runs}
        sampled, several = self.sampling_rate < 1, self.runs > 1
        if sampled and several:
            text = ngettext(
                "From %(count)s logged transaction (%(share)s of all) of %(runs)s runs, merged.",
                "From %(count)s logged transactions (%(share)s of all) of %(runs)s runs, merged.",
                self.count,
            )
        elif several:
            text = ngettext(
                "From %(count)s logged transaction of %(runs)s runs, merged.",
                "From %(count)s logged transactions of %(runs)s runs, merged.",
                self.count,
            )
        elif sampled:
            text = ngettext(
                "From %(count)s logged transaction (%(share)s of all).",
                "From %(count)s logged transactions (%(share)s of all).",
                self.count,
            )
        else:
            text = ngettext("From %(count)s logged transaction.", "From %(count)s logged transactions.", self.count)
        return text % numbers

    def _doubt(self) -> str:
        return _("A p99 from fewer than %(count)s transactions is rough.") % {"count": f"{FIRM_COUNT:,}"}


def of_run(run: Run) -> Spread | None:
    """Return the latencies of one run; None where nothing was logged."""
    return _spread(LatencyHistogram.objects.filter(run=run))


def of_runs(runs: Iterable[Run]) -> Spread | None:
    """Merge the latencies of several runs, each weighted by the share of its transactions that was logged."""
    return _spread(LatencyHistogram.objects.filter(run__in=list(runs)))


def repeats_of(run: Run) -> list[Run]:
    """Return the valid runs of its group with the same options and target, the run included."""
    same: dict[str, object] = {
        "group": run.group,
        "cluster": run.cluster_id,
        "pool": run.pool_id,
        "external": run.external_id,
        "pooled": run.pooled,  # a run whose pool was removed has no pool id
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
    shares = whole.percentiles_ms(logged)
    return Spread(len(found), logged, logged / sum(row.stands_for for row in found), shares, whole.bars())


def repeated(runs: Iterable[Run]) -> list[tuple[list[Run], Spread]]:
    """Return the sets of repeats that these runs belong to, each once, with their merged latencies."""
    sets = {tuple(one.pk for one in same): same for run in runs if run.group and len(same := repeats_of(run)) > 1}
    found = ((same, of_runs(same)) for same in sets.values())
    return [(same, spread) for same, spread in found if spread and spread.runs > 1]


@dataclass(frozen=True)
class Column:
    """A bar in a box of 100 by 100 whose origin is the upper left corner."""

    x: float
    width: float
    y: float
    height: float
    bar: Bar


def columns(spread: Spread) -> list[Column]:
    """Lay the bars out side by side, all of one width, since their steps have equal ratios."""
    width, most = 100 / len(spread.bars), max(bar.count for bar in spread.bars)
    heights = [100 * bar.count / most for bar in spread.bars]
    return [
        Column(round(width * at, 2), round(width, 2), round(100 - height, 2), round(height, 2), bar)
        for at, (bar, height) in enumerate(zip(spread.bars, heights, strict=True))
    ]


def marks(spread: Spread) -> dict[str, float]:
    """Return the distance of each percentile from the left side of that box."""
    first, last = log10(spread.bars[0].from_ms), log10(spread.bars[-1].to_ms)
    return {
        name: round(min(100.0, 100 * (log10(max(ms, 0.001)) - first) / (last - first)), 2)
        for name, ms in spread.percentiles_ms.items()
    }
