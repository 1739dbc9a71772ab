"""What a load program of the panel's own says, as the panel reads it."""

from pathlib import Path

import pytest

from benchmarks.engines import load_output
from benchmarks.engines.base import ProgramTerms
from benchmarks.load_programs.counters import LoadCounters


def test_what_was_counted_is_said_and_read_back(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    totals = LoadCounters(tmp_path / "log")
    totals.answered(totals.began + 0.5, 0.010, 1_000)
    totals.answered(totals.began + 0.6, 0.030, 1_000, connecting_s=0.004)
    totals.failed("status 500", "sorry,\ntoo many\n")
    totals.failed("status 500", "again")
    totals.end_interval()
    totals.failed("refused")
    totals.end(clients=3)
    reported = capsys.readouterr().out
    assert reported.splitlines()[0] == "error: status 500: sorry, too many"
    output = load_output.read_output(ProgramTerms("it"), reported)
    assert [(sample.latency_ms, sample.stddev_ms, sample.failed) for sample in output.progress] == [(20.0, 10.0, 2)]
    known = ("transactions", "failed", "clients", "bytes", "latency_avg_ms", "latency_min_ms", "latency_max_ms")
    assert [output.summary[name] for name in known] == [2, 3, 3, 2_000, 20.0, 10.0, 30.0]
    assert output.summary["errors"] == {"status 500": 2, "refused": 1}
    assert output.summary["average_connection_ms"] == 4.0
    assert output.errors == ["error: status 500: sorry, too many", "error: refused"]
    logged = load_output.LogReader().feed((tmp_path / "log").read_bytes())
    assert [one.latency_us for one in logged] == [10_000, 30_000]
    assert logged[1].at_us - logged[0].at_us == pytest.approx(100_000, abs=2)


def test_a_second_without_an_answer_has_no_latency(capsys: pytest.CaptureFixture[str]) -> None:
    totals = LoadCounters()
    totals.end_interval()
    sample = load_output.parse_line(capsys.readouterr().out.strip(), {}).sample
    assert sample is not None
    assert (sample.tps, sample.latency_ms, sample.failed) == (0.0, None, 0)
