"""Idle connections beside a load: there through all of it, gone after it, counted and weighed."""

import time

import pytest

from benchmarks.errors import InvalidOptions
from benchmarks.models import Run, SettingsProfile, Status
from benchmarks.runs.execution import runner
from benchmarks.runs.execution.recorder import Recorder
from benchmarks.runs.setup import connection_headroom
from benchmarks.runs.setup import idle_connections as idle_module
from benchmarks.runs.submission import cancel
from benchmarks.targets import resolve
from benchmarks.targets.resolve import Target
from panel.quickstart.servers import PostgresServer
from tests.live.benchmarks.conftest import execute, has_samples, wait_for

SESSIONS = "SELECT count(*) FROM pg_stat_activity WHERE application_name LIKE %s"


@pytest.fixture
def sessions(postgres: PostgresServer):
    def count(run: Run) -> int:
        with postgres.connect() as session:
            return session.execute(SESSIONS, (f"pooldeck-{run.pk.hex[:12]}-%-idle",)).fetchone()[0]

    return count


def test_they_stand_through_the_load_and_are_closed_after_it(submit, worker, sessions):
    run = submit(idle_connections=12, duration=4, rate=50)
    wait_for(run, has_samples(1), 60.0)
    assert sessions(run) == 12
    done = wait_for(run, lambda found: found.is_final, 60.0)
    assert done.status == Status.SUCCEEDED, done.error
    wait_for(run, lambda found: sessions(run) == 0, 60.0)  # a closed session is there until its process has ended
    idle = done.conditions["idle"]
    assert (idle["connections"], idle["closed_by_others"], idle["memory"]) == (12, 0, "measured")
    assert idle["opened_in_s"] > 0
    assert 1_000_000 < idle["memory_bytes_each"] < 30_000_000  # 37 million with LLVM loaded
    assert idle["memory_bytes"] == 12 * idle["memory_bytes_each"]


def test_watchers_are_told_how_many_are_open(submit, in_this_process, monkeypatch):
    described, report = [], Recorder.progress
    monkeypatch.setattr(Recorder, "progress", lambda self, percent: (described.append(percent), report(self, percent)))
    monkeypatch.setattr(idle_module, "read_catalog", lambda connection: time.sleep(0.4))
    run = execute(submit(idle_connections=40))
    assert run.status == Status.SUCCEEDED, run.error
    assert len(described) >= 2
    assert described == sorted(described)
    assert 0 < described[-1] <= 100
    assert run.progress_percent is None


def test_through_a_pool_they_are_the_poolers(pool, submit, in_this_process, sessions):
    done = execute(submit(pool, idle_connections=8))
    assert done.status == Status.SUCCEEDED, done.error
    assert (done.conditions["idle"]["memory"], done.conditions["idle"]["connections"]) == ("pooled", 8)


def test_past_the_pooler_where_asked_for(pool, submit, in_this_process):
    done = execute(submit(pool, idle_connections=5, idle_at="cluster"))
    assert (done.status, done.conditions["idle"]["memory"]) == (Status.SUCCEEDED, "measured")


def test_more_than_the_server_takes_are_refused_before_they_take_all_it_has(submit, in_this_process):
    with pytest.raises(InvalidOptions) as refused:
        submit(idle_connections=300)
    why = (
        "300 connections are more than the 97 that live has for logins (max_connections 100, 3 of them reserved): use "
        "at most 97, or let them go through a pool"
    )
    assert refused.value.errors == {"idle_connections": [why]}


def test_those_that_the_runs_own_settings_profile_makes_room_for_are_not_refused(cluster):
    SettingsProfile.objects.create(name="many", values={"max_connections": "1200"})
    target, many = Target(cluster, "app"), {"settings_profile": "many"}
    with resolve.admin_session(target, None) as session:
        with pytest.raises(InvalidOptions, match="200 connections are more than the 97"):
            connection_headroom.guard(target, "pgbench", {"idle_connections": 200}, session)
        connection_headroom.guard(target, "pgbench", {"idle_connections": 1000} | many, session)
        with pytest.raises(InvalidOptions, match=r"1,200 connections are more than the 1,197 .*max_connections 1,200"):
            connection_headroom.guard(target, "pgbench", {"idle_connections": 1200} | many, session)


def test_those_to_the_cluster_are_its_own_and_those_to_a_pool_the_poolers(pool, submit, in_this_process):
    with pytest.raises(InvalidOptions, match="300 connections are more than the 97"):
        submit(pool, idle_connections=300, idle_at="cluster")
    assert submit(pool, idle_connections=300).options["idle_connections"] == 300


def test_more_than_the_server_has_left_end_the_run_with_the_reason(submit, in_this_process, sessions, monkeypatch):
    monkeypatch.setattr(connection_headroom, "guard", lambda *_: None)
    monkeypatch.setattr(idle_module, "read_catalog", lambda connection: None)  # a quarter of a second for each of 97
    done = execute(submit(idle_connections=300))
    assert done.status == Status.FAILED
    assert "of 300 idle connections could be opened" in done.error
    assert done.command == []
    wait_for(done, lambda found: sessions(done) == 0, 60.0)


def test_a_cancel_is_seen_while_they_are_opened(submit, worker, sessions):
    run = submit(idle_connections=90, duration=60)
    wait_for(run, lambda found: sessions(run) > 0, 60.0)
    cancel.cancel(run)
    done = wait_for(run, lambda found: found.is_final, 60.0)
    assert done.status == Status.CANCELLED
    wait_for(run, lambda found: sessions(run) == 0, 60.0)


def test_a_killed_session_makes_the_figures_doubtful(submit, in_this_process, postgres, monkeypatch):
    ending = runner._run_program

    def load_and_kill(run, *rest):
        with postgres.connect() as session:
            session.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name LIKE %s LIMIT 1",
                ("pooldeck-%-idle",),
            )
        return ending(run, *rest)

    monkeypatch.setattr(runner, "_run_program", load_and_kill)
    done = execute(submit(idle_connections=4, duration=2))
    assert done.conditions["idle"]["closed_by_others"] == 1
    assert (done.validity, done.reasons) == (
        "suspect",
        ["1 of 4 idle connections was closed by the server or the pooler before the load ended"],
    )
