"""Follows the log of a load and stores its histogram, percentiles, and the intervals that late lines changed."""

from collections.abc import Mapping, Sequence
from typing import cast

from django.db import transaction

from benchmarks.analysis.latency import sampling
from benchmarks.analysis.latency.histogram import Histogram, merged
from benchmarks.analysis.latency.intervals import Figures, Intervals
from benchmarks.analysis.latency.log_follower import Follower
from benchmarks.engines import engine
from benchmarks.models import LatencyHistogram, Run, Sample
from benchmarks.models.metrics import with_enough_behind
from benchmarks.models.options import RunOptions
from benchmarks.models.summaries import Summary
from benchmarks.processes.machines import Home

SERVICE = ("p50", "p95", "p99")  # percentiles kept of the time without the wait for the schedule


def planned(run: Run, home: Home) -> tuple[RunOptions, Follower | None]:
    """Return the options to start the load with, share to log included, and the follower of its log (None: no log).

    Where the log can't be followed, or not be freed once it was read, nothing is logged, since a long load would fill
    the disk; the follower then reads nothing, and its `broken` says why.
    """
    return followed(run.engine, sampling.options_of(run), home)


def followed(engine_name: str, options: RunOptions, home: Home) -> tuple[RunOptions, Follower | None]:
    """Return the options of one process of a load, and the follower of its log, as `planned` does."""
    files = engine(engine_name).log_files(options)
    if files is None:
        return options, None
    follower = Follower(files, home.follow(files.pattern))
    if follower.broken:
        options = {**options, "percentiles": False, "sampling_rate": None}
    return options, follower


def keep(run: Run, follower: Follower, seqs: list[int]) -> dict[str, float]:
    """Store the histogram as the holder of the attempt, and return the figures for the summary.

    `seqs` are the numbers of the samples. Raises `Fenced`. Stores nothing of a log that was read in part, since its
    percentiles would mislead.
    """
    intervals = follower.intervals
    if follower.broken or not intervals.whole.count:
        return {}
    histogram = {
        "encoded": intervals.whole.encoded(),
        "count": intervals.whole.count,
        "sampling_rate": follower.files.sampling_rate,
    }
    with transaction.atomic():
        run.write()
        LatencyHistogram.objects.update_or_create(run=run, defaults=histogram)
        _correct(run, seqs, intervals.changed())
    return figures_of(intervals, scheduled=follower.files.scheduled)


def correct(run: Run, seqs: Sequence[int], figures: Mapping[int, Figures]) -> None:
    """Write the percentiles of intervals, by place, that became known after their samples were; raises `Fenced`."""
    with transaction.atomic():
        run.write()
        _correct(run, seqs, figures)


def correct_samples(run: Run, figures: Mapping[int, Figures]) -> None:
    """Write percentiles that became known after their samples were, by the samples' numbers; raises `Fenced`."""
    correct(run, [*figures], dict(enumerate(figures.values())))


def keep_merged(run: Run, kept: Sequence[LatencyHistogram]) -> dict[str, float]:
    """Store the latencies of all parts or stages of a run as its own, and return the figures for the summary.

    Each weighs as much as its transactions, whatever share of them was logged.
    """
    whole = merged((one.encoded, one.stands_for) for one in kept)
    logged = sum(one.count for one in kept)
    values = {
        "encoded": whole.encoded(),
        "count": logged,
        "sampling_rate": logged / sum(one.stands_for for one in kept),
    }
    LatencyHistogram.objects.update_or_create(run=run, defaults=values)
    percentiles = {f"latency_{name}_ms": ms for name, ms in whole.percentiles_ms(logged).items()}
    return percentiles | {"latency_samples": logged}


def _correct(run: Run, seqs: Sequence[int], figures: Mapping[int, Figures]) -> None:
    for place, values in figures.items():
        if values:
            Sample.objects.filter(run=run, attempt=run.attempt, seq=seqs[place]).update(**values)


def keep_printed(run: Run, latencies: Sequence[tuple[float, int]]) -> dict[str, float]:
    """Store the histogram `(ms, count)` that a program printed itself, and return the figures for the summary."""
    whole = Histogram()
    whole.add_counted(latencies)
    if not whole.count:
        return {}
    values = {"encoded": whole.encoded(), "count": whole.count, "sampling_rate": 1.0}
    LatencyHistogram.objects.update_or_create(run=run, defaults=values)
    return _percentiles_of(whole)


def as_shown(summary: Summary) -> Summary:
    """Return a summary without the percentiles, printed ones too, that too few transactions are behind."""
    behind = summary.get("latency_samples") or summary.get("transactions") or 0
    return cast("Summary", with_enough_behind(summary, behind))


def _percentiles_of(whole: Histogram) -> dict[str, float]:
    figures: dict[str, float] = {f"latency_{name}_ms": ms for name, ms in whole.percentiles_ms().items()}
    return figures | {"latency_samples": whole.count}


def figures_of(intervals: Intervals, *, scheduled: bool) -> dict[str, float]:
    """Return `latency_p50_ms latency_p90_ms … latency_samples`; under a rate `service_p50_ms …` too."""
    figures = _percentiles_of(intervals.whole)
    if scheduled:
        service = intervals.service.percentiles_ms()
        figures |= {f"service_{name}_ms": service[name] for name in SERVICE if name in service}
    return figures
