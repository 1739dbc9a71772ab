"""Workers that hang under a run: a load that goes on is kept, and a worker that wakes up late writes nothing more."""

import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta

import pytest
from django.utils import timezone

from benchmarks.models import Run, Status, Validity
from benchmarks.runs.execution import reaper, runner
from pools.models import Pool
from tests.live.benchmarks.conftest import Submit, ended, has_samples, pgbenches, wait_for, wait_until_load_is_silent
from tests.live.panel_programs import TestWorker
from tests.programs import below

pytestmark = pytest.mark.django_db(transaction=True)
GONE_WITHIN_S = 20.0


@contextmanager
def hung(worker: TestWorker, spared: list[int]) -> Iterator[None]:
    """The worker with all below it is stopped, but for these."""
    stopped = [pid for pid in (worker.process.pid, *below(worker.process.pid)) if pid not in spared]
    for pid in stopped:
        os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        for pid in stopped:
            os.kill(pid, signal.SIGCONT)


def expire(run: Run) -> None:
    """Its lease ran out a second ago."""
    Run.objects.filter(pk=run.pk).update(lease_until=timezone.now() - timedelta(seconds=1))


def wait_until_gone(run: Run) -> None:
    deadline = time.monotonic() + GONE_WITHIN_S
    while pgbenches(run):
        assert time.monotonic() < deadline, "its load goes on"
        time.sleep(0.05)


@pytest.mark.parametrize("through_the_pool", [False, True])
def test_a_run_whose_load_goes_on_is_kept_until_its_worker_is_back(
    worker: TestWorker, submit: Submit, pool: Pool, through_the_pool: bool
) -> None:
    run = submit(pool if through_the_pool else None, duration=8)
    running = wait_for(run, has_samples(1))
    with hung(worker, spared=pgbenches(running)):
        expire(running)
        assert reaper.reap() == []
        time.sleep(2.5)
        assert (reaper.reap(), Run.objects.get(pk=run.pk).status) == ([], Status.RUNNING)
    done = wait_for(run, ended)
    assert (done.status, done.attempt, done.error) == (Status.SUCCEEDED, 1, "")
    assert {round(sample.t) for sample in done.samples.all()} >= set(range(1, 8))


@pytest.mark.slow
def test_a_worker_that_wakes_up_after_its_run_was_ended_writes_nothing_and_ends_its_load(
    worker: TestWorker, submit: Submit
) -> None:
    running = wait_for(submit(duration=60), has_samples(1))
    with hung(worker, spared=[]):
        wait_until_load_is_silent(running)
        expire(running)
        assert [lost.pk for lost in reaper.reap()] == [running.pk]
        lost = Run.objects.get(pk=running.pk)
    wait_until_gone(lost)
    time.sleep(2 * runner.CHECK_S)
    after = Run.objects.get(pk=lost.pk)
    assert (after.status, after.validity, after.attempt) == (Status.LOST, Validity.INCOMPLETE, 1)
    assert (after.error, after.finished_at) == (lost.error, lost.finished_at)
    assert "(killed, hung, or cut off from the panel's database)" in after.error
    assert list(after.samples.values("seq")) == list(lost.samples.values("seq"))


@pytest.mark.parametrize("because", ["it was cancelled", "it is far beyond its time"])
def test_a_load_that_is_not_waited_for_is_ended_on_its_server(
    worker: TestWorker, submit: Submit, monkeypatch: pytest.MonkeyPatch, because: str
) -> None:
    running = wait_for(submit(duration=60), has_samples(1))
    with hung(worker, spared=pgbenches(running)):
        if because == "it was cancelled":
            running.request_cancel()
        else:
            monkeypatch.setattr(runner, "allowed_s", lambda run: 0.5)
        expire(running)
        assert [lost.pk for lost in reaper.reap()] == [running.pk]
        wait_until_gone(running)
    assert Run.objects.get(pk=running.pk).status == Status.LOST
