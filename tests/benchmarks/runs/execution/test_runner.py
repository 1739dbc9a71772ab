"""How long runs may take, and runs that can't begin; with real servers: tests/live/benchmarks."""

from collections.abc import Callable
from contextlib import nullcontext
from queue import Queue
from types import SimpleNamespace
from typing import Any

import pytest
from django.db import OperationalError

from benchmarks.models import Purpose, Run, Status, Validity
from benchmarks.processes.process import StreamEnd
from benchmarks.runs import setup
from benchmarks.runs.execution import ending, outages, runner
from benchmarks.runs.execution.ending import DeadlinePassed, EndState
from benchmarks.runs.execution.recorder import Recorder
from benchmarks.runs.execution.requested_rate import RequestedRate
from benchmarks.targets import resolve
from panel.quickstart.ports import free_port
from pools.models import ClusterStatus
from tests.benchmarks.records import the_options
from tests.pools.api.conftest import make_cluster, make_pool, make_pooler


@pytest.mark.parametrize(
    ("options", "seconds"),
    [
        ({"duration": 30, "clients": 10}, 44.0),
        ({"duration": 3600, "clients": 1000}, 4070.0),
        ({"transactions": 10}, runner.TRANSACTIONS_CEILING_S),
    ],
)
def test_a_load_may_outlive_its_planned_time_by_connecting_and_a_little_grace(options, seconds):
    assert runner.allowed_s(Run(options=the_options(**options))) == pytest.approx(seconds)


def test_a_preparation_may_take_ten_minutes_and_about_ten_seconds_a_scale():
    allowed_s = runner.allowed_s(Run(purpose=Purpose.PREPARE, options={"scale": 100}))
    assert allowed_s == pytest.approx(1600.0, rel=0.02)


def recorded_after_its_time(exit_code: int | None) -> None:
    """Let the worker hear of a load's end only after the load's time, as when the metadata database hung."""
    events: Queue[object] = Queue()
    for stream in ("stdout", "stderr"):
        events.put(StreamEnd(stream))
    load: Any = SimpleNamespace(events=events, exit_code=lambda: exit_code)
    quiet = {"heartbeat": bool, "cancel_requested": bool, "requested_rate": RequestedRate({})}
    recorder: Any = SimpleNamespace(**quiet, run=Run(options=the_options()), samples=[])
    runner._record_until_end(load, recorder, seconds=0.0)


def test_a_load_that_ended_while_the_metadata_database_hung_is_in_time() -> None:
    recorded_after_its_time(exit_code=0)


def test_a_load_that_goes_on_after_its_time_is_ended(db: None) -> None:
    with pytest.raises(DeadlinePassed, match="did not end within"):
        recorded_after_its_time(exit_code=None)


@pytest.fixture
def pooled(db, settings) -> Run:
    """A claimed run through a pool."""
    settings.REDIS_URL = f"redis://127.0.0.1:{free_port()}/0"
    pool = make_pool(make_cluster(), make_pooler())
    run = Run.objects.enqueue(**resolve.find({"pool": str(pool.pk)}).fields(), options=the_options())
    claimed = Run.objects.claim(str(run.pk), "local")
    assert claimed is not None
    return claimed


def test_a_run_whose_pool_is_gone_fails_with_that_reason(pooled):
    pooled.pool.delete()
    runner.execute(Run.objects.get(pk=pooled.pk))
    run = Run.objects.get(pk=pooled.pk)
    assert (run.status, run.error, run.command) == (Status.FAILED, "pool: the pool app on front was removed", [])
    assert (run.validity, run.reasons) == (Validity.INCOMPLETE, [run.error])


class Away:
    """A metadata database that is away for the first call of something, and once more while it is waited for."""

    def __init__(self, then: Callable[..., object], *, always: bool = False) -> None:
        self.then, self.always, self.calls = then, always, 0

    def __call__(self, *words: object, **named: object) -> object:
        self.calls += 1
        if self.calls == 1 or self.always:
            raise OperationalError("server closed the connection unexpectedly")
        return self.then(*words, **named)


def test_a_run_whose_metadata_database_goes_away_before_its_load_is_prepared_anew(
    pooled: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    away = Away(resolve.endpoint_of)
    monkeypatch.setattr(resolve, "endpoint_of", away)
    pooled.pool.delete()
    runner.execute(Run.objects.get(pk=pooled.pk))
    run = Run.objects.get(pk=pooled.pk)
    assert (away.calls, run.error, run.attempt) == (2, "pool: the pool app on front was removed", 1)


def test_a_database_that_refuses_each_time_ends_the_run(pooled: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    away = Away(resolve.endpoint_of, always=True)
    monkeypatch.setattr(resolve, "endpoint_of", away)
    runner.execute(pooled)
    assert (away.calls, pooled.status) == (runner.MOST_PREPARATIONS, Status.FAILED)
    assert pooled.error == "the panel failed (OperationalError): see the worker's log"


def test_a_load_that_began_is_never_begun_again(pooled: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def began(run: Run, recorder: Recorder) -> EndState:
        recorder.begin(0.0)
        return always(run, recorder)

    always: Any = Away(began, always=True)
    monkeypatch.setattr(runner, "_run_load", began)
    runner.execute(pooled)
    assert (always.calls, pooled.status) == (1, Status.FAILED)


@pytest.fixture
def ended(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every load have ended well as soon as it is to begin."""
    context: Any = SimpleNamespace(command=lambda _options: SimpleNamespace(files={}), place=None)
    monkeypatch.setattr(runner, "prepared", lambda *_: nullcontext(context))
    monkeypatch.setattr(setup, "steps", lambda _context: nullcontext())
    monkeypatch.setattr(runner.store, "planned", lambda run, _place: (run.options, None))
    monkeypatch.setattr(runner, "_run_program", lambda *_: (0, None))
    monkeypatch.setattr(outages, "RETRY_S", 0.01)


def test_a_metadata_database_that_goes_away_after_the_load_is_waited_for(
    pooled: Run, ended: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    of_load = Away(lambda *_: EndState(Status.SUCCEEDED))
    monkeypatch.setattr(ending, "of_load", of_load)
    runner.execute(pooled)
    assert (of_load.calls, pooled.status, pooled.error) == (2, Status.SUCCEEDED, "")


def test_what_a_broken_off_preparation_left_is_told_also_by_a_database_that_was_away(
    pooled: Run, ended: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stopped(*_: object) -> EndState:
        raise DeadlinePassed("too late")

    monkeypatch.setattr(ending, "of_load", stopped)
    monkeypatch.setattr(runner, "with_leftovers", Away(lambda _run, error: f"{error}; empty now"))
    runner.execute(pooled)
    assert (pooled.status, pooled.error) == (Status.TIMED_OUT, "too late; empty now")


def test_the_version_of_a_server_that_is_away_is_the_one_last_seen(pooled):
    seen = ClusterStatus.objects.get(cluster=pooled.cluster).server_version
    runner.execute(pooled)
    assert (pooled.server_version, bool(seen)) == (seen, True)


def test_an_error_of_the_panel_itself_ends_the_run_and_stands_in_the_log(pooled, monkeypatch, caplog):
    monkeypatch.setattr(resolve, "endpoint_of", lambda run: 1 / 0)
    runner.execute(pooled)
    run = Run.objects.get(pk=pooled.pk)
    assert (run.status, run.error) == (Status.FAILED, "the panel failed (ZeroDivisionError): see the worker's log")
    assert "ZeroDivisionError: division by zero" in caplog.text


def test_a_load_that_reaches_nobody_fails_in_pgbenchs_words_and_its_unwatchable_pool_does_no_harm(pooled, caplog):
    runner.execute(pooled)
    run = Run.objects.get(pk=pooled.pk)
    assert (run.status, run.exit_code, run.pool_samples.count()) == (Status.FAILED, 1, 0)
    assert "Connection refused" in run.error
    assert caplog.text.count(f"pool {pooled.pool_id} can't be observed") <= 1
