"""Outputs of pgbench 9.5 to 18 found in public places, each with the facts a correct parser reads from it."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from benchmarks.engines.pgbench.lines import InitProgress, Progress
from benchmarks.engines.pgbench.output import Output, read_output

CORPUS = Path(__file__).resolve().parents[4].parent / "shared" / "corpus" / "pgbench"
TEXTS = sorted(CORPUS.glob("*.txt"))
NO_CORPUS = "the corpus of public outputs is not beside this checkout (../shared/corpus/pgbench)"

# The corpus's names for what the summary holds under the contract's.
IN_SUMMARY = {
    "transaction_type": "transaction_type",
    "scaling_factor": "scale",
    "query_mode": "query_mode",
    "partition_method": "partition_method",
    "partitions": "partitions",
    "clients": "clients",
    "threads": "threads",
    "max_tries": "max_tries",
    "duration_s": "duration_s",
    "transactions_per_client": "transactions_per_client",
    "transactions_processed": "transactions",
    "transactions_expected": "transactions_expected",
    "failed_transactions": "failed",
    "failed_pct": "failed_percent",
    "serialization_failures": "serialization_failures",
    "deadlock_failures": "deadlock_failures",
    "retried_transactions": "retried",
    "retried_pct": "retried_percent",
    "total_retries": "retries",
    "skipped_transactions": "skipped",
    "skipped_pct": "skipped_percent",
    "latency_limit_ms": "latency_limit_ms",
    "above_latency_limit": "above_latency_limit",
    "above_latency_limit_of": "above_latency_limit_of",
    "above_latency_limit_pct": "above_latency_limit_percent",
    "latency_average_ms": "latency_avg_ms",
    "latency_stddev_ms": "latency_stddev_ms",
    "schedule_lag_avg_ms": "lag_avg_ms",
    "schedule_lag_max_ms": "lag_max_ms",
    "initial_connection_time_ms": "initial_connection_ms",
    "average_connection_time_ms": "average_connection_ms",
    "random_seed": "random_seed",
}
UNNAMED_IN_THE_CORPUS = {
    "tps",  # under `tps` with the words in brackets
    "tps_including_connections",
    "effective_clients",
    "serialization_failures_percent",
    "deadlock_failures_percent",
}
IN_SCRIPT = {"failed": "failed", "failed_pct": "failed_percent", "name": "name", "weight": "weight", "tps": "tps"} | {
    "transactions": "transactions",
    "latency_average_ms": "latency_avg_ms",
    "latency_stddev_ms": "latency_stddev_ms",
}


def progress_facts(sample: Progress) -> dict[str, Any]:
    printed = {"time_s": sample.t, "tps": sample.tps, "lat_ms": sample.latency_ms, "stddev_ms": sample.stddev_ms}
    counts = {name: getattr(sample, name) for name in ("failed", "lag_ms", "skipped", "retried", "retries")}
    return printed | {name: value for name, value in counts.items() if value is not None}


def init_facts(line: InitProgress) -> dict[str, Any]:
    return {
        "done": line.done,
        "total": line.total,
        "pct": line.percent,
        "elapsed_s": line.elapsed_s,
        "remaining_s": line.remaining_s,
    }


def statement_facts(statement: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in statement.items() if key != "script" and value is not None}


def script_facts(output: Output) -> list[dict[str, Any]]:
    facts = []
    for number, script in enumerate(output.scripts, start=1):
        rows = sum(statement["script"] == number for statement in output.statements)
        known = {theirs: script[ours] for theirs, ours in IN_SCRIPT.items() if ours in script}
        if known.get("failed_pct") == 0.0:
            del known["failed_pct"]  # the corpus names a script's percentage only where it is a NaN
        facts.append(known | ({"statement_latencies": rows} if rows else {}))
    return facts


def total(output: Output, key: str) -> int:
    return sum(statement[key] or 0 for statement in output.statements)


FACTS: dict[str, Callable[[Output], Any]] = {
    "pgbench_version": lambda output: output.client_version,
    "server_version": lambda output: output.server_version,
    "tps": lambda output: [{"value": tps, "kind": kind} for tps, kind in output.rates],
    "progress_lines": lambda output: len(output.progress),
    "progress_first": lambda output: progress_facts(output.progress[0]),
    "progress_last": lambda output: progress_facts(output.progress[-1]),
    "progress_without_latency": lambda output: sum(sample.latency_ms is None for sample in output.progress),
    "progress_timestamps_are_epoch": lambda output: output.has_epoch_times,
    "statement_latencies": lambda output: len(output.statements),
    "statement_first": lambda output: statement_facts(output.statements[0]),
    "statement_last": lambda output: statement_facts(output.statements[-1]),
    "statement_failures_total": lambda output: total(output, "failures"),
    "statement_retries_total": lambda output: total(output, "retries"),
    "scripts": script_facts,
    "aborted": lambda output: output.aborted,
    "aborted_clients": lambda output: len(output.aborted_clients),
    "has_summary": lambda output: output.has_summary,
    "mode": lambda output: output.mode,
    "init_progress_lines": lambda output: len(output.init_progress),
    "init_progress_first": lambda output: init_facts(output.init_progress[0]),
    "init_progress_last": lambda output: init_facts(output.init_progress[-1]),
    "init_table": lambda output: output.init_progress[0].table,
    "finished": lambda output: output.init_done is not None,
    "done_in_s": lambda output: output.init_done.total_s if output.init_done else None,
    "phases_s": lambda output: output.init_done.phases_s if output.init_done else None,
} | {theirs: (lambda output, ours=ours: output.summary.get(ours)) for theirs, ours in IN_SUMMARY.items()}


def facts_like(expected: dict[str, Any], output: Output) -> dict[str, Any]:
    found = {key: FACTS[key](output) for key in expected if key != "error_contains"}
    if "error_contains" in expected:
        errors = "\n".join(output.errors)
        found["error_contains"] = [part for part in expected["error_contains"] if part in errors]
    return found


pytestmark = pytest.mark.skipif(not TEXTS, reason=NO_CORPUS)


@pytest.mark.parametrize("path", TEXTS, ids=lambda path: path.stem)
def test_every_fact_of_the_corpus_is_read(path: Path) -> None:
    expected = json.loads(path.with_suffix(".json").read_text())
    output = read_output(path.read_bytes().decode("utf-8", "replace"))
    assert facts_like(expected, output) == expected


@pytest.mark.parametrize("path", TEXTS, ids=lambda path: path.stem)
def test_no_figure_is_read_that_the_corpus_does_not_know(path: Path) -> None:
    expected = json.loads(path.with_suffix(".json").read_text())
    output = read_output(path.read_bytes().decode("utf-8", "replace"))
    ours = {name: theirs for theirs, name in IN_SUMMARY.items()}
    assert {ours[name] for name in output.summary if name in ours} <= set(expected)
    assert [name for name in output.summary if name not in ours and name not in UNNAMED_IN_THE_CORPUS] == []
    assert len(output.scripts) == len(expected.get("scripts", []))
    assert len(output.statements) == expected.get("statement_latencies", 0)


@pytest.mark.parametrize("path", TEXTS, ids=lambda path: path.stem)
def test_streams_given_apart_say_the_same_as_merged(path: Path) -> None:
    text = path.read_bytes().decode("utf-8", "replace")
    marks = ("progress:", "pgbench:", "starting vacuum", "DETAIL")
    on_stderr = [line for line in text.splitlines(keepends=True) if line.startswith(marks)]
    on_stdout = [line for line in text.splitlines(keepends=True) if not line.startswith(marks)]
    assert read_output("".join(on_stdout), "".join(on_stderr)).summary == read_output(text).summary


def test_the_corpus_is_whole() -> None:
    keys = sum(len(json.loads(path.with_suffix(".json").read_text())) for path in TEXTS)
    print(f"{len(TEXTS)} outputs, {keys} keys compared")
    assert all(path.with_suffix(".json").is_file() for path in TEXTS)
