"""Whether a load is to end early, since a threshold has been missed for as long as it says; pure.

A threshold with `abort_after_s` is compared with each progress interval as it comes. An interval in which nothing was
done misses each of them; one whose figure is unknown, such as a percentile of too few transactions, meets them.
"""

from collections.abc import Callable, Sequence

from django.utils.translation import gettext as _

from benchmarks.engines.base import Progress
from benchmarks.models.thresholds import Threshold, ThresholdResult, judged

Figure = Callable[[Progress, float], float | None]


def _failed_percent(sample: Progress, length_s: float) -> float | None:
    done = (sample.tps or 0.0) * length_s
    failed = sample.failed or 0
    return 100 * failed / (done + failed) if done + failed else None


FIGURES: dict[str, Figure] = {
    "tps": lambda sample, _length_s: sample.tps,
    "latency_avg_ms": lambda sample, _length_s: sample.latency_ms,
    "latency_p50_ms": lambda sample, _length_s: sample.latency_p50_ms,
    "latency_p95_ms": lambda sample, _length_s: sample.latency_p95_ms,
    "latency_p99_ms": lambda sample, _length_s: sample.latency_p99_ms,
    "lag_avg_ms": lambda sample, _length_s: sample.lag_ms,
    "failed_percent": _failed_percent,
}


def why(thresholds: Sequence[Threshold], samples: Sequence[Progress]) -> str:
    """Return which threshold the latest intervals have missed for too long, as a sentence; empty for none."""
    reasons = (_why(one, one["abort_after_s"], samples) for one in thresholds if "abort_after_s" in one)
    return next(filter(None, reasons), "")


def _why(threshold: Threshold, allowed_s: float, samples: Sequence[Progress]) -> str:
    missed_s, latest = 0.0, None
    for at in range(len(samples) - 1, -1, -1):
        length_s = samples[at].t - (samples[at - 1].t if at else 0.0)
        result = _result(threshold, samples[at], length_s)
        if result.passed:
            return ""
        latest, missed_s = latest or result, missed_s + length_s
        if missed_s >= allowed_s:
            return _sentence(latest, missed_s, samples[-1].t)
    return ""


def _result(threshold: Threshold, sample: Progress, length_s: float) -> ThresholdResult:
    """Return the result of an interval; without a figure it has passed, unless nothing at all was done in it."""
    value = FIGURES[threshold["metric"]](sample, length_s)
    found = judged(threshold, value)
    is_idle = sample.tps == 0 and not sample.failed
    return found if value is not None else found.of_unknown(passed=not is_idle)


def _sentence(latest: ThresholdResult, missed_s: float, t: float) -> str:
    text = _(
        "ended early at %(t)s s, as its threshold asks: missed for %(missed)s s (%(threshold)s); figures are those "
        "until then"
    )
    return text % {"t": f"{t:,.0f}", "missed": f"{missed_s:,.0f}", "threshold": latest.sentence}
