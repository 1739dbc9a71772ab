"""Summary lines of versions and options that no kept output has."""

import pytest

from benchmarks.engines.pgbench.output import read_output
from benchmarks.engines.pgbench.summary import effective_clients, read_summary


@pytest.mark.parametrize(
    ("line", "figures"),
    [
        ("latency average: 0.000 ms", {"latency_avg_ms": 0.0}),
        ("latency average = 1.500 ms (including failures)", {"latency_avg_ms": 1.5}),
        ("latency average = -nan ms", {"latency_avg_ms": None}),
        ("latency percentile 50 = 1.500 ms", {"latency_p50_ms": 1.5}),
        ("latency percentile 95 = 2.500 ms", {"latency_p95_ms": 2.5}),
        ("latency percentile 99 = 3.500 ms", {"latency_p99_ms": 3.5}),
        ("number of failed transactions: 0 (NaN%)", {"failed": 0, "failed_percent": None}),
        ("number of other failures: 3 (0.300%)", {"other_failures": 3, "other_failures_percent": 0.3}),
        (
            "number of transactions above the 50.0 ms latency limit: 106 (1.678 %)",
            {"latency_limit_ms": 50.0, "above_latency_limit": 106, "above_latency_limit_percent": 1.678},
        ),
        ("number of transactions skipped: 12 (1.200 %)", {"skipped": 12, "skipped_percent": 1.2}),
        ("scaling factor: 12", {"scale": 12}),
        ("zipfian cache array overflowed 3 time(s)", {}),
        ("something new = 3 ms", {}),
        ("number of clients: many", {}),
    ],
)
def test_a_summary_line_gives_its_figures(line: str, figures: dict[str, object]) -> None:
    assert read_summary([line]).figures == figures


@pytest.mark.parametrize(
    ("lines", "rates"),
    [
        (
            ["tps = 10.5 (including connections establishing)", "tps = 11.5 (excluding connections establishing)"],
            {"tps": 11.5, "tps_including_connections": 10.5},
        ),
        (["tps = 11.5 (without initial connection time)"], {"tps": 11.5}),
        (["tps = 9.5 (including reconnection times)"], {"tps": 9.5, "tps_including_connections": 9.5}),
        (["tps = -nan (without initial connection time)"], {"tps": None}),
        (["tps = inf (including connections establishing)"], {"tps": None, "tps_including_connections": None}),
    ],
)
def test_the_headline_rates_are_those_of_the_contract(lines: list[str], rates: dict[str, object]) -> None:
    assert read_summary(lines).figures == rates


def test_a_lone_script_of_9_6_under_r_is_the_run_itself() -> None:
    text = """transaction type: <builtin: select only>
number of transactions actually processed: 10/10
script statistics:
 - statement latencies in milliseconds:
         0.002  \\set aid random(1, 100000 * :scale)
         0.046  SELECT 1;
"""
    output = read_output(text)
    assert (output.summary["transactions"], output.scripts) == (10, [])
    assert [(row["script"], row["latency_ms"], row["statement"]) for row in output.statements] == [
        (1, 0.002, "\\set aid random(1, 100000 * :scale)"),
        (1, 0.046, "SELECT 1;"),
    ]


def test_scripts_of_9_6_and_of_18_read_alike() -> None:
    old = ["SQL script 1: a.sql", " - weight = 3", " - 30 transactions (75.0% of total, tps = 12.500000)"]
    new = [
        "SQL script 1: a.sql",
        " - weight: 3 (targets 75.0% of total)",
        " - 30 transactions (75.0% of total)",
        " - number of transactions actually processed: 30 (tps = 12.500000)",
    ]
    read = {"name": "a.sql", "weight": 3, "transactions": 30, "percent": 75.0, "tps": 12.5}
    assert read_summary(old).scripts == [read]
    assert read_summary(new).scripts == [read | {"target_percent": 75.0}]


def test_a_statement_that_begins_with_a_number_is_no_count() -> None:
    rows = read_summary(["statement latencies in milliseconds:", "         0.500  1 + 1;"]).statements
    assert rows == [{"script": 1, "latency_ms": 0.5, "failures": None, "retries": None, "statement": "1 + 1;"}]


def test_a_latency_of_a_statement_that_is_no_number_is_nothing() -> None:
    rows = read_summary(["statement latencies in milliseconds and failures:", "  nan  0 SELECT 1;"]).statements
    assert [(row["latency_ms"], row["failures"]) for row in rows] == [(None, 0)]


@pytest.mark.parametrize(
    ("version", "read"),
    [
        ("pgbench (15.20 (Debian 15.20-0+deb12u1))", ("15.20 (Debian 15.20-0+deb12u1)", "")),
        (
            "pgbench (18.6 (Debian 18.6-1), server 13.23 (Debian 13.23-1))",
            ("18.6 (Debian 18.6-1)", "13.23 (Debian 13.23-1)"),
        ),
        ("pgbench (14.3, server 11.2-YB-2024.2.0.0-b0)", ("14.3", "11.2-YB-2024.2.0.0-b0")),
        ("pgbench (19beta3)", ("19beta3", "")),
    ],
)
def test_the_version_line_tells_both_sides(version: str, read: tuple[str, str]) -> None:
    summary = read_summary([version])
    assert (summary.client_version, summary.server_version) == read


@pytest.mark.parametrize(
    ("figures", "busy"),
    [
        ({"tps": 100.0, "latency_avg_ms": 40.0, "latency_stddev_ms": 1.0}, 4.0),
        ({"tps": 100.0, "latency_avg_ms": 40.0}, None),  # the average is then made of the clients themselves
        ({"tps": 100.0, "latency_avg_ms": 40.0, "latency_stddev_ms": 1.0, "lag_avg_ms": 30.0}, 1.0),
        ({"tps": 100.0, "latency_avg_ms": 30.0, "latency_stddev_ms": 1.0, "average_connection_ms": 10.0}, 4.0),
        ({"tps": None, "latency_avg_ms": 30.0, "latency_stddev_ms": 1.0}, None),
        ({"tps": 100.0, "latency_avg_ms": None, "latency_stddev_ms": None}, None),
        ({}, None),
    ],
)
def test_littles_law_counts_the_clients_at_work(
    figures: dict[str, float | int | str | None], busy: float | None
) -> None:
    assert effective_clients(figures) == busy
