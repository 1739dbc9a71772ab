"""A part's side of a synchronized start: it reports that it is ready, and starts at the time set for the whole."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime

import redis
from django.utils import timezone
from django.utils.translation import gettext as _

from benchmarks.generators.heartbeats import asking_redis
from benchmarks.models import Purpose, Run
from benchmarks.models.conditions import Start
from benchmarks.runs.execution.outages import retry_until_available
from benchmarks.runs.execution.recorder import Recorder
from benchmarks.targets import resolve
from pools.clusters import connect

POLL_EVERY_S = 0.1
BUSY_S = 0.002  # The end of the wait is a busy loop, because sleep() wakes up a little late.


def await_start(recorder: Recorder, check: Callable[[], None]) -> float:
    """Return the monotonic time at which the load is to start: now, or the time set for all parts.

    `check` renews the lease and raises where the run must end. Raises `ClusterUnreachable` for a part that can't reach
    the endpoint, and `QueueDown`.
    """
    run = recorder.run
    if run.parent_id is None:
        return time.monotonic()
    connect.connect_endpoint(resolve.endpoint_of(run), application_name=run.application_name).close()
    recorder.state(ready_at=timezone.now())
    start_time = Run.objects.filter(pk=run.pk).values_list("start_at", flat=True)
    while (start_at := retry_until_available(start_time.get)) is None:
        check()
        time.sleep(POLL_EVERY_S)
    clock = read_clock()
    start: Start = {"clock_error_ms": round(clock.error_s * 1000, 3)}
    recorder.state(conditions={**run.conditions, "start": start})
    return clock.monotonic(start_at)


def wait_until(at: float) -> None:
    """Sleep until a monotonic time; return at once where it is past."""
    while (seconds := at - time.monotonic()) > 0:
        time.sleep(seconds - BUSY_S if seconds > BUSY_S else 0)


def note_start(recorder: Recorder, at: float) -> None:
    """Record by how much a part's program was started late."""
    if recorder.run.parent_id is None:
        return
    conditions = recorder.run.conditions
    start: Start = {**conditions["start"], "late_ms": round((time.monotonic() - at) * 1000, 3)}
    recorder.state(conditions={**conditions, "start": start})


def why_ended(run: Run) -> str:
    """Return why a run was ended by somebody; a part says whether the whole was."""
    parent = Run.objects.filter(pk=run.parent_id, cancel_requested_at=None).first() if run.parent_id else None
    if parent is None:
        return _("cancelled") if run.purpose == Purpose.PREPARE else _("cancelled; figures are those until then")
    return _("ended together with %(whole)s, which could not go on; figures are those until then") % {"whole": parent}


READINGS = 9


@dataclass(frozen=True)
class Clock:
    """The seconds by which Redis's clock (Unix time) is ahead of this process's monotonic one, with their error."""

    ahead_s: float
    error_s: float

    def common(self, monotonic: float) -> datetime:
        """Convert a monotonic time of this process to the common clock."""
        return datetime.fromtimestamp(monotonic + self.ahead_s, UTC)

    def monotonic(self, common: datetime) -> float:
        """Convert a time of the common clock to this process's monotonic one."""
        return common.timestamp() - self.ahead_s


def read_clock() -> Clock:
    """Return the clock by the quickest of several readings, since hosts' clocks may differ. Raises `QueueDown`."""
    with asking_redis() as client:
        client.ping()  # connecting is no part of a reading
        return most_precise([_reading(client) for _ in range(READINGS)])


def most_precise(readings: list[tuple[float, float, float]]) -> Clock:
    """Return the clock by the quickest (asked at, answered at, answer), whose middle is when Redis answered."""
    sent_at, answered, answer = min(readings, key=lambda reading: reading[1] - reading[0])
    return Clock(answer - (sent_at + answered) / 2, (answered - sent_at) / 2)


def _reading(client: "redis.Redis") -> tuple[float, float, float]:
    sent_at = time.monotonic()
    seconds, microseconds = client.time()
    return sent_at, time.monotonic(), int(seconds) + int(microseconds) / 1e6
