"""Whole outputs, as pgbench 15, 16 and 18 really printed them, and mutilated ones."""

import dataclasses
import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.analysis.validity import judge
from benchmarks.engines.pgbench.lines import Unknown, read_line
from benchmarks.engines.pgbench.output import Output, read_output
from benchmarks.models import Purpose, Validity
from tests.benchmarks.engines.pgbench import captured
from tests.drawing import examples

PATHS = captured.paths()
LOADED = {"has_summary": True, "aborted": False, "mode": "load"}
SELECT = LOADED | {"clients": 4, "threads": 2, "duration_s": 3, "transaction_type": "<builtin: select only>"}
TPCB = "<builtin: TPC-B (sort of)>"
BROKEN = {"has_summary": False, "validity": Validity.INCOMPLETE}
INIT = {"mode": "init", "has_summary": False, "finished": True, "validity": Validity.VALID}
VALID, SUSPECT = {"validity": Validity.VALID}, {"validity": Validity.SUSPECT}
ABORTED = {"aborted": True, "has_summary": True, "validity": Validity.INCOMPLETE, "exit_code": 2}

# What each case must read as, in every version; known from what was asked of pgbench, not from the parser.
FACTS: dict[str, dict[str, Any]] = {
    "init": INIT | {"init_lines": 3, "rows": 300_000},
    "init-quiet": INIT | {"init_lines": 1, "rows": 200_000},
    "init-every-step": INIT | {"init_lines": 0},
    "init-partitions": INIT | {"init_lines": 2, "rows": 200_000},
    "init-again": INIT | {"init_lines": 2, "rows": 200_000},
    "init-refused": {"exit_code": 1, "validity": Validity.INCOMPLETE, "finished": False},
    "select": SELECT | VALID | {"exit_code": 0, "scale": 2, "query_mode": "simple", "failed": 0},
    "partitions": SELECT | {"partitions": 3, "partition_method": "range"},
    "select-without-progress": LOADED | {"clients": 2, "duration_s": 2, "samples": 0},
    "tpcb-report": LOADED | {"statements": 11, "transaction_type": TPCB},
    "simple-update-prepared": LOADED | {"query_mode": "prepared", "transaction_type": "<builtin: simple update>"},
    "extended-transactions": LOADED
    | VALID
    | {"query_mode": "extended", "transactions": 400, "transactions_expected": 400},
    "vacuum-and-seed": LOADED | VALID | {"random_seed": 42, "transactions": 50, "clients": 1},
    "scale-ignored": LOADED | VALID | {"scale": 2, "transactions": 10},
    "reconnect": SELECT | VALID | {"has_connection_time": True},
    "reconnect-without-progress": LOADED | {"has_connection_time": True, "effective_clients": None},
    "rate": SELECT | {"skipped": 0, "latency_limit_ms": 50.0, "lagged": True},
    "rate-beyond-reach": SELECT | SUSPECT | {"latency_limit_ms": 20.0, "lagged": True},
    "rate-without-limit": SELECT | SUSPECT | {"lagged": True},
    "latency-limit": LOADED | {"latency_limit_ms": 1.0},
    "timestamps": SELECT | {"epoch": True},
    "scripts": LOADED
    | {"scripts": [TPCB, "hot.sql", "never.sql"], "statements": 14, "transaction_type": "multiple scripts"},
    "failures": LOADED | SUSPECT | {"deadlock_failures": 0, "max_tries": 1, "statements": 4},
    "retries": LOADED | {"max_tries": 5, "statements": 4, "retries_counted": True},
    "verbose-errors": LOADED | {"transactions_per_client": 10},
    "one-aborted": ABORTED | {"aborted_clients": {1}, "clients": 4},
    "all-aborted": ABORTED | {"aborted_clients": {0, 1, 2, 3}, "transactions": 0},
    "too-many-clients": BROKEN | {"exit_code": 1, "aborted": False},
    "too-many-reconnecting": ABORTED | {"clients": 40},
    "no-tables": BROKEN | {"exit_code": 1},
    "no-such-database": BROKEN | {"exit_code": 1},
    "wrong-option": BROKEN | {"exit_code": 1},
    "interrupted": BROKEN | {"exit_code": -2, "samples": 1},
    "sessions-ended": ABORTED | {"aborted_clients": {0, 1, 2, 3}},
    "stopped-for-a-while": LOADED | SUSPECT | {"exit_code": 0},
}


def fact(name: str, taken: captured.Captured, output: Output) -> Any:
    purpose = Purpose.PREPARE if " -i" in taken.command else Purpose.LOAD
    rate = re.search(r" -R (\d+)", taken.command)
    options = {"rate": float(rate[1])} if rate else {}
    derived: dict[str, Any] = {
        "exit_code": taken.exit_code,
        "validity": judge(output, options=options, exit_code=taken.exit_code, purpose=purpose)[0],
        "samples": len(output.progress),
        "statements": len(output.statements),
        "scripts": [script["name"] for script in output.scripts],
        "init_lines": len(output.init_progress),
        "rows": output.init_progress[-1].done if output.init_progress else None,
        "finished": output.init_done is not None,
        "epoch": output.has_epoch_times,
        "aborted_clients": set(output.aborted_clients),
        "has_connection_time": (output.summary.get("average_connection_ms") or 0) > 0,
        "lagged": all(sample.lag_ms is not None for sample in output.progress) and "lag_max_ms" in output.summary,
        "retries_counted": (output.summary.get("retries") or 0) > 0,
    }
    if name in derived:
        return derived[name]
    return getattr(output, name) if hasattr(output, name) else output.summary.get(name)


def case_id(path: Path) -> str:
    return f"{path.parent.name}-{path.stem}"


@pytest.mark.parametrize("path", PATHS, ids=case_id)
def test_a_real_output_reads_as_what_was_asked_of_pgbench(path: Path) -> None:
    taken = captured.read(path)
    output = read_output(taken.stdout, taken.stderr)
    expected = FACTS[path.stem]
    assert {name: fact(name, taken, output) for name in expected} == expected


@pytest.mark.parametrize("path", PATHS, ids=case_id)
def test_merged_streams_say_the_same(path: Path) -> None:
    taken = captured.read(path)
    version, rest = taken.stdout.partition("\n")[::2]
    merged = f"{version}\n{taken.stderr}{rest}" if version.startswith("pgbench (") else taken.stderr + taken.stdout
    assert read_output(merged) == read_output(taken.stdout, taken.stderr)


NUMBER = re.compile(r"(?<![\w.])[0-9]+(?:\.[0-9]+)?")
NO_FIGURES = re.compile(r"pgbench \(|transaction type|SQL script|.*statement latencies")


def printed_figures(stdout: str) -> list[float]:
    """Every number of a summary, found without any of the parser's rules; of a statement's row those before it."""
    figures = []
    for line in stdout.splitlines():
        row = re.match(r"\s{2,}([\d.]+\s+(?:\d+\s+)+)", line)
        if not NO_FIGURES.match(line):
            figures += [float(number) for number in NUMBER.findall(row[1] if row else line)]
    return figures


def read_figures(output: Output) -> list[float]:
    parts = [output.summary, *output.scripts, *output.statements]
    values = [value for part in parts for key, value in part.items() if key not in {"script", "effective_clients"}]
    return [float(value) for value in values if isinstance(value, int | float)]


@pytest.mark.parametrize("path", PATHS, ids=case_id)
def test_every_number_of_a_summary_is_read_and_none_is_added(path: Path) -> None:
    taken = captured.read(path)
    output = read_output(taken.stdout)
    assert set(read_figures(output)) == set(printed_figures(taken.stdout))


@pytest.mark.parametrize("path", PATHS, ids=case_id)
def test_every_line_of_stdout_is_recognized(path: Path) -> None:
    stdout = captured.read(path).stdout
    assert read_output(stdout).recognized == len(stdout.splitlines())


def test_the_versions_are_those_that_ran() -> None:
    found = {
        path.parent.name: read_output(captured.read(path).stdout).client_version for path in captured.paths("select")
    }
    assert {major: version.split(".")[0] for major, version in found.items()} == {"15": "15", "16": "16", "18": "18"}


TEXTS = [taken.stdout + taken.stderr for taken in map(captured.read, PATHS)]


@st.composite
def mutilated(draw: st.DrawFn) -> tuple[str, str]:
    """Parts of real outputs put together at random places, on two streams."""
    parts = []
    for _ in range(draw(st.integers(1, 4))):
        text = draw(st.sampled_from(TEXTS))
        start, length = draw(st.integers(0, len(text))), draw(st.integers(0, 1500))
        parts.append(
            text[start : start + length] + draw(st.sampled_from(["", "\n", "nan", "\r", "\x00", "9" * 30, "\ud800"]))
        )
    cut = draw(st.integers(0, len(parts)))
    return "".join(parts[:cut]), "".join(parts[cut:])


@settings(max_examples=examples(800), deadline=None)
@given(mutilated())
def test_a_mutilated_output_never_raises_and_its_json_is_finite(streams: tuple[str, str]) -> None:
    output = read_output(*streams)
    kept = dataclasses.asdict(output) | {"terms": None, "aborted_clients": sorted(output.aborted_clients)}
    json.dumps(kept, allow_nan=False).encode()
    judge(output, options={"clients": 4, "duration": 3, "progress": 1, "rate": 10.0})
    judge(output, options={})
    assert all(re.search(rf"progress: 0*{int(sample.t)}\.", "".join(streams)) for sample in output.progress)


@settings(max_examples=examples(300), deadline=None)
@given(st.text(max_size=300), st.text(max_size=300))
def test_any_text_is_read_without_raising(stdout: str, stderr: str) -> None:
    assert read_output(stdout, stderr).progress == []


def test_nothing_at_all_is_an_empty_output() -> None:
    assert read_output("") == Output()


def test_unix_times_are_put_on_the_loads_clock() -> None:
    path = captured.paths("timestamps")[0]
    output = read_output(captured.read(path).stderr)
    assert [round(sample.t) for sample in output.samples] == [1, 2, 3]
    assert output.progress[0].t > 1_700_000_000


def test_an_abort_glued_to_a_sample_is_counted_with_it() -> None:
    line = "progress: 5.0 s, 1.0 tps, lat 1.000 ms stddev 0.100, 0 failedpgbench: error: client 3 aborted in command 1"
    output = read_output(line)
    assert (len(output.progress), output.aborted_clients) == (1, {3})


def test_colors_copied_from_a_terminal_are_nothing() -> None:
    error = "pgbench: \x1b[01;31merror: \x1b[0mclient 3 script 0 aborted in command 0 query 0: ERROR:  no"
    output = read_output(error)
    assert (output.aborted_clients, output.errors) == (
        {3},
        ["pgbench: error: client 3 script 0 aborted in command 0 query 0: ERROR:  no"],
    )


def test_lines_of_a_summary_mean_nothing_on_the_progress_reader() -> None:
    summary = [line for path in captured.paths("select") for line in captured.read(path).stdout.splitlines()]
    assert all(isinstance(read_line(line), Unknown) for line in summary)
