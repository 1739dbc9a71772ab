"""What a dead worker left: its runs are ended, its folders removed."""

import os
import tempfile
import uuid
from datetime import timedelta

import pytest
from django.utils import timezone

from benchmarks.models import Run, Sample, Status, Validity
from benchmarks.processes import workdir
from benchmarks.runs.execution import reaper
from panel.quickstart.ports import free_port
from pools.models import Pooler
from tests.pools.api.conftest import make_cluster
from tests.pools.records import a_pooler

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def no_redis(settings):
    settings.REDIS_URL = f"redis://127.0.0.1:{free_port()}/0"


@pytest.fixture(autouse=True)
def folders_of_its_own(monkeypatch, tmp_path):
    """Other panels on this host reap the folders they find in /tmp at the same time."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))


@pytest.fixture
def running() -> Run:
    """A run of this moment."""
    run = Run.objects.claim(str(Run.objects.enqueue(cluster=make_cluster()).pk), "north")
    run.write(status=Status.RUNNING)
    return run


def expire(run: Run) -> None:
    Run.objects.filter(pk=run.pk).update(lease_until=timezone.now() - timedelta(seconds=1))


def test_a_run_whose_lease_ran_out_is_lost_with_its_reason_and_its_samples(running):
    Sample.objects.create(run=running, attempt=1, seq=2, t=1.0)
    expire(running)
    assert reaper.reap() == [running]
    run = Run.objects.get()
    assert (run.status, run.validity, run.samples.count()) == (Status.LOST, Validity.INCOMPLETE, 1)
    assert run.error.startswith("its worker on generator north was lost: its lease ran out at ")
    assert reaper.reap() == []


def test_a_run_that_is_well_is_left_alone(running):
    assert reaper.reap() == []
    assert Run.objects.get().status == Status.RUNNING


@pytest.mark.parametrize("ahead_s", [60, -60])
def test_a_worker_whose_clock_is_wrong_ends_no_healthy_run_and_takes_no_lock(running, monkeypatch, ahead_s):
    pooler = a_pooler()
    assert pooler.take_apply_lock()
    right = timezone.now
    monkeypatch.setattr(timezone, "now", lambda: right() + timedelta(seconds=ahead_s))
    assert (reaper.reap(), Pooler.objects.get(pk=pooler.pk).take_apply_lock()) == ([], False)
    running.write(status=Status.RUNNING)
    monkeypatch.undo()
    assert (reaper.reap(), Run.objects.get().status) == ([], Status.RUNNING)


def test_a_folder_is_removed_once_its_attempt_has_ended(running):
    with workdir.private_home(f"{running.pk.hex}-1", "secret") as home:
        reaper.remove_stale_homes()
        assert home.exists()
        running.finish(Status.LOST)
        reaper.remove_stale_homes()
        assert not home.exists()


def test_a_folder_of_a_run_that_another_panel_may_have_is_left_alone_until_it_is_old():
    with workdir.private_home(uuid.uuid4().hex + "-1", "secret") as home:
        reaper.remove_stale_homes()
        assert home.exists()
        os.utime(home, (0, 0))
        reaper.remove_stale_homes()
        assert not home.exists()


def test_a_run_that_nobody_answers_for_says_so_while_it_is_kept(running, monkeypatch):
    assert not running.is_silent
    expire(running)
    monkeypatch.setattr(reaper.sessions, "goes_on", lambda run, within_s: True)
    assert (reaper.reap(), Run.objects.get().status, Run.objects.get().is_silent) == ([], Status.RUNNING, True)
    running.request_cancel()
    assert [lost.status for lost in reaper.reap()] == [Status.LOST]
    assert not Run.objects.get().is_silent


def test_a_run_that_is_kept_is_renewed_by_its_worker(running, monkeypatch):
    expire(running)
    monkeypatch.setattr(reaper.sessions, "goes_on", lambda run, within_s: True)
    assert reaper.reap() == []
    running.write(status=Status.RUNNING)
    monkeypatch.undo()
    assert (reaper.reap(), Run.objects.get().is_silent) == ([], False)
