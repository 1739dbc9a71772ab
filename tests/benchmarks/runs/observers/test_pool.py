"""A pooler's figures from its console's answer."""

from benchmarks.runs.observers.pool import figures
from pools.monitoring.rates import Rates
from pools.monitoring.sampler import ConsoleSnapshot
from pools.poolers import KINDS
from pools.poolers.console_sample import PoolFigures

RATES = Rates(
    queries_per_s=70.0,
    transactions_per_s=10.0,
    received_bytes_per_s=1.0,
    sent_bytes_per_s=1.0,
    query_ms=1.0,
    transaction_ms=8.12345678,
    wait_ms=2.0,
)


def test_a_lone_pool_is_its_pooler():
    observe = ConsoleSnapshot(at=1.0, figures={"orders": PoolFigures(cl_active=3)}, rates={"orders": RATES})
    assert figures(observe, "orders") == {"wait_ms": 2.0, "service_ms": 6.1235, "transactions_per_s": 10.0}


def test_a_pool_beside_others_is_told_with_the_whole_pooler():
    observe = ConsoleSnapshot(
        figures={"orders": PoolFigures(cl_active=3, maxwait_ms=5), "shop": PoolFigures(2, 1, 4, 0, 0, 90)}
    )
    assert figures(observe, "orders") == {
        "wait_ms": None,
        "service_ms": None,
        "transactions_per_s": None,
        "all_cl_active": 5,
        "all_cl_waiting": 1,
        "all_sv_active": 4,
        "all_maxwait_ms": 90,
    }


def test_what_pgpool_does_not_count_is_unknown_not_none():
    observe = ConsoleSnapshot(figures={"shop": PoolFigures(cl_active=3), "other": PoolFigures(cl_active=2)})
    assert figures(observe, "shop", KINDS["pgpool"].uncounted) == {
        "wait_ms": None,
        "service_ms": None,
        "transactions_per_s": None,
        "all_cl_active": 5,
        "all_cl_waiting": None,
        "all_sv_active": 0,
        "all_maxwait_ms": None,
    }
