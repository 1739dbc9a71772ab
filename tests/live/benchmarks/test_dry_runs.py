"""Dry runs that take too long: ended, and told what held them up."""

import time
from contextlib import closing, contextmanager

import pytest

from benchmarks.library.scripts import dry_run, library
from benchmarks.models import Run, Status
from benchmarks.runs.submission import submit as dry_run_submit
from benchmarks.targets import sessions
from tests.benchmarks.submitting import submit_one
from tests.live.benchmarks.conftest import execute
from tests.live.conftest import APP_ROLE

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def dry(cluster, dataset, in_this_process):
    """A queued dry run of a text, called `slow`."""

    def start(text):
        version = library.create(name="slow", text=text).versions.get()
        target = {"cluster": str(cluster.pk), "database": dataset, "user": APP_ROLE}
        return dry_run_submit.submit(dry_run_submit.dry_run_request(version, target=target, author=None))[0]

    return start


@contextmanager
def at_work(postgres, dataset, run, statement):
    """While a session of the run is at this statement, as the server says; it is ended there too."""
    with closing(postgres.connect(dataset)) as session, postgres.connect() as watcher:
        session.execute("SELECT set_config('application_name', %s, false)", (run.application_name,))
        session.pgconn.send_query(statement.encode())
        active = "SELECT count(*) FROM pg_stat_activity WHERE application_name = %s AND state = 'active'"
        deadline = time.monotonic() + 120
        try:
            while watcher.execute(active, (run.application_name,)).fetchone() != (1,):
                assert time.monotonic() < deadline
                time.sleep(0.05)
            yield
        finally:
            sessions.terminate(run)


def test_a_dry_run_that_takes_too_long_is_ended_and_says_what_it_was_at(dry, monkeypatch):
    monkeypatch.setattr(dry_run, "LIMIT_S", 1.0)
    run = execute(dry("SELECT 1;\nSELECT pg_sleep(600);\n"))
    assert run.status == Status.TIMED_OUT
    assert run.error.startswith("the dry run of slow version 1 did not end within 1 s")
    assert run.reasons == [run.error]
    assert "figures" not in run.error


def test_the_line_that_runs_is_named_with_its_time(dry, postgres, dataset):
    run = dry("\\set n 600\n-- wait\nSELECT 1;\nSELECT pg_sleep(:n);\n")
    with at_work(postgres, dataset, run, "SELECT pg_sleep(600);"):
        described = dry_run.why_late(run)
    start, _, end = described.partition(" had been running for ")
    assert start == "the dry run of slow version 1 did not end within 300 s: line 4 (SELECT pg_sleep(:n);)"
    assert end.partition(" s;")[2] == " let it do less, and try again"


def test_a_lock_is_told_with_the_session_that_holds_it(dry, postgres, dataset):
    run = dry("SELECT 1;\nTABLE pgbench_history;\n")
    with postgres.connect(dataset) as holder, holder.transaction():
        holder.execute("LOCK TABLE pgbench_history")
        with at_work(postgres, dataset, run, "TABLE pgbench_history;"):
            described = dry_run.why_late(run)
        waiting = f"waiting for a lock of session {holder.info.backend_pid}; end that session or wait for it"
    assert waiting in described
    assert "line 2 (TABLE pgbench_history;)" in described


def test_a_sleep_of_pgbench_itself_is_told_from_a_statement(dry):
    assert "no statement of it was running on the server: a \\sleep or the network delayed it" in dry_run.why_late(
        dry("\\sleep 600 s\n")
    )


def test_only_one_transaction_of_one_script_is_a_dry_run(dry, cluster, dataset):
    run = dry("SELECT 1;")
    assert dry_run.is_dry_run(run)
    target = {"cluster": str(cluster.pk), "database": dataset, "user": APP_ROLE}
    options = {"clients": 1, "transactions": 1, "duration": "", "percentiles": False}
    assert not dry_run.is_dry_run(submit_one(target=target, options=options, author=None))
    assert not dry_run.is_dry_run(Run(options=run.options | {"transactions": 2}))
