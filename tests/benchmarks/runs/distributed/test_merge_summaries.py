"""The summary of a whole from those of its parts."""

from benchmarks.runs.distributed.merge_summaries import merged, statements

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


def test_errors_are_counted_by_their_kinds():
    east = {"transactions": 10, "errors": {"timeout": 2, "HTTP 500": 1}}
    west = {"transactions": 10, "errors": {"HTTP 500": 4}}
    assert merged([east, west])["errors"] == {"HTTP 500": 5, "timeout": 2}
    assert merged([east | {"errors": {}}, west | {"errors": {}}])["errors"] == {}


def test_counts_of_every_program_are_added_though_all_parts_say_the_same():
    part = {
        "transactions": 500, "reads": 7000, "writes": 2000, "other_queries": 1000, "queries": 10000,
        "queries_per_second": 900.5, "reconnects": 0, "latency_sum_ms": 11.5, "elapsed_s": 6.01,
        "bytes": 4096, "megabytes_per_second": 1.5,
    }  # fmt: skip
    assert merged([part, part | {"elapsed_s": 6.02}]) == {
        "transactions": 1000, "reads": 14000, "writes": 4000, "other_queries": 2000, "queries": 20000,
        "queries_per_second": 1801.0, "reconnects": 0, "latency_sum_ms": 23.0, "elapsed_s": 6.02,
        "bytes": 8192, "megabytes_per_second": 3.0,
    }  # fmt: skip


def test_the_rate_of_the_whole_is_that_of_all_parts():
    part = {"transactions": 500, "rate": 50}
    assert merged([part, part])["rate"] == 100


def test_statements_are_merged_where_all_parts_ran_the_same():
    east = [{"script": 1, "statement": "SELECT 1", "latency_ms": 1.0, "failures": 1, "retries": None}]
    west = [{"script": 1, "statement": "SELECT 1", "latency_ms": 5.0, "failures": 2, "retries": None}]
    assert statements([east, west], [3.0, 1.0]) == [
        {"script": 1, "statement": "SELECT 1", "latency_ms": 2.0, "failures": 3, "retries": None}
    ]
    assert statements([east, []], [1.0, 1.0]) == []
    assert statements([], []) == []
