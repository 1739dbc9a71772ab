"""Runs that end before their time: cancelled, hung, left by their pooler; nothing stays behind on the server."""

import os
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from asgiref.sync import async_to_sync
from django.db import connections

from benchmarks.errors import Refused
from benchmarks.models import Run, Status, Validity
from benchmarks.processes import process
from benchmarks.runs.execution import runner
from benchmarks.runs.live import events, follower, sources
from benchmarks.runs.submission import cancel
from panel.quickstart.servers import PgBouncerServer, PostgresServer
from pools.models import Pool
from tests.live.benchmarks.conftest import Submit, ended, execute, has_samples, homes_of, pgbenches, wait_for

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.usefixtures("in_this_process"),
]
Begin = Callable[[Run], threading.Thread]


@pytest.fixture
def begin() -> Begin:
    """Carries a run out in a thread of its own, which is waited for."""
    threads: list[threading.Thread] = []

    def carry_out(run: Run) -> None:
        try:
            execute(run)
        finally:
            connections.close_all()

    def start(run: Run) -> threading.Thread:
        thread = threading.Thread(target=carry_out, args=(run,))
        thread.start()
        threads.append(thread)
        return thread

    yield start
    for run in Run.objects.all():
        run.request_cancel()
    for thread in threads:
        thread.join(20)


def sessions_of(run: Run, postgres: PostgresServer, *, at_work: bool = False) -> int:
    """How many sessions the server has under the run's name; `at_work`: not the ones a pooler keeps for others."""
    with postgres.connect() as session:
        asked = "SELECT count(*) FROM pg_stat_activity WHERE application_name = %s AND (state <> 'idle' OR NOT %s)"
        return session.execute(asked, [run.application_name, at_work]).fetchone()[0]


@pytest.mark.parametrize("through_the_pool", [False, True])
def test_a_cancelled_run_ends_soon_keeps_its_figures_and_leaves_nothing(
    submit: Submit, begin: Begin, pool: Pool, postgres: PostgresServer, through_the_pool: bool
) -> None:
    run = submit(pool if through_the_pool else None, duration=60)
    begin(run)
    running = wait_for(run, has_samples(1))
    assert len(pgbenches(running)) == 1
    assert sessions_of(running, postgres) > 0
    asked_at = time.monotonic()
    running.request_cancel()
    running.request_cancel()
    done = wait_for(run, ended)
    assert time.monotonic() - asked_at < 30
    assert (done.status, done.validity) == (Status.CANCELLED, Validity.INCOMPLETE)
    assert done.error == "cancelled; figures are those until then"
    assert done.samples.count() >= 1
    assert "progress: " in done.output.stderr
    left = sessions_of(done, postgres, at_work=through_the_pool)
    assert (pgbenches(done), left, homes_of(done)) == ([], 0, [])
    done.request_cancel()
    assert Run.objects.get(pk=run.pk).status == Status.CANCELLED


def test_a_statement_that_outlives_its_client_is_ended_on_the_server(
    submit: Submit, begin: Begin, postgres: PostgresServer, dataset: str
) -> None:
    with postgres.connect(dataset) as blocker:
        run = submit(duration=60)
        blocker.execute("BEGIN")
        blocker.execute("LOCK TABLE pgbench_accounts")
        begin(run)
        running = wait_for(run, lambda found: sessions_of(found, postgres, at_work=True) == 2)
        running.request_cancel()
        done = wait_for(run, ended)
        assert done.status == Status.CANCELLED
        assert sessions_of(done, postgres) == 0


def test_a_run_cancelled_between_claim_and_start_starts_nothing(submit: Submit) -> None:
    run = Run.objects.claim(str(submit().pk), "local")
    assert run is not None
    Run.objects.get(pk=run.pk).request_cancel()
    runner.execute(run)
    done = Run.objects.get(pk=run.pk)
    assert (done.status, done.error, done.command) == (Status.CANCELLED, "cancelled before it started", [])


def test_who_watches_a_queued_run_sees_its_cancel_at_once(submit: Submit) -> None:
    run = submit()
    timer = threading.Timer(1.0, cancel_elsewhere, [run])

    async def watch() -> tuple[float, events.Event]:
        timer.start()
        seen = [(time.monotonic(), event) async for events in follower.follow(run.pk) for event in events]
        return seen[-1]

    began = time.monotonic()
    at, end = async_to_sync(watch)()
    timer.join()
    assert (end.name, end.payload["status"]) == ("end", "cancelled")
    assert at - began < 1.0 + sources.BLOCK_MS / 1000
    print(f"a watcher sees the cancel of a queued run after {(at - began - 1.0) * 1000:.0f} ms")


def cancel_elsewhere(run: Run) -> None:
    """Cancel in this thread, as a web process would."""
    try:
        cancel.cancel(Run.objects.get(pk=run.pk))
    finally:
        connections.close_all()


def test_a_hung_pooler_is_given_up_at_the_deadline(
    submit: Submit, begin: Begin, pool: Pool, pgbouncer: PgBouncerServer
) -> None:
    run = submit(pool, duration=8)
    began = time.monotonic()
    begin(run)
    wait_for(run, has_samples(1))  # connected by then
    pgbouncer.kill(signal.SIGSTOP)
    try:
        done = wait_for(run, ended, runner.allowed_s(run) + 60)
    finally:
        pgbouncer.kill(signal.SIGCONT)
    assert (done.status, done.validity) == (Status.TIMED_OUT, Validity.INCOMPLETE)
    assert done.error.startswith(f"it did not end within {runner.allowed_s(run):,.0f} s")
    assert time.monotonic() - began < runner.allowed_s(run) + 20
    assert pgbenches(done) == []


def test_a_pooler_killed_under_a_run_fails_it(
    submit: Submit, begin: Begin, pool: Pool, pgbouncer: PgBouncerServer
) -> None:
    run = submit(pool, duration=30)
    begin(run)
    wait_for(run, has_samples(1))
    pgbouncer.kill(signal.SIGKILL)
    done = wait_for(run, ended)
    assert (done.status, done.validity, done.exit_code) == (Status.FAILED, Validity.INCOMPLETE, 2)
    assert "aborted" in done.error
    assert done.samples.count() >= 1
    assert done.summary["tps"] > 0  # pgbench prints a plausible figure all the same


def test_sessions_ended_on_the_server_fail_the_run(submit: Submit, begin: Begin, postgres: PostgresServer) -> None:
    run = submit(duration=30)
    begin(run)
    running = wait_for(run, has_samples(1))
    with postgres.connect() as session:
        asked = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = %s"
        session.execute(asked, [running.application_name])
    done = wait_for(run, ended)
    assert (done.status, done.validity) == (Status.FAILED, Validity.INCOMPLETE)


def test_a_locked_table_is_reported_rather_than_waited_for(
    submit: Submit, postgres: PostgresServer, dataset: str
) -> None:
    with postgres.connect(dataset) as blocker:
        blocker.execute("BEGIN")
        blocker.execute("LOCK TABLE pgbench_accounts")
        with pytest.raises(Refused, match="are locked by another session"):
            submit()


def test_a_refused_login_fails_the_run_in_the_servers_words(submit: Submit, postgres: PostgresServer) -> None:
    run = submit()
    run.cluster.admin_password = "not-the-password"
    run.cluster.save(update_fields=["sealed_admin_password"])
    done = execute(run)
    assert done.status == Status.FAILED
    assert "password authentication failed" in done.error
    assert "not-the-password" not in done.error


def test_a_fenced_attempt_ends_its_load_and_writes_nothing(submit: Submit, begin: Begin) -> None:
    run = submit(duration=60)
    thread = begin(run)
    running = wait_for(run, has_samples(1))
    running.finish(Status.LOST, error="ended elsewhere")
    known = running.samples.count()
    thread.join(15)
    assert not thread.is_alive()
    done = Run.objects.get(pk=run.pk)
    assert (done.status, done.error, done.samples.count()) == (Status.LOST, "ended elsewhere", known)
    assert pgbenches(done) == []


def test_too_many_clients_for_the_server_fail_the_run(submit: Submit) -> None:
    done = execute(submit(clients=150, threads=2))
    assert done.status == Status.FAILED
    assert "too many clients" in done.error or "remaining connection slots" in done.error


def test_a_load_is_not_given_the_workers_environment_or_roots_rights(
    submit: Submit, begin: Begin, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = submit(duration=3)
    monkeypatch.setenv("PGOPTIONS", "-c statement_timeout=1")
    monkeypatch.setenv("PGSERVICE", "elsewhere")
    begin(run)
    running = wait_for(run, has_samples(1))
    (pid,) = pgbenches(running)
    assert Path(f"/proc/{pid}").stat().st_uid == (process.LOAD_UID if os.geteuid() == 0 else os.geteuid())
    names = {word.split("=")[0] for word in Path(f"/proc/{pid}/environ").read_text().split("\0") if word}
    of_libpq = {"PGPASSFILE", "PGCONNECT_TIMEOUT", "PGAPPNAME", "PGREQUIREAUTH"}
    assert names == {"PATH", "HOME", "LC_ALL", "PG_COLOR"} | of_libpq
    (home,) = homes_of(run)
    assert (home.stat().st_mode & 0o777, (home / "pgpass").stat().st_mode & 0o777) == (0o700, 0o600)
    assert wait_for(run, ended).status == Status.SUCCEEDED
    assert homes_of(run) == []
