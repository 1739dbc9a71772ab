"""What a part does that other runs don't; with workers: tests/live/benchmarks/spread."""

import time
from datetime import timedelta

import pytest
from django.utils import timezone

from benchmarks.models import Run, Status
from benchmarks.runs.execution import synchronized_start
from benchmarks.runs.execution import synchronized_start as clock_sync
from benchmarks.runs.execution.recorder import Recorder
from benchmarks.runs.execution.synchronized_start import Clock
from panel.quickstart.ports import free_port
from pools.clusters import connect
from pools.errors import ClusterUnreachable
from tests.pools.api.conftest import make_cluster

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def no_redis(settings):
    settings.REDIS_URL = f"redis://127.0.0.1:{free_port()}/0"


@pytest.fixture
def part() -> Run:
    whole = Run.objects.enqueue(wanted_generators=["east", "west"], status=Status.STARTING)
    lease = timezone.now() + timedelta(minutes=1)
    return Run.objects.enqueue(
        parent=whole, cluster=make_cluster(), generator="east", status=Status.STARTING, attempt=1, lease_until=lease
    )


def test_a_run_of_its_own_starts_at_once():
    run = Run.objects.enqueue(status=Status.STARTING)
    before = time.monotonic()
    assert before <= synchronized_start.await_start(Recorder(run), lambda: None) <= time.monotonic()
    synchronized_start.note_start(Recorder(run), before)
    assert run.conditions == {}


def test_a_part_that_reaches_nobody_is_never_ready(part):
    with pytest.raises(ClusterUnreachable):
        synchronized_start.await_start(Recorder(part), lambda: None)
    part.refresh_from_db()
    assert part.ready_at is None


def test_a_part_waits_for_the_mark_and_tells_how_late_it_was(part, monkeypatch):
    class Session:
        def close(self) -> None:
            """Nothing was opened."""

    monkeypatch.setattr(connect, "connect_endpoint", lambda *_, **__: Session())
    mark = timezone.now() + timedelta(seconds=60)
    monkeypatch.setattr(clock_sync, "read_clock", lambda: Clock(mark.timestamp() - 1000.0, 0.0005))
    observations: list[bool] = []

    def check() -> None:
        part_now = Run.objects.get(pk=part.pk)
        observations.append(part_now.ready_at is not None)
        Run.objects.filter(pk=part.pk).update(start_at=mark)

    assert synchronized_start.await_start(Recorder(part), check) == pytest.approx(1000.0, abs=0.001)
    assert observations == [True]
    synchronized_start.note_start(Recorder(part), time.monotonic() - 0.25)
    assert part.conditions["start"]["clock_error_ms"] == 0.5
    assert 250 <= part.conditions["start"]["late_ms"] < 5_000


def test_waiting_ends_on_the_moment_and_not_before():
    at = time.monotonic() + 0.05
    synchronized_start.wait_until(at)
    assert 0 <= time.monotonic() - at < 5
    synchronized_start.wait_until(at - 10)


def test_an_end_that_another_part_caused_is_told_as_such(part):
    assert synchronized_start.why_ended(part).startswith("ended together with run 1, which could not go on")
    part.parent.request_cancel()
    assert synchronized_start.why_ended(part) == "cancelled; figures are those until then"
    assert synchronized_start.why_ended(part.parent) == "cancelled; figures are those until then"
