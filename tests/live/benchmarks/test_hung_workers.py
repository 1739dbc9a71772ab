"""Workers that hang under a run: a load that goes on is kept, and a worker that wakes up late writes nothing more."""

import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta

import pytest
from django.utils import timezone

from benchmarks.models import ExternalEndpoint, Run, Status, Validity
from benchmarks.runs.execution import reaper, runner
from benchmarks.targets import external, sessions
from panel.quickstart.servers import PgBouncerServer, PostgresServer
from pools.models import Cluster, Pool
from tests.benchmarks.submitting import submit_one
from tests.live.benchmarks.conftest import (
    Submit,
    ended,
    has_samples,
    pgbenches,
    prepare,
    short,
    wait_for,
    wait_until_load_is_silent,
)
from tests.live.benchmarks.test_external import uri_of
from tests.live.conftest import APP_PASSWORD, APP_ROLE
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


@pytest.mark.slow
def test_a_preparation_that_sends_rows_in_one_long_copy_is_kept_and_lost_once_none_come(
    worker: TestWorker, cluster: Cluster, postgres: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    postgres.create_owner_and_database(APP_ROLE, APP_PASSWORD, "copied")
    monkeypatch.setattr(reaper, "DIED_BEFORE_S", -0.5)  # the copy began before that, and nothing since
    running = wait_for(prepare(cluster, "copied", scale=60), lambda run: (run.progress_percent or 0) > 2)
    with hung(worker, spared=pgbenches(running)):
        time.sleep(0.6)
        expire(running)
        assert reaper.reap() == []
        for pid in pgbenches(running):
            os.kill(pid, signal.SIGSTOP)
        wait_until_load_is_silent(running)  # what was sent has arrived
        assert [lost.pk for lost in reaper.reap()] == [running.pk]
        for pid in pgbenches(running):
            os.kill(pid, signal.SIGKILL)
    wait_until_gone(running)


def test_the_run_of_an_external_endpoint_is_kept_by_what_its_own_role_sees(
    worker: TestWorker, pool: Pool, pgbouncer: PgBouncerServer
) -> None:
    endpoint = external.save(ExternalEndpoint(), uri_of(pgbouncer), name="theirs", pooled_by="Odyssey")
    pool.delete()
    running = wait_for(
        submit_one(
            target={"external": str(endpoint.pk)}, options=short(builtin="select-only", duration=8), author=None
        ),
        has_samples(1),
    )
    with hung(worker, spared=pgbenches(running)):
        expire(running)
        assert reaper.reap() == []
        time.sleep(2.5)
        assert reaper.reap() == []
    done = wait_for(running, ended)
    assert (done.status, done.attempt, done.error) == (Status.SUCCEEDED, 1, "")


def test_a_server_that_lets_the_question_wait_is_given_up(
    cluster: Cluster, worker: TestWorker, submit: Submit, monkeypatch: pytest.MonkeyPatch
) -> None:
    running = wait_for(submit(duration=60), has_samples(1))
    monkeypatch.setattr(sessions, "ANSWERS_WITHIN_S", 0.5)
    monkeypatch.setattr(sessions, "_BEGUN_SINCE", "SELECT pg_sleep(60) WHERE %s <> '' AND %s > 0")
    begun = time.monotonic()
    assert not sessions.goes_on(running, 5.0)
    assert time.monotonic() - begun < 20
    running.request_cancel()
    wait_for(running, ended)
