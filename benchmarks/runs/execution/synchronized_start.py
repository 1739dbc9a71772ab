"""What a part does that other runs don't: it says that it is ready, and starts on the mark of the whole."""

import time
from collections.abc import Callable

from django.utils import timezone

from benchmarks.models import Purpose, Run
from benchmarks.runs.execution import clock_sync
from benchmarks.runs.execution.recorder import Recorder
from benchmarks.targets import resolve
from pools.clusters import connect

LOOK_S = 0.1
BUSY_S = 0.002  # of the wait for the mark; sleeping wakes up late by a little


def start_of(recorder: Recorder, check: Callable[[], None]) -> float:
    """The monotonic time at which the load is to start: now, or for a part the mark that it waits for.

    `check` renews the lease and raises where the run must end. Raises `ClusterUnreachable` for a part that can't
    reach the endpoint, and `QueueDown`.
    """
    run = recorder.run
    if run.parent_id is None:
        return time.monotonic()
    connect.connect_endpoint(resolve.endpoint_of(run), application_name=run.application_name).close()
    recorder.state(ready_at=timezone.now())
    at_once = Run.objects.filter(pk=run.pk).values_list("start_at", flat=True)
    while (mark := at_once.get()) is None:
        check()
        time.sleep(LOOK_S)
    clock = clock_sync.read_clock()
    recorder.state(conditions=run.conditions | {"start": {"clock_error_ms": round(clock.error_s * 1000, 3)}})
    return clock.monotonic(mark)


def wait_until(at: float) -> None:
    """Sleep until a monotonic time; not at all where it is past."""
    while (left := at - time.monotonic()) > 0:
        time.sleep(left - BUSY_S if left > BUSY_S else 0)


def note_start(recorder: Recorder, at: float) -> None:
    """Keep by how much a part's program was started after its mark."""
    if recorder.run.parent_id is None:
        return
    start = recorder.run.conditions["start"] | {"late_ms": round((time.monotonic() - at) * 1000, 3)}
    recorder.state(conditions=recorder.run.conditions | {"start": start})


def why_ended(run: Run) -> str:
    """What a run says that somebody ended; a part tells whether that was about it."""
    whole = Run.objects.filter(pk=run.parent_id, cancel_requested_at=None).first() if run.parent_id else None
    if whole is None:
        return "cancelled" if run.purpose == Purpose.PREPARE else "cancelled; figures are those until then"
    return f"ended together with {whole}, which could not go on; figures are those until then"
