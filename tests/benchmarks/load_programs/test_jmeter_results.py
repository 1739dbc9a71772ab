"""The follower of JMeter's results, on files that a JMeter 5.6.3 wrote, and on a program that writes such."""

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest

from benchmarks.load_programs import jmeter_results
from benchmarks.load_programs.jmeter_results import Results, ResultsFollower, kind

RESULTS = Path(__file__).parent / "results"


@pytest.mark.parametrize("size", [1, 7, 100, 1_000_000])
def test_rows_come_by_the_names_of_the_heading_however_they_are_cut(size: int) -> None:
    text = (RESULTS / "failing.jtl").read_text()
    results = Results()
    rows = [row for at in range(0, len(text), size) for row in results.feed(text[at : at + size])]
    assert len(rows) == 20
    assert (rows[0]["elapsed"], rows[0]["success"], rows[0]["allThreads"]) == ("1165", "false", "2")
    assert rows[0]["responseMessage"].endswith('relation "products" does not exist\n  Position: 25')


def test_a_row_that_is_not_whole_is_left_out() -> None:
    results = Results()
    assert list(results.feed("timeStamp,elapsed,success\n1,2,true\n3,4")) == [
        {"timeStamp": "1", "elapsed": "2", "success": "true"}
    ]
    assert list(results.feed(",true,\n")) == []


@pytest.mark.parametrize(
    ("code", "message", "failure", "expected"),
    [
        ("503", "Busy", "", ("status 503", "Busy")),
        ("42P01 0", "no such relation", "", ("42P01 0", "no such relation")),
        ("Non HTTP response code: java.net.ConnectException", "refused", "", ("ConnectException", "refused")),
        ("200", "OK", "too slow", ("status 200", "too slow")),
        ("", "", "", ("failed", "")),
    ],
)
def test_failures_have_their_kind_and_words(code: str, message: str, failure: str, expected: tuple[str, str]) -> None:
    assert kind({"responseCode": code, "responseMessage": message, "failureMessage": failure}) == expected


def test_a_results_file_is_counted_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("results.jtl").write_text((RESULTS / "products.jtl").read_text())
    following = ResultsFollower(Path("log"))
    following.end()
    summary = json.loads(capsys.readouterr().out.splitlines()[-1])["summary"]
    assert (summary["transactions"], summary["failed"], summary["clients"]) == (124, 0, 4)
    assert summary["elapsed_s"] == pytest.approx(3.98, abs=0.1)
    assert summary["effective_clients"] == pytest.approx(3.9, abs=0.2)
    assert len(Path("log").read_text().splitlines()) == 124


@pytest.mark.parametrize(("requests_only", "counted"), [(True, 20), (False, 30)])
def test_what_transaction_controllers_sum_up_counts_once(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    requests_only: bool,
    counted: int,
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("results.jtl").write_text((RESULTS / "trip.jtl").read_text())
    ResultsFollower(None, requests_only=requests_only).end()
    summary = json.loads(capsys.readouterr().out.splitlines()[-1])["summary"]
    assert summary["transactions"] == counted


class Clock:
    """The time that the follower sees, in place of both its clocks."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 0.0
        monkeypatch.setattr(jmeter_results.time, "perf_counter", lambda: self.now)
        monkeypatch.setattr(jmeter_results.time, "time", lambda: self.now)


def test_empty_intervals_are_said_only_where_something_follows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    following = ResultsFollower(None)
    clock = Clock(monkeypatch)
    written("timeStamp,elapsed,responseCode,success,bytes,allThreads\n1000000,100,200,true,10,1\n")
    for step in (0.0, 0.5, 1.1, 1.2, 3.5):
        clock.now = 1_000.0 + step
        following.poll_once()
    assert [_t(line) for line in capsys.readouterr().out.splitlines()] == [1.0]
    written("1003400,100,200,true,10,1\n")
    following.poll_once()
    clock.now += 10
    following.end()
    assert [_t(line) for line in capsys.readouterr().out.splitlines()] == [2.0, 3.0, 4.0, None]


def written(text: str) -> None:
    with Path("results.jtl").open("a") as file:
        file.write(text)


@pytest.mark.parametrize("look_s", [0.1, 0.37, 2.5, 60.0])
def test_each_request_counts_in_the_second_in_which_it_ended_however_late_it_is_seen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], look_s: float
) -> None:
    """The rows of a JMeter whose first requests took 3.3 s, each written when it ended, 5 s after Java was started."""
    heading, *rows = (RESULTS / "products.jtl").read_text().splitlines(keepends=True)
    times = [(int(row.split(",")[0]) / 1000, int(row.split(",")[1]) / 1000) for row in rows]
    began = min(started for started, _ in times)
    ends = [round(started + elapsed - began, 3) for started, elapsed in times]
    monkeypatch.chdir(tmp_path)
    clock, following = Clock(monkeypatch), ResultsFollower(None)
    clock.now = began - 5.0
    written(heading)
    while rows:
        clock.now += look_s
        over = sum(end <= clock.now - began for end in ends[len(times) - len(rows) :])
        written("".join(rows[:over]))
        del rows[:over]
        following.poll_once()
        assert following.totals or clock.now < began + ends[0], "the load begins with the first request"
    following.end()
    *reported, summary = (json.loads(line) for line in capsys.readouterr().out.splitlines())
    counted = {one["interval"]["t"]: one["interval"]["tps"] for one in reported}
    assert counted == {t: sum(t - 1 <= end < t for end in ends) for t in counted}
    assert {1.0: 0.0, 2.0: 0.0, 3.0: 0.0}.items() <= counted.items()
    assert [one["interval"]["late_s"] for one in reported][:3] >= [2.0, 1.0, 0.0]
    assert (summary["summary"]["transactions"], summary["summary"]["elapsed_s"]) == (124, max(ends))


def test_a_clock_that_is_ahead_makes_no_intervals_of_the_future(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    clock, following = Clock(monkeypatch), ResultsFollower(None)
    clock.now = 1_000.5
    written("timeStamp,elapsed,responseCode,success,bytes,allThreads\n1000000,100,200,true,10,1\n")
    written("9000000,100,200,true,10,1\n")
    following.poll_once()
    assert capsys.readouterr().out == ""
    following.end()


def _t(line: str) -> float | None:
    t: float | None = json.loads(line).get("interval", {}).get("t")
    return t


FAKE = """
import sys, time
with open("results.jtl", "w") as results:
    results.write("timeStamp,elapsed,responseCode,success,bytes,allThreads\\n")
    for at in range(12):
        code, fine = (200, "true") if at % 4 else (500, "false")
        results.write(f"{int(time.time() * 1000) - 20},20,{code},{fine},9,2\\n")
        results.flush()
        time.sleep(0.15)
print("2026-01-01 ERROR o.a.j: something", flush=True)
sys.exit(int(sys.argv[1]))
"""


@pytest.mark.parametrize("exit_code", [0, 3])
def test_it_starts_the_program_follows_it_and_leaves_with_its_code(tmp_path: Path, exit_code: int) -> None:
    (tmp_path / "fake.py").write_text(FAKE)
    (tmp_path / "results.jtl").write_text("of a warm-up\n")
    words = [
        sys.executable,
        "-m",
        "benchmarks.load_programs.jmeter_results",
        "--",
        sys.executable,
        "fake.py",
        str(exit_code),
    ]
    root = Path(__file__).parents[3]
    began = time.monotonic()
    ran = subprocess.run(
        words, cwd=tmp_path, env={"PYTHONPATH": str(root), "PATH": "/usr/bin:/bin"}, capture_output=True, text=True
    )
    lines = ran.stdout.splitlines()
    assert (ran.returncode, ran.stderr) == (exit_code, "")
    assert lines[0] == "error: status 500"
    assert sum(line.startswith('{"interval"') for line in lines) >= 1
    summary = next(json.loads(line)["summary"] for line in lines if line.startswith('{"summary"'))
    assert (summary["transactions"], summary["failed"]) == (9, 3)
    assert ("error: 2026-01-01 ERROR o.a.j: something" in lines) == bool(exit_code)
    assert time.monotonic() - began < 60
