"""Each latency belongs to the interval in which its transaction ended, whenever its line arrives."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.analysis.latency import intervals as module
from benchmarks.analysis.latency.intervals import Intervals
from benchmarks.engines.log_files import LoggedTransaction

pytestmark = pytest.mark.usefixtures("few_are_enough")


SECOND = 1_000_000


def figures(ms: float) -> dict[str, float]:
    return {"latency_p50_ms": ms, "latency_p95_ms": ms, "latency_p99_ms": ms}


def test_an_interval_has_the_percentiles_of_its_own_transactions():
    found = Intervals()
    found.add([LoggedTransaction(at_us, 10 * at_us) for at_us in range(1, 101)])
    assert found.end(50) == {"latency_p50_ms": 0.25, "latency_p95_ms": 0.48, "latency_p99_ms": 0.5}
    assert found.end(100) == {"latency_p50_ms": 0.75, "latency_p95_ms": 0.98, "latency_p99_ms": 1.0}
    assert found.end(150) == {}
    assert found.changed() == {}


def test_a_late_line_changes_the_interval_it_belongs_to():
    found = Intervals()
    assert found.end(1 * SECOND) == {}
    found.add([LoggedTransaction(2 * SECOND, 7_000)])
    assert found.end(2 * SECOND) == figures(7.0)
    found.add([LoggedTransaction(1 * SECOND, 9_000), LoggedTransaction(3 * SECOND, 1)])
    assert found.changed() == {0: figures(9.0)}
    assert found.whole.count == 3


def test_an_interval_whose_log_is_not_complete_has_no_percentiles_until_its_lines_are_read():
    found = Intervals()
    found.add([LoggedTransaction(1, 12_000)])  # one line of a hundred: the rest is in the program's buffer
    assert found.end(SECOND, expected=100) == {}
    assert not found.is_complete
    found.add([LoggedTransaction(2, 1_000)] * 99)
    found.add([LoggedTransaction(SECOND + 1, 2_000)] * 95)
    assert found.end(2 * SECOND, expected=100) == figures(2.0)
    assert found.is_complete
    assert found.changed() == {0: figures(1.0)}


def test_what_was_withheld_is_known_in_the_end_also_where_no_line_came_late():
    found = Intervals()
    found.add([LoggedTransaction(1, 1_000)] * 50)
    assert found.end(SECOND, expected=100) == {}
    assert found.changed() == {0: figures(1.0)}


def test_under_a_rate_the_service_time_leaves_the_wait_out():
    found = Intervals()
    found.add([LoggedTransaction(1, 5_000, 4_000)] * 10, scheduled=True)
    assert (found.whole.percentiles_ms()["p50"], found.service.percentiles_ms()["p50"]) == (5.003, 1.0)


def test_a_clock_set_back_loses_no_latency():
    found = Intervals()
    found.add([LoggedTransaction(5, 1_000)])
    assert found.end(10) == figures(1.0)
    assert found.end(4) == {}
    found.add([LoggedTransaction(3, 2_000)])
    assert found.whole.count == 2


def test_what_is_held_is_bounded_and_the_histogram_has_it_all(monkeypatch):
    monkeypatch.setattr(module, "KEPT", 100)
    found = Intervals()
    for second in range(1, 21):
        found.add([LoggedTransaction(second, 1_000)] * 30)
        assert found.end(second) == figures(1.0)
        assert found._held <= 130
    found.add([LoggedTransaction(1, 9_000)])  # too late for its interval
    assert found.changed() == {}
    assert found.whole.count == 601


@given(st.lists(st.tuples(st.integers(1, 50), st.integers(1, 9)), max_size=60), st.permutations(range(5)))
def test_the_order_of_arrival_does_not_matter_in_the_end(logged: list[tuple[int, int]], order: list[int]):
    at_once, piecemeal = Intervals(), Intervals()
    at_once.add([LoggedTransaction(*one) for one in logged])
    expected = {at: at_once.end(10 * (at + 1)) for at in range(5)}
    known = {at: piecemeal.end(10 * (at + 1)) for at in range(5)}
    for part in order:
        piecemeal.add([LoggedTransaction(*one) for one in logged[part::5]])
    assert known | piecemeal.changed() == expected
    assert piecemeal.whole.count == len(logged)
