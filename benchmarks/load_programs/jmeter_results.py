"""Runs JMeter and follows its results while it writes them.

`python -m benchmarks.load_programs.jmeter_results [--log FILE] [--requests] -- JAVA WORD…`: the words start a JMeter
that writes `results.jtl` as CSV with a header; with `--requests` the sums of transaction controllers are left out.
JMeter runs in the group of this process, and the kernel kills it when this process ends.
"""

import argparse
import csv
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from benchmarks.load_programs.counters import INTERVAL_S, LoadCounters

RESULTS, PRINTED, OWN_LOG = Path("results.jtl"), Path("jmeter.out"), Path("jmeter.log")
POLL_EVERY_S = 0.1
WRITTEN_WITHIN_S = 0.1  # JMeter writes the row of a request to the file within this time after its end.
DESCRIBED = 3  # error lines printed where nothing else gives a reason
_SUM = re.compile(r"Number of samples in transaction : [0-9]+, number of failing samples : [0-9]+")
_NOT_HTTP = "Non HTTP response code: "


class Results:
    """Reads a results file as it grows: its rows by the names of the header."""

    def __init__(self) -> None:
        self._rest = ""
        self._names: list[str] = []

    def feed(self, text: str) -> Iterator[dict[str, str]]:
        """Yield the rows that this text completes; a quoted message may span several lines."""
        self._rest += text
        while (end := self._end_of_row()) >= 0:
            row, self._rest = self._rest[:end], self._rest[end + 1 :]
            values = next(csv.reader([row.rstrip("\r")]), [])
            if not self._names:
                self._names = values
            elif len(values) == len(self._names):
                yield dict(zip(self._names, values, strict=True))

    def _end_of_row(self) -> int:
        end = self._rest.find("\n")
        while end >= 0 and self._rest.count('"', 0, end) % 2:
            end = self._rest.find("\n", end + 1)
        return end


class ResultsFollower:
    """Counts rows, each in the second in which its request ended; the load began with the first request.

    A row holds the time at which its request began (`sampleresult.timestamp.start`), by the clock of this host.
    """

    def __init__(self, log: Path | None, *, requests_only: bool = False) -> None:
        self.totals: LoadCounters | None = None
        self.clients = 0
        self._log = log
        self._requests_only = requests_only
        self._results = Results()
        self._file: IO[str] | None = None
        self._ended = 0.0
        self._due = 0.0

    def poll_once(self) -> None:
        """Read what was appended, and print the intervals that are over.

        An empty interval is printed once a request follows it, since Java takes its time to exit after the last
        request.
        """
        if self._file is None and RESULTS.exists():
            self._file = RESULTS.open(encoding="utf-8", errors="replace", newline="")
        rows = self._results.feed(self._file.read()) if self._file else iter(())
        requests = [request for row in rows if not self._leaves_out(row) and (request := _request(row))]
        if requests and self.totals is None:
            self._begin(min(one.started for one in requests))
        if self.totals:
            self._take(self.totals, requests)

    def _leaves_out(self, row: dict[str, str]) -> bool:
        return self._requests_only and bool(_SUM.fullmatch(row.get("responseMessage", "")))

    def _begin(self, at: float) -> None:
        self.totals = LoadCounters(self._log, began=at)
        self._due = at + INTERVAL_S
        self._ended = at

    def _take(self, totals: LoadCounters, requests: "list[_Request]") -> None:
        for request in requests:
            self._count(totals, request)
        while not totals.interval.is_empty and time.perf_counter() >= self._due + WRITTEN_WITHIN_S:
            self._end_interval(totals)

    def _end_interval(self, totals: LoadCounters) -> None:
        totals.end_interval(self._due)
        self._due += INTERVAL_S

    def _count(self, totals: LoadCounters, request: "_Request") -> None:
        while request.ended >= self._due <= time.perf_counter():  # a clock that was set may be ahead
            self._end_interval(totals)
        self._ended = max(self._ended, request.ended)
        self.clients = max(self.clients, request.threads)
        if request.failure is None:
            totals.answered(request.ended, request.ended - request.started, request.size_bytes)
        else:
            totals.failed(*request.failure)

    def end(self) -> None:
        """Print the summary, where there was any request."""
        self.poll_once()
        if self._file:
            self._file.close()
        if self.totals:
            self.totals.end(self.clients, ended=self._ended)


@dataclass(frozen=True)
class _Request:
    """One row; times are those of `time.perf_counter`, `failure` is its kind and message."""

    started: float
    ended: float
    size_bytes: int
    threads: int
    failure: tuple[str, str] | None


def _request(row: dict[str, str]) -> _Request | None:
    """Parse a row of JMeter's CSV, on this process's clock; None where a column is missing or not a number."""
    try:
        started_s, latency_s = int(row["timeStamp"]) / 1000, int(row["elapsed"]) / 1000
        size, threads = int(row.get("bytes") or 0), int(row.get("allThreads") or 1)
    except (KeyError, ValueError):
        return None
    started = started_s + time.perf_counter() - time.time()
    return _Request(started, started + latency_s, size, threads, None if row.get("success") == "true" else kind(row))


def kind(row: dict[str, str]) -> tuple[str, str]:
    """Return the kind that a failed request is counted as, and its message."""
    code = row.get("responseCode", "").strip()
    words = (
        row.get("responseMessage", "") if code[:1] != "2" else row.get("failureMessage", "") or "an assertion failed"
    )
    if code.startswith(_NOT_HTTP):
        return code.removeprefix(_NOT_HTTP).rpartition(".")[2], words
    return (f"status {code}" if code.isdigit() else code or "failed"), words


def main() -> None:
    """Start JMeter, follow it, and exit with its code."""
    words = argparse.ArgumentParser(description=__doc__)
    words.add_argument("--log", type=Path)
    words.add_argument("--requests", action="store_true")
    words.add_argument("jmeter", nargs="+")
    arguments = words.parse_args()
    RESULTS.unlink(missing_ok=True)  # A warm-up leaves this file, and JMeter would append to it.
    with PRINTED.open("w", encoding="utf-8") as printed:
        jmeter = subprocess.Popen(
            ["setpriv", "--pdeathsig=KILL", "--", *arguments.jmeter],  # noqa: S607 (on the PATH)
            stdin=subprocess.DEVNULL,
            stdout=printed,
            stderr=printed,
        )
        following = ResultsFollower(arguments.log, requests_only=arguments.requests)
        try:
            while jmeter.poll() is None:
                following.poll_once()
                time.sleep(POLL_EVERY_S)
        finally:
            jmeter.kill()
            exit_code = jmeter.wait()
    following.end()
    if exit_code or following.totals is None:
        _print_reason()
    sys.exit(exit_code if exit_code >= 0 else 1)


def _print_reason() -> None:
    """Print the errors that JMeter printed or logged, where its results hold none."""
    lines = [
        line for path in (PRINTED, OWN_LOG) if path.exists() for line in path.read_text(errors="replace").splitlines()
    ]
    wrong = [line for line in lines if "Error in NonGUIDriver" in line or " ERROR " in line or "Exception" in line]
    for line in (wrong or lines[-1:] or ["it printed no reason"])[:DESCRIBED]:
        print(f"error: {line.strip()[:500]}", flush=True)


if __name__ == "__main__":
    main()
