"""Runs a JMeter and follows its results while it writes them.

`python -m benchmarks.loads.jmeter [--log FILE] -- JAVA WORD…`: the words start a JMeter that writes `results.jtl` as
CSV with a heading. It works in the group of this process, and is killed by the kernel when this process ends.
"""

import argparse
import csv
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from benchmarks.loads.tally import INTERVAL_S, Tally

RESULTS, PRINTED, OWN_LOG = Path("results.jtl"), Path("jmeter.out"), Path("jmeter.log")
LOOK_S = 0.1
TOLD = 3  # lines of errors where nothing else says why
_NOT_HTTP = "Non HTTP response code: "


class Results:
    """Reads a results file as it grows: its rows by the names of the heading."""

    def __init__(self) -> None:
        self._rest = ""
        self._names: list[str] = []

    def feed(self, text: str) -> Iterator[dict[str, str]]:
        """The rows that this text completes; a quoted message may go over several lines."""
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


class Following:
    """Counts the rows that came; the load began with the first request."""

    def __init__(self, log: Path | None) -> None:
        self.tally: Tally | None = None
        self.clients = 0
        self._log = log
        self._results = Results()
        self._file: IO[str] | None = None
        self._ended = 0.0
        self._due = 0.0

    def look(self) -> None:
        """Take what was written since the last time, and say the intervals that are over.

        An empty one is said once something follows: after the last request Java takes its time to end.
        """
        if self._file is None and RESULTS.exists():
            self._file = RESULTS.open(encoding="utf-8", errors="replace", newline="")
        rows = list(self._results.feed(self._file.read())) if self._file else []
        while self.tally and time.perf_counter() >= self._due and (rows or not self.tally.interval.is_empty):
            self.tally.end_interval(self._due)
            self._due += INTERVAL_S
        for row in rows:
            self._count(row)

    def _count(self, row: dict[str, str]) -> None:
        try:
            started_s, latency_s = int(row["timeStamp"]) / 1000, int(row["elapsed"]) / 1000
            size, threads = int(row.get("bytes") or 0), int(row.get("allThreads") or 1)
        except (KeyError, ValueError):
            return
        offset = time.perf_counter() - time.time()
        if self.tally is None:
            self.tally = Tally(self._log, began=started_s + offset)
            self._due = self.tally.began + INTERVAL_S
        self._ended = max(self._ended, started_s + latency_s + offset)
        self.clients = max(self.clients, threads)
        if row.get("success") == "true":
            self.tally.answered(started_s + latency_s + offset, latency_s, size)
        else:
            self.tally.failed(*kind(row))

    def end(self) -> None:
        """Say the summary, where there was any request."""
        self.look()
        if self._file:
            self._file.close()
        if self.tally:
            self.tally.end(self.clients, ended=self._ended)


def kind(row: dict[str, str]) -> tuple[str, str]:
    """What a failed request counts as, and what it says."""
    code = row.get("responseCode", "").strip()
    words = (
        row.get("responseMessage", "") if code[:1] != "2" else row.get("failureMessage", "") or "an assertion failed"
    )
    if code.startswith(_NOT_HTTP):
        return code.removeprefix(_NOT_HTTP).rpartition(".")[2], words
    return (f"status {code}" if code.isdigit() else code or "failed"), words


def main() -> None:
    """Start it, follow it, leave with its exit code."""
    words = argparse.ArgumentParser(description=__doc__)
    words.add_argument("--log", type=Path)
    words.add_argument("jmeter", nargs="+")
    asked = words.parse_args()
    RESULTS.unlink(missing_ok=True)  # of a warm-up; JMeter would write on behind it
    with PRINTED.open("w", encoding="utf-8") as printed:
        jmeter = subprocess.Popen(
            ["setpriv", "--pdeathsig=KILL", "--", *asked.jmeter],
            stdin=subprocess.DEVNULL,
            stdout=printed,
            stderr=printed,
        )
        following = Following(asked.log)
        try:
            while jmeter.poll() is None:
                following.look()
                time.sleep(LOOK_S)
        finally:
            jmeter.kill()
            exit_code = jmeter.wait()
    following.end()
    if exit_code or following.tally is None:
        _say_why()
    sys.exit(exit_code if exit_code >= 0 else 1)


def _say_why() -> None:
    """The errors that JMeter printed or logged, where its results say none."""
    lines = [
        line for path in (PRINTED, OWN_LOG) if path.exists() for line in path.read_text(errors="replace").splitlines()
    ]
    wrong = [line for line in lines if "Error in NonGUIDriver" in line or " ERROR " in line or "Exception" in line]
    for line in (wrong or lines[-1:] or ["it said no reason"])[:TOLD]:
        print(f"error: {line.strip()[:500]}", flush=True)  # noqa: T201 the panel follows these lines


if __name__ == "__main__":
    main()
