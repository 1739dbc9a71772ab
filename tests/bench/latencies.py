"""What following a load's log costs its worker: `.venv/bin/python -m tests.bench.latencies [--seconds 20]`.

Two files grow by as many lines a second as the panel lets a load log, read three times a second as a run reads them;
the figure is the processor time of the reading.
"""

import argparse
import os
import random
import tempfile
import time
from pathlib import Path

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "tests.settings")
django.setup()

from benchmarks.analysis.latency.log_follower import Follower
from benchmarks.analysis.latency.sampling import LINES_A_SECOND
from benchmarks.engines.pgbench.transaction_log import log_files
from benchmarks.processes.logs import LogsHere

READS_A_SECOND = 3


def lines_of(second_us: int) -> list[str]:
    """A second of a log: latencies as a loaded server has them."""
    ended = (second_us + place * 1_000_000 // LINES_A_SECOND for place in range(LINES_A_SECOND))
    return [f"3 {at} {int(random.lognormvariate(7, 1))} 0 {at // 1_000_000} {at % 1_000_000}\n" for at in ended]


def measure(home: Path, seconds: int) -> float:
    """Processor seconds that a second of log took."""
    files = log_files({"percentiles": True})
    assert files is not None
    follower, taken_s = Follower(files, LogsHere(home, files.pattern)), 0.0
    with (home / "pgbench_log.7").open("w") as one, (home / "pgbench_log.7.1").open("w") as two:
        for second in range(seconds):
            lines = lines_of(second * 1_000_000 + 1_700_000_000_000_000)
            for read in range(READS_A_SECOND):
                part = lines[read::READS_A_SECOND]
                one.writelines(part[::2])
                two.writelines(part[1::2])
                one.flush()
                two.flush()
                began_s = time.process_time()
                follower.read()
                taken_s += time.process_time() - began_s
            began_s = time.process_time()
            follower.intervals.end((second + 1) * 1_000_000 + 1_700_000_000_000_000)
            taken_s += time.process_time() - began_s
    follower.close()
    assert follower.intervals.whole.count == seconds * LINES_A_SECOND
    return taken_s / seconds


def main() -> None:
    """Print the share of a processor."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=int, default=20)
    with tempfile.TemporaryDirectory() as home:
        share = measure(Path(home), parser.parse_args().seconds)
    print(f"following {LINES_A_SECOND:,} logged transactions a second takes {share:.2%} of a processor")


if __name__ == "__main__":
    main()
