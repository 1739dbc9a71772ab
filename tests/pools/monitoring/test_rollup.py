"""Looks folded into minutes."""

from pools.monitoring import rollup
from pools.monitoring.rollup import Snapshot
from pools.poolers.console_sample import Counters, PoolFigures

MINUTE = 29_000_000
START = MINUTE * 60


def snapshot(at_s: float, queries: int, *, waiting: int = 0, query_us: int = 0) -> Snapshot:
    """The pool `web` so long after the minute began."""
    return Snapshot(
        START + at_s,
        {"web": PoolFigures(cl_waiting=waiting)},
        {"web": Counters(queries=queries, transactions=queries, query_us=query_us)},
    )


def test_a_minute_has_the_average_and_the_maximum_of_its_looks():
    snapshots = [snapshot(-10, 0), snapshot(0, 100, waiting=4), snapshot(10, 400, waiting=8), snapshot(60, 9999)]
    pools, whole, count = rollup.aggregate_minute(snapshots, ["web"], MINUTE)
    web = pools["web"]
    assert (web["cl_waiting_avg"], web["cl_waiting_max"]) == (6.0, 8)
    assert (web["queries_per_s_avg"], web["queries_per_s_max"]) == (20.0, 30.0)
    assert whole == web
    assert count == 2


def test_times_are_weighted_by_what_ended():
    snapshots = [snapshot(-10, 0), snapshot(0, 100, query_us=100_000), snapshot(10, 400, query_us=1_000_000)]
    web = rollup.aggregate_minute(snapshots, ["web"], MINUTE)[0]["web"]
    assert (web["query_ms_avg"], web["query_ms_max"]) == (2.5, 3.0)


def test_the_first_look_of_all_has_no_rates_yet():
    web = rollup.aggregate_minute([snapshot(3, 100, waiting=2)], ["web"], MINUTE)[0]["web"]
    assert (web["cl_waiting_avg"], web["queries_per_s_avg"], web["query_ms_max"]) == (2.0, None, None)


def test_a_restart_within_the_minute_leaves_its_interval_out():
    snapshots = [snapshot(0, 1000), snapshot(10, 50), snapshot(20, 150)]
    web = rollup.aggregate_minute(snapshots, ["web"], MINUTE)[0]["web"]
    assert (web["queries_per_s_avg"], web["queries_per_s_max"]) == (10.0, 10.0)


def test_a_pool_that_nobody_used_yet_is_idle_and_one_that_comes_did_all_since_the_last_look():
    empty = Snapshot(START, {}, {})
    pools, whole, _ = rollup.aggregate_minute([empty, snapshot(10, 40)], ["web", "never"], MINUTE)
    assert pools["web"]["queries_per_s_avg"] == 4.0
    assert (pools["never"]["queries_per_s_avg"], pools["never"]["cl_active_max"]) == (0.0, 0)
    assert whole["queries_per_s_max"] == 4.0


def test_the_course_of_a_pool_and_of_all_pools_goes_from_look_to_look():
    snapshots = [snapshot(0, 100), snapshot(10, 400, waiting=3), snapshot(20, 500)]
    seen = [(at - START, one["queries_per_s"], one["cl_waiting"]) for at, one in rollup.time_series(snapshots, "web")]
    assert seen == [(10, 30.0, 3), (20, 10.0, 0)]
    assert rollup.time_series(snapshots, None) == rollup.time_series(snapshots, "web")


def test_a_kind_that_does_not_count_has_no_rates():
    snapshots = [Snapshot(START + at_s, {"web": PoolFigures(cl_active=2)}, None) for at_s in (0, 10)]
    web = rollup.aggregate_minute(snapshots, ["web"], MINUTE)[0]["web"]
    assert (web["cl_active_avg"], web["queries_per_s_avg"]) == (2.0, None)


def test_a_minute_without_a_look_is_none():
    assert rollup.aggregate_minute([snapshot(-5, 1), snapshot(60, 2)], ["web"], MINUTE)[2] == 0
