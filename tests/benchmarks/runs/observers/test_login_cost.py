"""What a login costs, from what a run under -C saw; on real servers: tests/bench/login.py."""

from benchmarks.runs.observers import login_cost
from pools.models import Pooler

SUMMARY = {"tps": 200.0, "average_connection_ms": 9.5}
SEEN = {"cpu_percent": 60.0, "pooler_cpu_percent": 90.0, "host_cpu_percent": 95.0, "server_here": True}


def test_processor_time_is_shared_out_over_the_logins() -> None:
    cost = login_cost.of_run(
        {"connect": True}, SUMMARY, SEEN, cores=2, pooler=Pooler(server_version="PgBouncer 1.18.0")
    )
    assert cost is not None
    assert {part.label: part.ms for part in cost.parts} == {
        "Until logged in": 9.5,
        "Client": 3.0,
        "Pooler": 4.5,
        "Server": 2.0,  # 190 % of a core, less the 150 % of both
    }
    assert ["apply the pool again" in one for one in cost.remedies] == [False, True, False]
    newer = login_cost.of_run(
        {"connect": True}, SUMMARY, SEEN, cores=2, pooler=Pooler(server_version="PgBouncer 1.26.0")
    )
    assert newer is not None
    assert not any("apply the pool again" in one for one in newer.remedies)


def test_a_run_that_kept_its_connections_tells_of_none() -> None:
    assert login_cost.of_run({"connect": False}, SUMMARY, SEEN, cores=2) is None
    assert login_cost.of_run({"connect": True}, {}, {}, cores=2) is None


def test_what_was_not_seen_is_left_out() -> None:
    cost = login_cost.of_run({"connect": True}, SUMMARY, {"cpu_percent": 60.0, "host_cpu_percent": 95.0}, cores=2)
    assert cost is not None
    assert [part.label for part in cost.parts] == ["Until logged in", "Client"]
    assert any(one.startswith("Log in to a pooler") for one in cost.remedies)
