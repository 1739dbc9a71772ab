"""A copied or restored installation is found at its start, and paused until a person resumes it."""

import shutil
from pathlib import Path

import pytest
from django.test import Client

from benchmarks.models import Run, Status
from benchmarks.runs.submission import queue_status
from core.installation import copies, pausing
from core.installation.models import Installation
from panel import start
from pools import task_queue, tasks
from pools.console import commands
from pools.errors import IllegalTransition
from pools.models import PoolState
from tests import callers
from tests.benchmarks import records as benchmark_records
from tests.pages import page_of
from tests.pools import records

pytestmark = pytest.mark.django_db


@pytest.fixture
def home(tmp_path: Path) -> Path:
    folder = tmp_path / "home"
    folder.mkdir()
    return folder


def paused() -> None:
    Installation.objects.create(home="/a", home_inode=1, last_start="0" * 32, paused_at="2026-01-01T00:00Z")


def browser(*, staff: bool = True) -> Client:
    client = Client()
    client.force_login(callers.person(staff=staff))
    return client


def test_every_start_in_the_same_home_goes_on(home: Path) -> None:
    for _ in range(3):
        assert copies.recognize(home).paused_at is None
    assert not pausing.is_paused()


def test_a_home_at_another_path_is_a_copy(home: Path, tmp_path: Path) -> None:
    copies.recognize(home)
    shutil.copytree(home, tmp_path / "copy")
    found = copies.recognize(tmp_path / "copy")
    assert found.paused_because == f"its home was {home} and is now {tmp_path / 'copy'}"
    assert pausing.is_paused()


def test_a_home_put_back_at_its_path_was_restored(home: Path, tmp_path: Path) -> None:
    copies.recognize(home)
    shutil.copytree(home, tmp_path / "backup")
    home.rename(tmp_path / "old")
    shutil.copytree(tmp_path / "backup", home)
    assert "copied or restored from a backup" in copies.recognize(home).paused_because


def test_a_database_older_than_its_home_was_restored(home: Path) -> None:
    copies.recognize(home)
    dump = Installation.objects.values().get()
    copies.recognize(home)
    Installation.objects.filter(pk=1).update(**dump)
    assert "not from the same start" in copies.recognize(home).paused_because


def test_a_database_beside_a_new_home_was_restored(home: Path) -> None:
    copies.recognize(home)
    (home / copies.FILE_NAME).unlink()
    assert "not from the same start" in copies.recognize(home).paused_because


@pytest.mark.parametrize("killed_before", ["update_or_create", "the second write"])
def test_a_start_that_was_killed_halfway_is_no_copy(home: Path, monkeypatch, killed_before: str) -> None:
    copies.recognize(home)

    class Killed(Exception):
        pass

    def kill(*_: object, **__: object) -> None:
        raise Killed

    with monkeypatch.context() as patched:
        if killed_before == "update_or_create":
            patched.setattr(type(Installation.objects), "update_or_create", kill)
        else:
            write, calls = copies._write_starts, []
            patched.setattr(copies, "_write_starts", lambda *a: kill() if calls else (calls.append(1), write(*a)))
        with pytest.raises(Killed):
            copies.recognize(home)
    assert copies.recognize(home).paused_at is None


@pytest.mark.parametrize("folder", ["/etc/pgbouncer", "/home/elsewhere/var/pgbouncer", ""])
def test_a_database_without_a_record_that_knows_poolers_elsewhere_may_be_a_copy(home: Path, folder: str) -> None:
    records.a_pooler(config_dir=folder)
    found = start.recognize_a_copy(home)
    assert found.paused_at
    assert "kept no record of its home" in found.paused_because
    assert (folder or "watched") in found.paused_because
    pausing.resume()
    assert start.recognize_a_copy(home).paused_at is None


def test_a_copied_home_of_a_release_without_records_is_found(home: Path, tmp_path: Path) -> None:
    records.a_pooler(config_dir=str(home / "pgbouncer"))
    shutil.copytree(home, tmp_path / "copy")
    assert str(home / "pgbouncer") in start.recognize_a_copy(tmp_path / "copy").paused_because


def test_a_new_database_and_one_whose_poolers_lie_in_its_home_go_on(home: Path) -> None:
    assert start.recognize_a_copy(home).paused_at is None
    Installation.objects.all().delete()
    records.a_pooler(config_dir=str(home / "pgbouncer"))
    assert start.recognize_a_copy(home).paused_at is None


def test_a_paused_panel_stays_paused_over_a_restart(home: Path, tmp_path: Path) -> None:
    copies.recognize(home)
    shutil.copytree(home, tmp_path / "copy")
    for _ in range(2):
        assert copies.recognize(tmp_path / "copy").paused_at
    pausing.resume()
    assert copies.recognize(tmp_path / "copy").paused_at is None


def test_no_task_that_touches_a_server_does_anything_while_paused(monkeypatch) -> None:
    paused()
    done = []
    monkeypatch.setattr(tasks.deployment, "apply_pooler", lambda *a, **k: done.append("apply"))
    monkeypatch.setattr(tasks.health_check, "check_all", lambda: done.append("check"))
    monkeypatch.setattr(tasks.notifications, "send_due", lambda: done.append("tell"))
    pooler = records.a_pooler()

    def everything() -> None:
        for task, words in (
            (tasks.apply_pooler, [str(pooler.pk)]),
            (tasks.overwrite_drift, [str(pooler.pk)]),
            (tasks.check_everything, []),
            (tasks.send_notifications, []),
        ):
            task.apply(args=words, throw=True)

    everything()
    assert done == []
    pausing.resume()
    everything()
    assert done == ["apply", "apply", "check", "tell"]


def test_beats_tasks_are_known_to_be_pausable() -> None:
    from panel.celery import app

    app.loader.import_default_modules()
    ours = [task for name, task in app.tasks.items() if name.startswith(("pools.", "benchmarks."))]
    assert len(ours) > 10
    assert all(isinstance(task, pausing.PausableTask) for task in ours)
    assert set(pausing.GO_ON) <= set(app.tasks)


def test_what_acts_at_once_is_refused_while_paused() -> None:
    paused()
    pool = records.a_pool()
    with pytest.raises(IllegalTransition, match="/installation/"):
        commands.pause(pool)
    with pytest.raises(IllegalTransition, match="/installation/"):
        task_queue.ask_to_overwrite(pool.pooler_id)
    answer = callers.bearer("apply").post(f"/api/v1/poolers/{pool.pooler_id}/apply/")
    assert (answer.status_code, answer.json()["detail"]) == (202, pausing.PAUSED)


def test_pages_of_a_paused_panel_say_so_and_show_no_green_tick() -> None:
    paused()
    pool = records.a_pool(state=PoolState.APPLIED)
    client = browser()
    for path in ("/", "/pools/", f"/pools/{pool.pk}/", "/poolers/"):
        page = page_of(client.get(path))
        assert "This panel is paused" in page
        assert "pd-state-tick" not in page
    assert "unverified" in page_of(client.get("/pools/"))
    live = callers.bearer("read").get(f"/api/v1/poolers/{pool.pooler_id}/config/").json()
    assert (live["state"], live["error"]) == ("unverified", pausing.PAUSED)


def test_a_queued_run_says_what_it_waits_for() -> None:
    paused()
    run = benchmark_records.a_run(status=Status.QUEUED)
    assert queue_status.waits_for(run).sentences == [pausing.PAUSED]
    assert Run.objects.get(pk=run.pk).status == Status.QUEUED


def test_a_person_resumes_it_after_looking_where_it_would_write() -> None:
    paused()
    pooler = records.a_pooler()
    client = browser()
    assert pooler.config_dir in page_of(client.get("/installation/"))
    client.post("/installation/resume/")
    assert pausing.is_paused()
    client.post("/installation/resume/", {"checked": "on"})
    assert not pausing.is_paused()
    assert "The panel is not paused" in page_of(client.get("/installation/"))


def test_only_an_admin_resumes_it() -> None:
    paused()
    assert callers.bearer("apply").post("/api/v1/installation/resume/").status_code == 403
    assert callers.bearer("read").get("/api/v1/installation/").json()["paused_at"]
    assert browser(staff=False).post("/installation/resume/", {"checked": "on"}).status_code == 403
    assert pausing.is_paused()
    assert callers.bearer("admin").post("/api/v1/installation/resume/").json()["paused_at"] is None
