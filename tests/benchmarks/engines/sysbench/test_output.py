"""What is read from real outputs of sysbench 1.0.20, whole and damaged."""

import random
from pathlib import Path

import pytest

from benchmarks.analysis.validity import judge
from benchmarks.engines.base import ParsedLine, Progress
from benchmarks.engines.sysbench.output import parse_line, read_output
from benchmarks.models import Purpose, Validity
from tests.benchmarks.engines.pgbench import captured

OUTPUTS = sorted((Path(__file__).parent / "outputs").glob("*.txt"))
CONTENDED = (
    "[ 2s ] thds: 8 tps: 3.00 qps: 52.95 (r/w/o: 32.97/7.99/11.99) lat (ms,95%): 2009.23 err/s: 3.00 reconn/s: 0.00"
)


def taken(case: str) -> captured.Captured:
    return captured.read(Path(__file__).parent / "outputs" / f"{case}.txt")


def test_an_interval_is_a_sample_with_its_percentile_and_errors() -> None:
    sample = Progress(2.0, 3.0, None, None, failed=3, latency_p95_ms=2009.23)
    assert parse_line(CONTENDED, {}) == ParsedLine(sample=sample, worth_reporting=False)
    for nth in ("50", "99"):
        parsed = parse_line(CONTENDED.replace("95%", f"{nth}%"), {}).sample
        assert parsed is not None
        assert getattr(parsed, f"latency_p{nth}_ms") == 2009.23
    assert parse_line(CONTENDED.replace("95%", "90%"), {}).sample == Progress(2.0, 3.0, None, None, failed=3)


@pytest.mark.parametrize("cut", range(len(CONTENDED)))
def test_an_interval_that_is_cut_off_is_no_sample(cut: int) -> None:
    assert parse_line(CONTENDED[:cut], {}).sample is None


def test_messages_are_errors_and_tables_and_the_rows_filled_are_a_percentage() -> None:
    assert parse_line("FATAL: Thread initialization failed!", {}).worth_reporting
    assert parse_line("Creating table 'sbtest1'...", {}).worth_reporting
    assert not parse_line("[ 1s ] queue length: 0, concurrency: 1", {}).worth_reporting
    assert not parse_line("       0.504 |**          1", {}).worth_reporting
    assert parse_line("filled 500 of 2000 rows", {}) == ParsedLine(percent=25.0, worth_reporting=False)
    assert parse_line("filled 1 of 0 rows", {}).percent is None


def test_the_summary_of_a_contended_run_is_read_whole() -> None:
    output = read_output(taken("read-write-contended").stdout)
    assert output.summary == {
        "clients": 8,
        "threads": 8,
        "reads": 462,
        "writes": 83,
        "other_queries": 80,
        "transactions": 23,
        "tps": 5.65,
        "queries": 625,
        "queries_per_second": 153.65,
        "failed": 10,
        "reconnects": 0,
        "elapsed_s": 4.0631,
        "latency_min_ms": 2.57,
        "latency_avg_ms": 1277.85,
        "latency_max_ms": 4038.49,
        "latency_sum_ms": 29390.65,
        "latency_p50_ms": 2009.233,
        "latency_p95_ms": 3040.139,
        "latency_p99_ms": 4055.231,
        "events_each": 2.875,
        "events_each_stddev": 1.17,
        "working_each_s": 3.6738,
        "working_each_stddev_s": 0.49,
        "effective_clients": 7.234,
    }
    assert (output.client_version, output.errors, output.executions) == ("1.0.20", [], 1)


@pytest.mark.parametrize("case", ["read-only", "events", "bulk-insert"])
def test_the_histograms_p95_is_the_one_that_is_printed(case: str) -> None:
    text = taken(case).stdout
    printed = float(text.split("95th percentile:")[1].split()[0])
    assert read_output(text).summary["latency_p95_ms"] == pytest.approx(printed, abs=0.006)


@pytest.mark.parametrize(
    ("case", "reason"),
    [
        ("wrong-database", 'exited with code 1: FATAL: Connection to database failed: connection to server at "127.0'),
        ("too-many", "exited with code 1: FATAL: Connection to database failed:"),
        ("missing-table", "exited with code 1: FATAL: "),
        ("killed", "was ended by SIGSEGV"),
        ("killed-plain", "was ended by SIGSEGV"),
    ],
)
def test_a_failed_run_is_incomplete_in_sysbenchs_words(case: str, reason: str) -> None:
    text = taken(case)
    verdict, reasons = judge(read_output(text.stdout, text.stderr), options={}, exit_code=text.exit_code)
    assert verdict == Validity.INCOMPLETE
    assert reasons[0].startswith(f"sysbench {reason}")
    assert "sysbench printed no summary; progress lines received: " in reasons[1]


def test_a_contended_run_is_suspect_for_what_failed_and_stalled() -> None:
    text = taken("read-write-contended")
    options = {"threads": 8, "duration": 3}
    verdict, reasons = judge(read_output(text.stdout), options=options, exit_code=text.exit_code)
    assert verdict == Validity.SUSPECT
    assert reasons[0] == "10 of 33 transactions failed (30.3%); tps counts only the others"


def test_a_rate_that_was_kept_is_valid_though_threads_idled() -> None:
    text = taken("rate-p99")
    options = {"threads": 2, "duration": 3, "rate": 20}
    assert judge(read_output(text.stdout), options=options, exit_code=0) == (Validity.VALID, [])


@pytest.mark.parametrize(
    ("case", "verdict"), [("prepare", Validity.VALID), ("prepare-wrong-role", Validity.INCOMPLETE)]
)
def test_a_preparation_counts_where_nothing_went_wrong(case: str, verdict: Validity) -> None:
    text = taken(case)
    output = read_output(text.stdout, text.stderr)
    assert judge(output, options={}, exit_code=text.exit_code, purpose=Purpose.PREPARE)[0] == verdict


def test_streams_may_be_merged_and_nothing_is_not_sysbenchs() -> None:
    text = taken("read-only")
    assert read_output("", text.stdout).summary == read_output(text.stdout).summary
    assert (read_output("").recognized, read_output("tps = 5 (without initial connection time)").recognized) == (0, 0)


@pytest.mark.parametrize("path", OUTPUTS, ids=lambda path: path.stem)
def test_damage_never_raises_and_invents_no_sample(path: Path) -> None:
    text = captured.read(path).stdout
    true = {sample.t: sample for sample in read_output(text).progress}
    chance = random.Random(path.stem)
    for _ in range(60):
        at = chance.randrange(len(text))
        output = read_output(text[:at] + text[at + chance.randrange(1, 40) :])
        assert all(sample.t in true or sample.t < 100 for sample in output.progress)
        assert len(output.progress) <= len(true)
    for _ in range(60):
        damaged = bytearray(text.encode())
        damaged[chance.randrange(len(damaged))] = chance.randrange(256)
        assert len(read_output(damaged.decode("utf-8", "replace")).progress) <= len(true)
