"""Runs for tests, saved as a worker would have left them."""

from datetime import timedelta
from typing import Any

from django.utils import timezone

from benchmarks.engines import DEFAULT_ENGINE, ENGINES
from benchmarks.models import PoolSample, Purpose, Run, RunOutput, Sample, Status, Validity


def a_run(points: int = 0, **fields: Any) -> Run:
    """A run of the usual engine with samples of 100, 200, … tps, one a second; queued where no status is given."""
    values = {"target_label": "demo/shop", "database": "shop", "engine": DEFAULT_ENGINE, "options": the_options()}
    run = Run.objects.enqueue(**values | fields)
    for at in range(1, points + 1):
        figures = {"tps": at * 100.0, "latency_ms": 10.0 / at, "stddev_ms": 1.0, "failed": 0}
        Sample.objects.create(run=run, attempt=run.attempt or 1, seq=2 * at, t=float(at), **figures)
    return run


def a_finished_run(points: int = 3, **fields: Any) -> Run:
    """A valid run with its summary, command and output."""
    began = timezone.now() - timedelta(minutes=5)
    values = {
        "status": Status.SUCCEEDED,
        "validity": Validity.VALID,
        "attempt": 1,
        "exit_code": 0,
        "started_at": began,
        "load_began_at": began,
        "finished_at": began + timedelta(seconds=30),
        "summary": {
            "tps": 6396.18,
            "latency_avg_ms": 1.5,
            "latency_stddev_ms": 0.75,
            "transactions": 1918,
            "failed": 0,
        },
        "command": ["pgbench", "-n", "host=127.0.0.1 dbname='my shop'"],
        "server_version": "15.14",
    }
    run = a_run(points, **values | fields)
    RunOutput.objects.create(run=run, stdout="tps = 6396.18\n", stderr="progress: 1.0 s, 100.0 tps\nvacuum is off\n")
    return run


def look_at_pool(run: Run, seq: int, t: float, **figures: int | None) -> PoolSample:
    """One look at the pool of a run."""
    values = {"cl_active": 4, "cl_waiting": 6, "sv_active": 4, "sv_idle": 0, "maxwait_ms": 2.5} | figures
    return PoolSample.objects.create(run=run, attempt=1, seq=seq, t=t, **values)


def the_options(**chosen: Any) -> dict[str, Any]:
    """The options of a run of the usual engine by default, with those chosen."""
    options: dict[str, Any] = ENGINES[DEFAULT_ENGINE].validate(chosen, purpose=Purpose.LOAD)
    return options
