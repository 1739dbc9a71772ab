"""Runs by real worker processes: killed, doubled, without Redis, one after the other; and where passwords stand."""

import itertools
import os
import signal
import time
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import psutil
import pytest
import redis
from asgiref.sync import async_to_sync
from django.utils import timezone

from benchmarks.errors import QueueDown
from benchmarks.models import Run, Status, Validity
from benchmarks.results import comparisons
from benchmarks.runs.execution import reaper
from benchmarks.runs.live import events as live_events
from benchmarks.runs.live import follower
from benchmarks.runs.submission import dispatch, in_flight
from panel.quickstart.servers import PostgresServer, RedisServer
from pools.models import Cluster, Pool
from tests import programs
from tests.benchmarks.submitting import submit_one, submit_pair
from tests.callers import of_an_admin
from tests.live.benchmarks.conftest import (
    LASTING,
    QUICK,
    Submit,
    ended,
    has_samples,
    homes_of,
    pgbenches,
    wait_for,
    wait_until_load_is_silent,
)
from tests.live.conftest import APP_PASSWORD, SUPERUSER_PASSWORD
from tests.live.panel_programs import TestBeat, TestWorker

pytestmark = pytest.mark.django_db(transaction=True)


def test_direct_and_pooled_run_one_after_the_other_as_one_role(worker: TestWorker, pool: Pool) -> None:
    direct, pooled = submit_pair({"pool": str(pool.pk)}, LASTING, author=None)
    assert (direct.group, direct.role, direct.pooled, pooled.pooled) == (pooled.group, "app", False, True)
    direct, pooled = wait_for(direct, ended), wait_for(pooled, ended)
    assert (direct.status, pooled.status) == (Status.SUCCEEDED, Status.SUCCEEDED)
    assert direct.finished_at <= pooled.started_at
    assert (pooled.started_at - direct.finished_at).total_seconds() < 20
    assert [run.samples.count() > 0 for run in (direct, pooled)] == [True, True]
    assert (direct.pool_samples.count(), pooled.pool_samples.count() > 1) == (0, True)


def test_pairs_that_are_repeated_take_turns_and_never_overlap(worker: TestWorker, pool: Pool) -> None:
    # each lasts longer than it takes the worker to leave a heartbeat in the Redis that was emptied for this test
    runs = [wait_for(run, ended) for run in submit_pair({"pool": str(pool.pk)}, LASTING, author=None, repeat=2)]
    assert [run.endpoint_kind for run in runs] == ["direct", "pooled", "pooled", "direct"]
    assert [run.status for run in runs] == [Status.SUCCEEDED] * 4
    assert all(one.finished_at <= two.started_at for one, two in itertools.pairwise(runs))
    assert len({run.generator for run in runs}) == len({run.group for run in runs}) == 1
    found = comparisons.compare(comparisons.of_group(runs[0].group, of_an_admin()))
    assert [(arm.label, len(arm.runs)) for arm in found.arms] == [("direct", 2), ("pooled", 2)]


@pytest.mark.parametrize("victim", ["the worker", "the pool child"])
def test_a_killed_worker_takes_its_load_along_and_the_run_is_lost_with_its_reason(
    worker: TestWorker, submit: Submit, victim: str
) -> None:
    run = submit(duration=60)
    running = wait_for(run, has_samples(2))
    (pid,) = pgbenches(running)
    whose = [pid, *(one.pid for one in psutil.Process(pid).parents())]
    worker.kill(signal.SIGKILL) if victim == "the worker" else os.kill(parent_of(pid), signal.SIGKILL)
    killed_at = time.monotonic()
    while pgbenches(running) or is_alive(pid):
        assert time.monotonic() - killed_at < 10, f"pgbench outlives its worker: {programs.states(whose)}"
        time.sleep(0.01)
    known = running.samples.count()
    assert known >= 2
    wait_until_load_is_silent(running)
    Run.objects.filter(pk=run.pk).update(lease_until=timezone.now() - timedelta(seconds=1))
    assert [lost.pk for lost in reaper.reap()] == [run.pk]
    lost = Run.objects.get(pk=run.pk)
    assert (lost.status, lost.validity) == (Status.LOST, Validity.INCOMPLETE)
    assert lost.error.startswith("its worker on generator local was lost")
    assert lost.samples.count() == known
    assert homes_of(lost) == []
    assert reaper.reap() == []


def test_a_worker_killed_in_the_second_stage_leaves_the_figures_of_the_first_and_starts_no_other(
    worker: TestWorker, submit: Submit
) -> None:
    stages = [{"duration_s": 1, "clients": 1}, *[{"duration_s": 60, "clients": 2, "rate": 200}] * 2]
    run = submit(stages=stages, clients=None, transactions=None)
    running = wait_for(run, lambda one: len(one.summary.get("stages", [])) == 2 and has_samples(2)(one))
    (pid,) = pgbenches(running)
    worker.kill(signal.SIGKILL)
    killed_at = time.monotonic()
    while pgbenches(running) or is_alive(pid):
        assert time.monotonic() - killed_at < 10, "pgbench outlives its worker"
        time.sleep(0.01)
    wait_until_load_is_silent(running)
    Run.objects.filter(pk=run.pk).update(lease_until=timezone.now() - timedelta(seconds=1))
    assert [lost.pk for lost in reaper.reap()] == [run.pk]
    lost = Run.objects.get(pk=run.pk)
    assert (lost.status, lost.validity) == (Status.LOST, Validity.INCOMPLETE)
    first, second = lost.summary["stages"]
    assert (first["status"], "tps" in first, "tps" in second) == ("succeeded", True, False)
    assert (homes_of(lost), pgbenches(lost)) == ([], [])


@pytest.mark.slow
def test_a_run_whose_worker_dies_is_found_lost_by_the_clock_alone(
    worker: TestWorker, make_worker: Callable[..., TestWorker], submit: Submit, queue: RedisServer, tmp_path: Path
) -> None:
    """Nothing is expired or reaped by hand: the task that beat sends to the other worker does it, in real time."""
    workers = {one.generator: one for one in (worker, make_worker("another"))}
    with TestBeat(tmp_path, queue.url) as beat:
        running = wait_for(submit(duration=60), has_samples(2))
        (pid,) = pgbenches(running)
        workers[running.generator].kill(signal.SIGKILL)
        killed_at, known = time.monotonic(), running.samples.count()
        while is_alive(pid):
            assert time.monotonic() - killed_at < 10, "pgbench outlives its worker"
            time.sleep(0.01)
        gone_s = time.monotonic() - killed_at
        lost = wait_for(running, ended, seconds=30.0)
        lost_s = time.monotonic() - killed_at
        assert beat.is_running, beat.log
    assert (lost.status, lost.validity, lost.generator) == (Status.LOST, Validity.INCOMPLETE, running.generator)
    assert lost.error.startswith(f"its worker on generator {running.generator} was lost")
    assert lost.samples.count() >= known >= 2
    print(f"after kill -9 of the worker: pgbench gone in {gone_s * 1000:.0f} ms, the run lost in {lost_s:.1f} s")


def parent_of(pid: int) -> int:
    """The process that started it."""
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


def is_alive(pid: int) -> bool:
    """Whether it is there and no zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_a_run_delivered_many_times_starts_one_process(
    worker: TestWorker, make_worker: Callable[..., TestWorker], submit: Submit
) -> None:
    make_worker("another")
    run = submit(duration=3)
    for _ in range(10):
        dispatch.dispatch(run)
    running = wait_for(run, has_samples(1))
    assert len(pgbenches(running)) == 1
    done = wait_for(run, ended)
    assert (done.status, done.attempt, done.samples.count() <= 3) == (Status.SUCCEEDED, 1, True)
    assert [sample.seq for sample in done.samples.all()] == sorted({sample.seq for sample in done.samples.all()})
    assert "aborted" not in done.output.stderr


def test_a_run_whose_message_was_lost_is_sent_again(
    worker: TestWorker, submit: Submit, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(in_flight, "TAKEN_WITHIN_S", 0.5)
    with monkeypatch.context() as lossy:
        lossy.setattr(dispatch, "dispatch", lambda run, generator="": True)
        run = submit()
    deadline = time.monotonic() + 10
    while not dispatch.dispatch_due():  # it may still come
        assert time.monotonic() < deadline
        time.sleep(0.05)
    assert wait_for(run, ended).status == Status.SUCCEEDED


def test_passwords_stand_in_no_argument_no_message_no_log_and_no_record(
    worker: TestWorker, pool: Pool, queue: RedisServer, postgres: PostgresServer
) -> None:
    run = submit_one(target={"pool": str(pool.pk)}, options=LASTING | {"duration": 4}, author=None)
    running = wait_for(run, has_samples(2))
    arguments = b"\n".join(read(path / "cmdline") for path in Path("/proc").iterdir() if path.name.isdigit())
    assert running.command[0].encode() in arguments
    with redis.Redis.from_url(queue.url) as client:
        records = b"\n".join(client.dump(key) or b"" for key in client.scan_iter())
    done = wait_for(run, ended)
    assert done.status == Status.SUCCEEDED
    kept = repr([vars(done), vars(done.output)]).encode()
    for secret in (APP_PASSWORD, SUPERUSER_PASSWORD):
        for sink in (arguments, records, kept, worker.log.encode()):
            assert secret.encode() not in sink


def read(path: Path) -> bytes:
    """The bytes of a file that may be gone."""
    try:
        return path.read_bytes()
    except OSError:
        return b""


def test_without_redis_nothing_is_saved_and_the_answer_comes_soon(
    cluster: Cluster, dataset: str, queue: RedisServer
) -> None:
    known = Run.objects.count()
    queue.stop()
    try:
        began = time.monotonic()
        with pytest.raises(QueueDown, match="nothing was saved"):
            submit_one(target={"cluster": str(cluster.pk), "database": dataset}, options=QUICK, author=None)
        assert time.monotonic() - began < 10
    finally:
        queue.start()
    assert Run.objects.count() == known


def test_redis_restarted_under_a_run_costs_it_nothing_and_its_watcher_no_point(
    worker: TestWorker, submit: Submit, queue: RedisServer
) -> None:
    run = submit(duration=8, rate=50)
    wait_for(run, has_samples(2))
    queue.stop()
    time.sleep(1.5)
    queue.start()
    events = async_to_sync(collect)(run, "0-0")
    done = wait_for(run, ended)
    assert (done.status, done.error) == (Status.SUCCEEDED, "")
    seen = [event.id for event in events if event.name == "sample"]
    assert seen == [live_events.event_id(sample.attempt, sample.seq) for sample in done.samples.all()]
    assert [event.payload["status"] for event in events if event.name == "end"] == ["succeeded"]
    with redis.Redis.from_url(queue.url) as client:
        assert client.exists(live_events.stream_key(run.pk))


async def collect(run: Run, after: str) -> list[live_events.Event]:
    """Every event until the end."""
    return [event async for events in follower.follow(run.pk, after) for event in events]
