"""A threshold that was missed for as long as it allows ends the run, and nothing shorter does."""

from typing import Any

import pytest

from benchmarks.engines.base import Progress
from benchmarks.models.thresholds import Threshold
from benchmarks.runs.execution import early_end

P95: list[Threshold] = [{"metric": "latency_p95_ms", "at_most": 20.0, "abort_after_s": 3.0}]


def intervals(*p95_ms: float | None, every_s: float = 1.0, **fields: Any) -> list[Progress]:
    """Intervals of a load with these percentiles."""
    figures = {"tps": 100.0, "latency_ms": 5.0, "stddev_ms": 1.0} | fields
    return [Progress(t=every_s * (at + 1), latency_p95_ms=one, **figures) for at, one in enumerate(p95_ms)]


def test_the_sentence_tells_when_why_and_for_how_long() -> None:
    assert early_end.why(P95, intervals(5, 5, 30, 31, 32.5)) == (
        "ended early at 5 s, as its threshold asks: missed for 3 s (Latency, 95th percentile 32.5 ms, at most 20 ms); "
        "figures are those until then"
    )


@pytest.mark.parametrize(
    "samples",
    [
        [],
        intervals(30, 30),  # too short
        intervals(30, 30, 20, 30, 30),  # a break
        intervals(30, 30, 30, 10),  # over again
        intervals(30, None, 30, 30),  # unknown
    ],
)
def test_nothing_shorter_ends_it(samples: list[Progress]) -> None:
    assert early_end.why(P95, samples) == ""


def test_long_intervals_count_by_their_length() -> None:
    assert early_end.why(P95, intervals(30, every_s=5.0))
    assert not early_end.why(P95, intervals(30, every_s=2.5))


def test_a_threshold_without_it_ends_nothing() -> None:
    assert early_end.why([{"metric": "latency_p95_ms", "at_most": 20.0}], intervals(*[99.0] * 60)) == ""


def test_a_stall_misses_every_threshold() -> None:
    assert "was not measured" in early_end.why(P95, intervals(None, None, None, tps=0.0))


@pytest.mark.parametrize(
    ("threshold", "fields", "words"),
    [
        ({"metric": "tps", "at_least": 150.0}, {}, "Throughput 100 tps, at least 150 tps"),
        ({"metric": "latency_avg_ms", "at_most": 4.0}, {}, "Latency, average 5 ms, at most 4 ms"),
        ({"metric": "failed_percent", "at_most": 10.0}, {"failed": 25}, "Failed transactions 20 %, at most 10 %"),
        ({"metric": "failed_percent", "at_most": 10.0}, {"failed": 9, "tps": 0.0}, "Failed transactions 100 %"),
        ({"metric": "lag_avg_ms", "at_most": 1.0}, {"lag_ms": 2.0}, "2 ms, at most 1 ms"),
    ],
)
def test_each_figure_of_an_interval_can_end_it(threshold: Threshold, fields: dict[str, Any], words: str) -> None:
    limits: list[Threshold] = [{**threshold, "abort_after_s": 2.0}]
    assert words in early_end.why(limits, intervals(1.0, 1.0, **fields))
