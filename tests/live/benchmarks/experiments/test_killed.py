"""Experiments of which a worker is killed or a person has enough: they end with a reason, and nothing is left."""

import time
from collections.abc import Callable
from pathlib import Path

import pytest

from benchmarks.experiments import dispatch, lifecycle, start
from benchmarks.experiments.start import ExperimentRequest
from benchmarks.models import Dataset, Experiment, ExperimentState, Purpose, ResourceKind, Run, SettingsProfile, Status
from benchmarks.models.runs import LEASE
from benchmarks.runs.execution import reaper
from panel.quickstart.servers import PostgresServer
from pools.models import Cluster, Pool
from pools.provisioning import roles
from tests.live.benchmarks.conftest import wait_for, wait_until_load_is_silent
from tests.live.benchmarks.experiments.conftest import until_ended
from tests.live.panel_programs import TestBeat, TestWeb, TestWorker

pytestmark = pytest.mark.django_db(transaction=True)
LEFT = """
    SELECT rolname FROM pg_roles WHERE rolname LIKE 'pooldeck_experiment%'
     UNION ALL SELECT datname FROM pg_database WHERE datname LIKE 'pooldeck_experiment%'
"""
Begin = Callable[[], Experiment]


@pytest.fixture
def begin(checked: Cluster, author: object) -> Begin:
    """Starts a small comparison of direct and pooled."""

    def started() -> Experiment:
        arms = ["10-scram-none", "10-scram-pgbouncer"]
        options, dataset = {"duration": 3, "clients": 2, "rate": 30}, {"scale": 1}
        asked = {"arms": arms, "options": options, "dataset": dataset, "repeats": 1, "seed": 1}
        return start.start(ExperimentRequest(playbook="reconnect", cluster=checked, author=author, **asked))

    return started


def until_loaded(experiment: Experiment) -> Run:
    """Carry it on until its first load runs."""
    deadline = time.monotonic() + 90
    while True:
        lifecycle.advance_all()
        if run := experiment.runs.filter(purpose=Purpose.LOAD, status=Status.RUNNING).first():
            return run
        assert time.monotonic() < deadline
        time.sleep(0.1)


def loaded_by_itself(experiment: Experiment) -> Run:
    """Wait until its first load runs, which worker and beat see to."""
    deadline = time.monotonic() + 90
    while not (run := experiment.runs.filter(purpose=Purpose.LOAD, status=Status.RUNNING).first()):
        assert time.monotonic() < deadline
        time.sleep(0.1)
    return run


def nothing_is_left(experiment: Experiment, postgres: PostgresServer) -> None:
    assert experiment.resources.filter(removed_at=None).count() == 0
    assert not Pool.objects.filter(name__startswith="pooldeck_experiment").exists()
    assert not SettingsProfile.objects.exists()
    assert not Dataset.objects.exists()
    with postgres.connect() as session:
        assert session.execute(LEFT).fetchall() == []


def test_a_killed_worker_costs_its_run_and_the_experiment_goes_on(
    begin: Begin, worker: TestWorker, postgres: PostgresServer
) -> None:
    experiment = begin()
    run = until_loaded(experiment)
    worker.kill()
    worker.stop()
    wait_until_load_is_silent(run)
    Run.objects.filter(pk=run.pk).update(lease_until=run.created_at - LEASE)
    Experiment.objects.filter(pk=experiment.pk).update(lease_until=None)  # This simulates an expired lease.
    reaper.reap()
    assert wait_for(run, lambda found: found.is_final).status == Status.LOST
    worker.start()
    done = until_ended(experiment)
    assert done.state == ExperimentState.SUCCEEDED, done.reasons
    statuses = list(done.runs.filter(purpose=Purpose.LOAD).order_by("number").values_list("status", flat=True))
    assert statuses == [Status.LOST, Status.SUCCEEDED]
    nothing_is_left(done, postgres)


def test_a_preparation_lost_with_its_generator_is_made_by_a_second_one(
    begin: Begin, worker: TestWorker, postgres: PostgresServer
) -> None:
    worker.kill()
    worker.stop()
    experiment = begin()
    lifecycle.advance_all()
    (first,) = experiment.runs.all()
    assert Run.objects.claim(str(first.pk), "local")
    Run.objects.filter(pk=first.pk).update(lease_until=first.created_at - LEASE)
    reaper.reap()
    worker.start()
    done = until_ended(experiment)
    assert done.state == ExperimentState.SUCCEEDED, done.reasons
    statuses = list(done.runs.filter(purpose=Purpose.PREPARE).order_by("number").values_list("status", flat=True))
    assert statuses == [Status.LOST, Status.SUCCEEDED]
    nothing_is_left(done, postgres)


def test_all_programs_killed_at_once_and_started_again_end_it_without_help(
    begin: Begin, worker: TestWorker, postgres: PostgresServer, tmp_path: Path
) -> None:
    (tmp_path / "web").mkdir()
    (tmp_path / "beat").mkdir()
    with TestWeb(tmp_path / "web", worker.redis_url) as web, TestBeat(tmp_path / "beat", worker.redis_url) as beat:
        experiment = begin()
        run = loaded_by_itself(experiment)
        for program in (web, beat, worker):
            program.kill()
            program.stop()
        Run.objects.filter(pk=run.pk).update(lease_until=run.created_at - LEASE)
        Experiment.objects.filter(pk=experiment.pk).update(lease_until=None)  # This simulates an expired lease.
        for program in (web, beat, worker):
            program.start()
        deadline = time.monotonic() + 120
        while not experiment.has_ended:
            assert time.monotonic() < deadline, f"{experiment} is {experiment.state} ({experiment.phase}) still"
            time.sleep(0.2)
            experiment.refresh_from_db()
        web.probe()
    assert experiment.state == ExperimentState.SUCCEEDED, experiment.reasons
    run.refresh_from_db()
    assert run.status == Status.LOST
    nothing_is_left(experiment, postgres)


@pytest.mark.usefixtures("worker")
def test_a_cancelled_one_keeps_what_was_measured_and_removes_the_rest(begin: Begin, postgres: PostgresServer) -> None:
    experiment = begin()
    until_loaded(experiment)
    assert experiment.request_cancel()
    done = until_ended(experiment)
    assert (done.state, done.reasons) == (
        ExperimentState.CANCELLED,
        ["cancelled: what was measured until then is kept"],
    )
    assert [run.status for run in done.runs.filter(purpose=Purpose.LOAD)] == [Status.CANCELLED]
    nothing_is_left(done, postgres)


@pytest.mark.usefixtures("worker")
def test_a_crash_between_making_a_role_and_noting_it_leaves_nothing(
    begin: Begin, postgres: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    create = roles.create

    def crash(*asked: object) -> None:
        create(*asked)  # type: ignore[arg-type]
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(dispatch, "request_advance", lambda: None)  # Otherwise the worker might create the role first.
        experiment = begin()
        patched.setattr(roles, "create", crash)
        with pytest.raises(KeyboardInterrupt):
            lifecycle.advance(experiment.pk)
    row = experiment.resources.get(kind=ResourceKind.ROLE)
    assert row.made_at is None
    assert experiment.request_cancel()
    nothing_is_left(until_ended(experiment), postgres)
