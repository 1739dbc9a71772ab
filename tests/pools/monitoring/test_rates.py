"""Rates from counters: differences over time, no rate where a pooler was started anew."""

import pytest

from pools.monitoring import rates
from pools.monitoring.rates import Rates
from pools.poolers.console_sample import Counters, PoolFigures

BEFORE = Counters(100, 50, 1000, 2000, 10_000, 20_000, 5_000)
AFTER = Counters(300, 100, 3000, 8000, 410_000, 220_000, 55_000)
RATES = Rates(
    queries_per_s=100.0,
    transactions_per_s=25.0,
    received_bytes_per_s=1000.0,
    sent_bytes_per_s=3000.0,
    query_ms=2.0,
    transaction_ms=4.0,
    wait_ms=1.0,
)
IDLE = Rates(0.0, 0.0, 0.0, 0.0, None, None, None)


def test_a_rate_is_the_difference_over_the_time_between():
    assert rates.between(BEFORE, AFTER, 2.0) == RATES


def test_where_nothing_ended_there_is_no_average_time():
    assert rates.between(AFTER, AFTER, 1.0) == IDLE


@pytest.mark.parametrize("name", list(Counters.__dataclass_fields__))
def test_a_counter_that_shrank_means_a_restart_and_no_rate(name):
    smaller = Counters(**{field: getattr(AFTER, field) - (field == name) for field in Counters.__dataclass_fields__})
    assert rates.between(AFTER, smaller, 1.0) is None


@pytest.mark.parametrize("elapsed_s", [0.0, -1.0])
def test_without_time_between_there_is_no_rate(elapsed_s):
    assert rates.between(BEFORE, AFTER, elapsed_s) is None


def test_a_reading_has_every_figure():
    figures = PoolFigures(cl_active=3, cl_waiting=1, sv_active=2, sv_idle=4, sv_used=5, maxwait_ms=70)
    assert rates.reading(figures, None) == {
        "cl_active": 3,
        "cl_waiting": 1,
        "sv_active": 2,
        "sv_idle": 4,
        "sv_used": 5,
        "maxwait_ms": 70,
        **dict.fromkeys(("queries_per_s", "transactions_per_s", "received_bytes_per_s", "sent_bytes_per_s")),
        **dict.fromkeys(("query_ms", "transaction_ms", "wait_ms")),
    }
    assert tuple(rates.reading(figures, RATES)) == rates.FIGURES


def test_a_whole_pooler_sums_its_pools_and_weights_their_times():
    busy = rates.reading(PoolFigures(cl_active=3, maxwait_ms=70), RATES)
    slow = rates.reading(PoolFigures(cl_active=1, maxwait_ms=90), Rates(300.0, 75.0, 1.0, 2.0, 6.0, 8.0, 2.0))
    new = rates.reading(PoolFigures(sv_idle=1), None)
    whole = rates.total([busy, slow, new])
    assert (whole["cl_active"], whole["sv_idle"], whole["maxwait_ms"]) == (4, 1, 90)
    assert (whole["queries_per_s"], whole["received_bytes_per_s"]) == (400.0, 1001.0)
    assert (whole["query_ms"], whole["transaction_ms"], whole["wait_ms"]) == (5.0, 7.0, 1.75)


def test_a_pooler_without_pools_is_idle():
    assert rates.total([]) == {name: 0 if name in rates.GAUGES else None for name in rates.FIGURES}
