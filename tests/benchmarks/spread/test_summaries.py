"""The summary of a whole from those of its parts."""

from benchmarks.spread.summaries import merged, statements

EAST = {
    "tps": 300.0, "transactions": 3000, "failed": 30, "failed_percent": 0.99, "latency_avg_ms": 1.0,
    "latency_stddev_ms": 0.0, "initial_connection_ms": 4.0, "clients": 4, "threads": 2, "effective_clients": 3.9,
    "scale": 10, "transaction_type": "<builtin: select only>", "latency_p95_ms": 2.0, "random_seed": 1,
}  # fmt: skip
WEST = EAST | {
    "tps": 100.0, "transactions": 1000, "failed": 10, "latency_avg_ms": 5.0, "initial_connection_ms": 9.0,
    "clients": 3, "effective_clients": 2.9, "latency_p95_ms": 20.0, "random_seed": 2,
}  # fmt: skip


def test_counts_are_added_times_weighed_and_percentiles_left_out():
    assert merged([EAST, WEST]) == {
        "tps": 400.0, "transactions": 4000, "failed": 40, "failed_percent": 0.99, "latency_avg_ms": 2.0,
        "latency_stddev_ms": 1.732, "initial_connection_ms": 9.0, "clients": 7, "threads": 4,
        "effective_clients": 6.8, "scale": 10, "transaction_type": "<builtin: select only>",
    }  # fmt: skip


def test_what_a_part_did_not_tell_is_not_told_of_the_whole():
    assert "latency_stddev_ms" not in merged([EAST, {k: v for k, v in WEST.items() if k != "latency_stddev_ms"}])
    assert "tps" not in merged([EAST, WEST | {"tps": None}])
    assert merged([]) == {}


def test_statements_are_merged_where_all_parts_ran_the_same():
    east = [{"script": 1, "statement": "SELECT 1", "latency_ms": 1.0, "failures": 1, "retries": None}]
    west = [{"script": 1, "statement": "SELECT 1", "latency_ms": 5.0, "failures": 2, "retries": None}]
    assert statements([east, west], [3.0, 1.0]) == [
        {"script": 1, "statement": "SELECT 1", "latency_ms": 2.0, "failures": 3, "retries": None}
    ]
    assert statements([east, []], [1.0, 1.0]) == []
    assert statements([], []) == []
