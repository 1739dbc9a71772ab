"""One clock for many hosts."""

from datetime import UTC, datetime

import pytest

from benchmarks.runs.execution.synchronized_start import Clock, most_precise


def test_the_quickest_reading_counts_and_its_middle_is_when_it_was_taken():
    clock = most_precise([(10.0, 10.4, 1010.1), (20.0, 20.1, 1020.06), (30.0, 31.0, 1030.9)])
    assert (clock.ahead_s, clock.error_s) == (pytest.approx(1000.01), pytest.approx(0.05))


def test_a_mark_is_the_same_moment_on_hosts_whose_clocks_differ():
    """Two processes read Redis at one moment; their monotonic clocks began at other times."""
    mark = datetime(2026, 1, 1, 12, 0, 10, tzinfo=UTC)
    noon = mark.timestamp() - 10
    east, west = Clock(noon - 500.0, 0.001), Clock(noon - 90_000.0, 0.001)
    assert east.monotonic(mark) - 500.0 == pytest.approx(10.0)
    assert west.monotonic(mark) - 90_000.0 == pytest.approx(10.0)
    assert east.common(510.0) == mark
