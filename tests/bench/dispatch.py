"""How soon a queued run starts once a generator is free: 50 generators, 100 queued runs.

    .venv/bin/python -m tests.bench.dispatch [--generators 50] [--queued 100] [--runs 100] [--load-s 2]
    .venv/bin/python -m tests.bench.dispatch --load-s 10 --spread 0.5
    .venv/bin/python -m tests.bench.dispatch --postgresql

Each run has a cluster of its own, and any generator may take it. First comes what one dispatch costs while one
generator is idle and all others are at work: processor milliseconds and queries of `dispatch_due` (medians of 20), and
the messages that it sends. Then stand-ins take the generators' messages, each a thread that does what a worker's task
does: claim, a load of `--load-s` in which it sleeps, the final state, the next dispatch. What is printed is the time
from the end of a run to the start of the next one on its generator, both by the clock of the database's records, in
milliseconds, and the messages taken for each run that started. Without `--spread` all loads take equally long, so that
the runs of all generators end at one moment and wait for each other; with it they end apart, as runs do. Times are
wall-clock: on a busy machine they tell of its other work.
"""

import argparse
import random
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any
from unittest import mock

from tests.bench.monitoring import panel
from tests.bench.processes import end_all_on_sigterm

ENGINES = {"pgbench": "17.2"}
REPEATS = 20
BEATS_S = 2.0


def seed(generators: int, queued: int) -> list[str]:
    """Make the generators, a cluster for each run, and as many running runs as generators but one; return the names."""
    from benchmarks.models import Generator, Run
    from pools.models import Cluster

    names = [f"generator-{number:02}" for number in range(generators)]
    for name in names:
        Generator.objects.create(name=name, host=name, cores=2, engines=ENGINES)
    beat(names)
    for number in range(queued + generators - 1):
        cluster = Cluster.objects.create(name=f"cluster-{number:03}", host=f"10.0.0.{number}", admin_user="postgres")
        Run.objects.enqueue(cluster=cluster)
    for name, run in zip(names[1:], Run.objects.order_by("number"), strict=False):
        assert Run.objects.claim(str(run.pk), name)
    return names


def beat(names: Sequence[str]) -> None:
    """Write the heartbeat of each generator."""
    from benchmarks.generators import heartbeats
    from core.lib.queues import WorkerKind

    for name in names:
        heartbeats.beat(name, WorkerKind.RUNS)


def cost_of_a_dispatch() -> tuple[float, int, int]:
    """Return processor ms, queries and messages of a dispatch; the messages are not sent."""
    from celery import current_app
    from django.db import connection
    from django.test.utils import CaptureQueriesContext

    from benchmarks.runs.submission import dispatch, in_flight

    spent_ms = []
    with (
        mock.patch.object(current_app, "send_task") as sent,
        mock.patch.object(in_flight, "TAKEN_WITHIN_S", 0.01),
        CaptureQueriesContext(connection) as queries,
    ):
        dispatch.dispatch_due()
        messages, count = sent.call_count, len(queries)
    with mock.patch.object(current_app, "send_task"), mock.patch.object(in_flight, "TAKEN_WITHIN_S", 0.01):
        for _nth in range(REPEATS):
            time.sleep(0.02)  # what the last one sent counts as lost
            before = time.process_time()
            dispatch.dispatch_due()
            spent_ms.append(1000 * (time.process_time() - before))
    return statistics.median(spent_ms), count, messages


class StandIn(threading.Thread):
    """A generator of this name: takes its messages and does with each run what the task of a worker does."""

    def __init__(self, name: str, load_s: tuple[float, float], over: threading.Event) -> None:
        super().__init__(name=name, daemon=True)
        self.load_s, self.over, self.taken = load_s, over, 0
        self._draw = random.Random(name)

    def run(self) -> None:
        from celery import current_app

        from core.lib import queues

        with current_app.connection_for_read() as broker:
            queue = broker.SimpleQueue(queues.of_generator(self.name), no_ack=True)
            while not self.over.is_set():
                try:
                    message = queue.get(timeout=0.5)
                except queue.Empty:
                    continue
                self.taken += 1
                self._carry_out(str(message.payload[0][0]))

    def _carry_out(self, run_id: str) -> None:
        from benchmarks.models import Run, Status
        from benchmarks.runs.submission import dispatch, in_flight

        run = Run.objects.claim(run_id, self.name)
        in_flight.end(run_id)
        if run:
            time.sleep(self._draw.uniform(*self.load_s))
            run.finish(Status.SUCCEEDED)
        dispatch.dispatch_due()


def delays_ms(names: Sequence[str], runs: int, load_s: tuple[float, float]) -> tuple[list[float], float]:
    """Let stand-ins carry out so many runs, each of `load_s` from the least to the most.

    Return the delays between two runs of a generator, and the messages for each run.
    """
    from benchmarks.models import Run, Status
    from benchmarks.runs.submission import dispatch

    over = threading.Event()
    stand_ins = [StandIn(name, load_s, over) for name in names]
    for one in stand_ins:
        one.start()
    for run in Run.objects.filter(status=Status.STARTING):
        run.finish(Status.SUCCEEDED)
    began = Run.objects.filter(status=Status.SUCCEEDED).count()
    while (done := Run.objects.filter(status=Status.SUCCEEDED).count()) - began < runs and Run.objects.due().exists():
        beat(names)
        dispatch.dispatch_due()  # as beat's task does every five seconds
        time.sleep(BEATS_S)
    over.set()
    for one in stand_ins:
        one.join(30)
    return _gaps_ms(names), sum(one.taken for one in stand_ins) / max(1, done - began)


def _gaps_ms(names: Sequence[str]) -> list[float]:
    from benchmarks.models import Run

    gaps: list[float] = []
    for name in names:
        rows: list[Any] = list(Run.objects.filter(generator=name, started_at__isnull=False).order_by("started_at"))
        pairs = pairwise(rows[1:])  # the first was ended by hand
        gaps += [1000 * (after.started_at - before.finished_at).total_seconds() for before, after in pairs]
    return sorted(gaps)


def main() -> int:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--generators", type=int, default=50)
    parser.add_argument("--queued", type=int, default=100)
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--load-s", type=float, default=2.0)
    parser.add_argument("--spread", type=float, default=0.0, help="share of --load-s by which loads differ")
    parser.add_argument("--postgresql", action="store_true", help="keep the records in PostgreSQL, not in SQLite")
    asked = parser.parse_args()
    end_all_on_sigterm()
    with tempfile.TemporaryDirectory(prefix="pooldeck-bench-") as name:
        folder = Path(name)
        folder.chmod(0o755)
        with panel(folder, postgresql=asked.postgresql):
            names = seed(asked.generators, asked.queued)
            beat(names)
            cost_ms, queries, messages = cost_of_a_dispatch()
            print(f"a dispatch: {cost_ms:.1f} ms of processor, {queries} queries, {messages} messages", flush=True)
            load_s = (asked.load_s * (1 - asked.spread), asked.load_s * (1 + asked.spread))
            gaps_ms, taken = delays_ms(names, asked.runs, load_s)
    if gaps_ms:
        p95_ms = gaps_ms[int(len(gaps_ms) * 0.95)]
        print(f"from end to start, {len(gaps_ms)} pairs: p50 {statistics.median(gaps_ms):.0f} ms, p95 {p95_ms:.0f} ms")
    print(f"messages for each run: {taken:.1f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
