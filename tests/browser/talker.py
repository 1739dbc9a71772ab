"""A process that leaves a run's samples as a worker does, without a program behind them.

`talker.py COUNT EVERY_S [HELD_AFTER]` prints the run's id as soon as it is running, then says one progress interval
each EVERY_S seconds, and ends the run. After HELD_AFTER of them it waits for a line on its standard input. SIGTERM
cancels the run: a running one would keep the next test's from starting.
"""

import os
import signal
import sys
import time
from dataclasses import replace

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "panel.settings")
django.setup()

from datetime import timedelta

from django.utils import timezone

from benchmarks.engines.base import Progress
from benchmarks.engines.pgbench import options
from benchmarks.models import Run, Status, Validity
from benchmarks.runs.execution.recorder import Recorder
from benchmarks.runs.live import publisher

MEDIAN_EVERY = 3  # samples: those between have none, as while a log is not complete


def main(count: int, every_s: float, held_after: int | None = None) -> None:
    """Make a run and talk."""
    run = Run.objects.enqueue(
        target_label="demo/shop",
        options=options.validate({"duration": max(1, round(count * every_s))}),
        status=Status.RUNNING,
        attempt=1,
        started_at=timezone.now(),
        lease_until=timezone.now() + timedelta(minutes=5),
    )
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    print(run.pk, flush=True)
    try:
        talk(run, count, every_s, held_after)
    except SystemExit:
        run.finish(Status.CANCELLED)
        raise


def talk(run: Run, count: int, every_s: float, held_after: int | None) -> None:
    """Say the samples of a run, and end it with a summary."""
    recorder, began = Recorder(run), time.monotonic()
    recorder.begin(began)
    for number in range(1, count + 1):
        if number - 1 == held_after:
            sys.stdin.readline()
            began = time.monotonic() - held_after * every_s
        due = began + number * every_s
        time.sleep(max(0.0, due - time.monotonic()))
        recorder.log(f"line {number}", due)
        said = Progress(t=round(number * every_s, 3), tps=1000.0 + number, latency_ms=1.0, stddev_ms=0.5)
        recorder.sample(replace(said, latency_p50_ms=None if number % MEDIAN_EVERY else 0.9), due)
    run.finish(Status.SUCCEEDED, validity=Validity.VALID, summary={"tps": 1234.5, "latency_avg_ms": 1.0}, exit_code=0)
    publisher.publish_end(run)


if __name__ == "__main__":
    main(int(sys.argv[1]), float(sys.argv[2]), *map(int, sys.argv[3:]))
