"""How often `script/up --once` decides its demo beside a busy process, and with which sign.

    .venv/bin/python -m tests.bench.once [--starts 20] [--percent 50] [--within 400]

Starts it again and again in a home of its own, beside a process that is busy for `--percent` of one core, and prints a
line for each start: seconds, exit code, and of PgBouncer beside no pooler the ratio, its interval and its verdict. The
goal is the right sign ("faster") in 19 of 20 starts, each within 150 s. What a start printed that was not right is
repeated on stderr. Ends by itself: a start that takes longer than `--within` seconds is terminated, and counts as one
that decided nothing.
"""

import argparse
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

from panel.quickstart.servers import free_port

ROOT = Path(__file__).parents[2]
GOAL_SHARE, GOAL_S = 0.95, 150
PERIOD_S = 0.1  # period of the busy process, which works for a share of it and then sleeps
ENDS_WITHIN_S = 30
BUSY = """
import sys, time
share, period = float(sys.argv[1]), float(sys.argv[2])
while True:
    until = time.monotonic() + share * period
    while time.monotonic() < until:
        pass
    time.sleep((1 - share) * period)
"""
ARM = re.compile(r"^10 clients, SCRAM, PgBouncer  .*$", re.MULTILINE)
FIGURES = re.compile(
    r" +(?P<ratio>[\d.]+) +(?P<interval>[\d.]+ to [\d.]+|-) +\S+ +(?P<valid>\d+ of \d+)  (?P<verdict>.+)$"
)


@dataclass(frozen=True)
class Start:
    """One start: how long it took, its exit code (None: it was terminated), and its line on PgBouncer."""

    seconds: float
    code: int | None
    ratio: str = "-"
    interval: str = "-"
    valid: str = "-"
    verdict: str = "-"
    printed: str = field(default="", repr=False)

    @property
    def is_right(self) -> bool:
        """Whether it said in time that PgBouncer is faster."""
        return self.verdict == "faster" and self.code == 0 and self.seconds <= GOAL_S

    def __str__(self) -> str:
        code = "-" if self.code is None else self.code
        return f"{self.seconds:7.0f}  {code:>4}  {self.ratio:>6}  {self.interval:>14}  {self.valid:>8}  {self.verdict}"


@contextmanager
def busy(percent: float) -> Iterator[None]:
    """Keep a process busy for a share of one core, in a session of its own as another user's would be."""
    command = [sys.executable, "-c", BUSY, str(percent / 100), str(PERIOD_S)]
    process = subprocess.Popen(command, start_new_session=True)
    try:
        yield
    finally:
        process.kill()
        process.wait()


def start(within_s: float) -> Start:
    """Carry out one start in a new home."""
    with TemporaryDirectory(prefix="pooldeck-once-", dir="/var/tmp") as home:
        began = time.monotonic()
        process = subprocess.Popen(
            [ROOT / "script" / "up", "--once", "--port", str(free_port())],
            env={**os.environ, "POOLDECK_HOME": home},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        try:
            printed, reported = process.communicate(timeout=within_s)
        except subprocess.TimeoutExpired:
            _end(process)
            return Start(time.monotonic() - began, None)
        return read(printed, reported, time.monotonic() - began, process.returncode)


def _end(process: "subprocess.Popen[str]") -> None:
    """Let it stop its servers, and kill it where it does not."""
    process.send_signal(signal.SIGINT)
    try:
        process.communicate(timeout=ENDS_WITHIN_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()


def read(printed: str, reported: str, seconds: float, code: int) -> Start:
    """Read the line of PgBouncer out of the table of reconnect; without a table, the last that was reported."""
    line = ARM.search(printed)
    found = FIGURES.search(line[0]) if line else None
    figures = found.groupdict() if found else {"verdict": (reported or printed).strip().rpartition("\n")[2]}
    return Start(seconds, code, **figures, printed=printed + reported)


def main() -> None:
    """Print a line for each start, and how many were right."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--starts", type=int, default=20)
    parser.add_argument("--percent", type=float, default=50, help="of one core, that the busy process takes; 0: none")
    parser.add_argument("--within", type=float, default=400, help="seconds until a start is terminated")
    asked = parser.parse_args()
    print("seconds  exit   ratio        interval     valid  verdict")
    found = []
    for _ in range(asked.starts):
        with busy(asked.percent):
            found.append(start(asked.within))
        print(found[-1], flush=True)
        if not found[-1].is_right:
            print(found[-1].printed, file=sys.stderr, flush=True)
    right = sum(one.is_right for one in found)
    words = "holds" if right >= GOAL_SHARE * len(found) else "! too few"
    print(f"decided with the right sign within {GOAL_S} s: {right} of {len(found)} (goal: {GOAL_SHARE:.0%})  {words}")


if __name__ == "__main__":
    main()
