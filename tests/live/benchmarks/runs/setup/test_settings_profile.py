"""Settings profiles on a real server: in force while the load is on, all as it was afterwards, whatever happened."""

import json
import sys
import time
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.db import OperationalError

from benchmarks.errors import InvalidOptions, Refused
from benchmarks.library.settings_profiles import apply, dry_start, restart, validation
from benchmarks.models import AppliedProfile, Run, SettingsProfile, Status
from benchmarks.models.runs import LEASE
from benchmarks.runs.execution import outages, reaper, runner
from benchmarks.runs.submission.submit import Placement
from panel.quickstart.servers import PostgresServer
from pools.clusters import connect as pg_connect
from pools.models import Cluster
from tests.benchmarks.submitting import submit_one
from tests.live.benchmarks.conftest import execute, has_samples, short, wait_for, wait_until_load_is_silent
from tests.live.panel_programs import TestWorker

MEMORY = {"work_mem": "7MB", "checkpoint_timeout": "7min"}


@pytest.fixture
def profile(db: None) -> SettingsProfile:
    return SettingsProfile.objects.create(name="tuned", values=MEMORY)


@pytest.fixture
def server_says(postgres: PostgresServer):
    def report(*names: str) -> list[str]:
        with postgres.connect() as session:
            return [session.execute(f"SHOW {name}").fetchone()[0] for name in names]

    return report


def auto_conf(postgres: PostgresServer) -> str:
    return (postgres.cluster_folder / "postgresql.auto.conf").read_text()


def test_it_is_in_force_while_the_load_is_on_and_gone_afterwards(submit, worker, profile, server_says, postgres):
    before = auto_conf(postgres)
    run = submit(settings_profile="tuned", duration=3)
    wait_for(run, has_samples(1))
    assert server_says("work_mem", "checkpoint_timeout") == ["7MB", "7min"]
    done = wait_for(run, lambda found: found.is_final, 30)
    assert done.status == Status.SUCCEEDED, done.error
    assert server_says("work_mem", "checkpoint_timeout") == ["4MB", "5min"]
    assert auto_conf(postgres) == before
    assert done.conditions["settings_profile"] == {
        "name": "tuned",
        "values": MEMORY,
        "before": {"work_mem": None, "checkpoint_timeout": None},
    }
    assert apply.applied_on(done.cluster) is None


def test_a_run_under_a_dangerous_setting_says_so(submit, in_this_process, profile):
    profile.values = {"autovacuum": "no"}
    profile.save(update_fields=["values"])
    done = execute(submit(settings_profile="tuned"))
    assert done.conditions["settings_profile"]["warnings"] == [
        "autovacuum = no: dead rows stay, tables grow and statistics age while it is off"
    ]


def test_what_alter_system_had_set_before_comes_back(submit, in_this_process, profile, postgres, server_says):
    with postgres.connect() as session:
        session.execute("ALTER SYSTEM SET work_mem = '5MB'")
        session.execute("SELECT pg_reload_conf()")
    try:
        done = execute(submit(settings_profile="tuned"))
        assert done.status == Status.SUCCEEDED, done.error
        assert server_says("work_mem") == ["5MB"]
        assert "work_mem = '5MB'" in auto_conf(postgres)
    finally:
        with postgres.connect() as session:
            session.execute("ALTER SYSTEM RESET work_mem")
            session.execute("SELECT pg_reload_conf()")


def test_a_failing_load_leaves_nothing_behind(submit, in_this_process, profile, postgres, monkeypatch):
    before = auto_conf(postgres)

    def fail(*_: object) -> None:
        raise OSError("the disk is gone")

    monkeypatch.setattr(runner, "_run_program", fail)
    done = execute(submit(settings_profile="tuned"))
    assert (done.status, done.error) == (Status.FAILED, "the disk is gone")
    assert (auto_conf(postgres), apply.applied_on(done.cluster)) == (before, None)


class AwayOnce:
    """The metadata database is away for the first call of something."""

    def __init__(self, then: Callable[..., Any]) -> None:
        self.then, self.calls = then, 0

    def __call__(self, *words: Any, **named: Any) -> Any:
        self.calls += 1
        if self.calls == 1:
            raise OperationalError("server closed the connection unexpectedly")
        return self.then(*words, **named)


@pytest.mark.parametrize("step", ["take_back", "_close"])
def test_the_end_waits_for_a_metadata_database_that_is_away(
    submit, in_this_process, profile, postgres, monkeypatch, step
):
    before, away = auto_conf(postgres), AwayOnce(getattr(apply, step))
    monkeypatch.setattr(outages, "RETRY_S", 0.01)
    monkeypatch.setattr(apply, step, away)
    done = execute(submit(settings_profile="tuned"))
    assert (done.status, done.error, away.calls) == (Status.SUCCEEDED, "", 2)
    assert (auto_conf(postgres), apply.applied_on(done.cluster)) == (before, None)
    assert "left" not in done.conditions["settings_profile"]


def test_a_run_that_is_prepared_anew_takes_back_what_it_had_put_in_force(
    submit, in_this_process, profile, postgres, monkeypatch
):
    before = auto_conf(postgres)
    monkeypatch.setattr(apply, "_verify", AwayOnce(apply._verify))
    monkeypatch.setattr(apply, "_close", AwayOnce(apply._close))
    done = execute(submit(settings_profile="tuned"))
    assert (done.status, done.error) == (Status.SUCCEEDED, "")
    assert (auto_conf(postgres), apply.applied_on(done.cluster)) == (before, None)
    assert AppliedProfile.objects.get(run=done).restored_at


def test_the_reaper_takes_back_what_a_killed_worker_left(cluster, dataset, make_worker, profile, postgres, server_says):
    before = auto_conf(postgres)
    worker: TestWorker = make_worker("doomed")
    target = {"cluster": str(cluster.pk), "database": dataset}
    asked = short(settings_profile="tuned", duration=30)
    # not by the worker of other tests, which may be there
    run = submit_one(target=target, options=asked, is_admin=True, place=Placement(["doomed"]))
    run = wait_for(run, has_samples(1))
    worker.kill()
    wait_until_load_is_silent(run)
    Run.objects.filter(pk=run.pk).update(lease_until=run.created_at - LEASE)
    reaper.reap()
    assert Run.objects.get(pk=run.pk).status == Status.LOST
    assert (server_says("work_mem"), auto_conf(postgres)) == (["4MB"], before)
    assert AppliedProfile.objects.get(run=run).restored_at


def test_one_at_a_time(submit, in_this_process, profile, cluster):
    first = submit(settings_profile="tuned")
    row = apply.apply_profile(first, cluster, {"work_mem": "9MB"})
    try:
        done = execute(submit(settings_profile="tuned"))
        assert done.status == Status.FAILED
        assert f"the settings profile of {first} is still in force on live" in done.error
    finally:
        assert apply.take_back(row)


def restartable_folder(cluster: Cluster) -> Path:
    return Path(show(cluster, "data_directory"))


def show(cluster: Cluster, name: str) -> str:
    with pg_connect.connect(cluster) as session:
        return session.execute(f"SHOW {name}").fetchone()[0]


def test_a_restart_level_setting_is_put_in_force_and_taken_back_by_restarts(restartable):
    run = Run.objects.enqueue(cluster=restartable, database="app", by_admin=True)
    row = apply.apply_profile(run, restartable, {"max_connections": "55", "work_mem": "9MB"})
    assert (show(restartable, "max_connections"), show(restartable, "work_mem")) == ("55", "9MB")
    assert apply.take_back(row)
    assert (show(restartable, "max_connections"), show(restartable, "work_mem")) == ("100", "4MB")


def alter(cluster: Cluster, name: str, value: str) -> None:
    """Somebody else's ALTER SYSTEM."""
    with pg_connect.connect(cluster) as session:
        session.execute(f"ALTER SYSTEM SET {name} = '{value}'")
        session.execute("SELECT pg_reload_conf()")


def test_a_restart_level_setting_that_somebody_else_changed_waits_for_their_restart(restartable):
    run = Run.objects.enqueue(cluster=restartable, database="app", by_admin=True)
    row = apply.apply_profile(run, restartable, {"max_connections": "55", "work_mem": "9MB"})
    alter(restartable, "max_connections", "77")
    assert apply.take_back(row)
    assert (show(restartable, "max_connections"), show(restartable, "work_mem")) == ("55", "4MB")
    assert (
        row.error
        == "max_connections was changed to 77 outside the panel while the profile was in force: its new value was kept"
    )
    restart.restart(restartable)
    assert show(restartable, "max_connections") == "77"


def test_a_restart_that_failed_once_is_not_tried_again_by_itself(restartable, monkeypatch):
    run = Run.objects.enqueue(cluster=restartable, database="app", by_admin=True)
    row = apply.apply_profile(run, restartable, {"max_connections": "55"})
    tried: list[Cluster] = []

    def fail(cluster: Cluster) -> None:
        tried.append(cluster)
        raise Refused("it does not")

    with monkeypatch.context() as patched:
        patched.setattr(restart, "restart", fail)
        assert (apply.take_back(row), apply.take_back(row), len(tried)) == (False, False, 1)
        assert row.error.endswith("does not follow: max_connections waits for a restart")
    restart.restart(restartable)
    assert (apply.take_back(row), show(restartable, "max_connections")) == (True, "100")


@pytest.fixture
def untried(monkeypatch: pytest.MonkeyPatch) -> None:
    """No dry start, as where the server runs on another host."""
    monkeypatch.setattr(dry_start, "problem", lambda *_: "")


def test_a_server_that_does_not_start_with_it_leaves_the_profile_open_and_says_what_to_do(restartable, untried):
    run = Run.objects.enqueue(cluster=restartable, database="app", by_admin=True)
    auto = restartable_folder(restartable) / "postgresql.auto.conf"
    with pytest.raises(Refused, match=r"take shared_buffers out of postgresql.auto.conf in its data directory"):
        apply.apply_profile(run, restartable, {"shared_buffers": "7TB"})
    row = apply.applied_on(restartable)
    assert row is not None
    assert row.error.startswith("settings of restartable are not back as they were: ")
    auto.write_text("".join(line for line in auto.read_text().splitlines(True) if "shared_buffers" not in line))
    restart.restart(restartable)
    assert (apply.take_back(row), show(restartable, "shared_buffers")) == (True, "128MB")


def test_a_server_that_does_not_start_with_it_is_started_as_it_was(restartable, untried, settings):
    folder = restartable_folder(restartable)
    alter(restartable, "work_mem", "6MB")
    file = Path(settings.RESTART_FILE)
    (restart_words,) = tomllib.loads(file.read_text())["restart"].values()
    module = [sys.executable, "-m", "benchmarks.library.settings_profiles.auto_conf", str(folder), *restart_words]
    words = ["env", f"--chdir={settings.BASE_DIR}", *module]
    file.write_text(f"{file.read_text()}[undo]\nrestartable = {json.dumps(words)}\n")
    run = Run.objects.enqueue(cluster=restartable, database="app", by_admin=True)
    with pytest.raises(
        Refused, match=r"shared_buffers, work_mem were put back as they were, and the server runs again"
    ):
        apply.apply_profile(run, restartable, {"shared_buffers": "7TB", "work_mem": "9MB"})
    assert (show(restartable, "shared_buffers"), show(restartable, "work_mem")) == ("128MB", "6MB")
    assert apply.applied_on(restartable) is None


@pytest.mark.parametrize(
    "values", [{"shared_buffers": "500GB"}, {"huge_pages": "on"}, {"max_locks_per_transaction": "200000000"}]
)
def test_what_the_server_would_not_start_with_is_refused_by_a_dry_start(restartable, values):
    run = Run.objects.enqueue(cluster=restartable, database="app", by_admin=True)
    started = show_start(restartable)
    reason = r"restartable would not start with these settings \(a dry start reports: .*FATAL"
    with pytest.raises(Refused, match=reason):
        apply.apply_profile(run, restartable, values)
    assert show_start(restartable) == started
    assert not AppliedProfile.objects.exists()


@pytest.mark.parametrize("values", [{"max_connections": "3"}, {"superuser_reserved_connections": "100"}])
def test_settings_that_contradict_each_other_are_refused_without_a_try(restartable, values):
    """The server's own `--check` let `max_connections = 3` pass, and the server did not start."""
    run = Run.objects.enqueue(cluster=restartable, database="app", by_admin=True)
    assert not dry_start_finds(restartable, values)
    with pytest.raises(Refused, match=r"max_connections \(\d+\) has to be more than the reserved connections \(\d+\)"):
        apply.apply_profile(run, restartable, values)
    assert not AppliedProfile.objects.exists()


def dry_start_finds(cluster: Cluster, values: dict[str, str]) -> str:
    with pg_connect.connect(cluster) as session:
        assert dry_start.why_untried(session) == ""
        return dry_start.problem(session, values)


def show_start(cluster: Cluster) -> object:
    with pg_connect.connect(cluster) as session:
        return session.execute("SELECT pg_postmaster_start_time()").fetchone()[0]


@pytest.mark.parametrize("name", ["statement_timeout", "lock_timeout", "idle_session_timeout"])
def test_a_time_out_of_the_cluster_does_not_end_the_panels_sessions(restartable, name):
    run = Run.objects.enqueue(cluster=restartable, database="app", by_admin=True)
    row = apply.apply_profile(run, restartable, {name: "1ms"})
    with pg_connect.connect(restartable) as session:
        session.execute("SELECT pg_sleep(0.05)")
        time.sleep(0.05)
        assert session.execute(f"SHOW {name}").fetchone() == ("0",)
    assert apply.take_back(row)
    assert show_file(restartable, name) is None


def show_file(cluster: Cluster, name: str) -> object:
    with pg_connect.connect(cluster) as session:
        return session.execute("SELECT setting FROM pg_file_settings WHERE name = %s", (name,)).fetchone()


@pytest.mark.parametrize(
    ("values", "problem"),
    [
        ({"shared_buffers": "500GB"}, "shared_buffers: without the scope admin, use "),
        ({"work_mem": "1TB"}, "work_mem: without the scope admin, use "),
        ({"huge_pages": "on"}, "huge_pages: without the scope admin, use off / try"),
        ({"max_connections": "20"}, "max_connections: without the scope admin, use 100…10000"),
        ({"statement_timeout": "1ms"}, "statement_timeout: more than tuning"),
        ({"session_replication_role": "replica"}, "session_replication_role: more than tuning"),
    ],
)
def test_a_starter_without_the_scope_admin_gets_tuning_only(restartable, values, problem):
    found = validation.check(restartable, values, is_admin=False).problems
    assert len(found) == 1
    assert found[0].startswith(problem)
    assert validation.check(restartable, values, is_admin=True).problems == []
    run = Run.objects.enqueue(cluster=restartable, database="app")
    with pytest.raises(Refused):
        apply.apply_profile(run, restartable, values)


def test_without_a_command_a_restart_is_refused_before_anything_is_touched(submit, cluster, profile):
    profile.values = {"max_connections": "300"}
    profile.save(update_fields=["values"])
    with pytest.raises(InvalidOptions) as caught:
        submit(settings_profile="tuned")
    assert "max_connections is given on the server's command line" in caught.value.errors["settings_profile"][0]
    profile.values = {"max_wal_senders": "3"}
    profile.save(update_fields=["values"])
    with pytest.raises(InvalidOptions) as caught:
        submit(settings_profile="tuned")
    assert caught.value.errors["settings_profile"][0].startswith(
        "tuned: max_wal_senders would need a restart of live, which the panel may not do: "
    )


def test_a_protected_cluster_wants_its_database_typed(submit, cluster, profile):
    cluster.protected = True
    cluster.save(update_fields=["protected"])
    with pytest.raises(Refused, match=r"type the database's name, loaded, to go on"):
        submit(settings_profile="tuned")


@pytest.mark.parametrize(
    ("values", "problem"),
    [
        ({"work_mem": "7 apples"}, "'apples' is not a unit of work_mem"),
        ({"no_such_setting": "1"}, "this server has no setting no_such_setting: leave it out"),
        ({"archive_command": "rm -rf /"}, "archive_command could lock the panel out"),
        ({"block_size": "4096"}, "block_size was fixed when the server was built: leave it out"),
    ],
)
def test_what_the_server_would_not_take_is_refused_before_the_run_is_saved(submit, profile, values, problem):
    SettingsProfile.objects.filter(pk=profile.pk).update(values=values)
    with pytest.raises(InvalidOptions) as caught:
        submit(settings_profile="tuned")
    assert caught.value.errors["settings_profile"][0].startswith(f"tuned: {problem}")
    assert not Run.objects.filter(purpose="load").exists()
