"""Runs and everything else have workers of their own: a run may take a day, and no apply waits for it."""

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from benchmarks.models import Run, Status
from benchmarks.runs.submission import cancel
from benchmarks.runs.submission.submit import Placement
from core.lib.queues import WorkerKind
from panel.quickstart.servers import RedisServer
from pools import task_queue
from pools.inventory import pools
from pools.models import Pool, PoolState
from tests.benchmarks.submitting import submit_one
from tests.live.benchmarks.conftest import LASTING, ended, has_samples, wait_for
from tests.live.panel_programs import TestBeat, TestWorker

pytestmark = pytest.mark.django_db(transaction=True)
APPLIED_WITHIN_S = 40  # less than a run lasts


@pytest.fixture
def beat(queue: RedisServer, transactional_db: None, tmp_path: Path) -> Iterator[TestBeat]:
    """The clock, which asks again for an apply whose message was lost."""
    with TestBeat(tmp_path, queue.url) as running:
        yield running


def test_an_apply_waits_for_no_run(pool: Pool, make_worker: Callable[..., TestWorker], beat: TestBeat) -> None:
    """With one queue for both, three runs held every child of the worker, and the apply until one of them ended."""
    make_worker("local", WorkerKind.TASKS)
    generator = make_worker("local", WorkerKind.RUNS)
    place = Placement(alongside=True)
    options = LASTING | {"duration": 60, "clients": 1, "rate": 5}
    asked = {"target": {"pool": str(pool.pk)}, "options": options, "place": place}
    runs = [submit_one(author=None, **asked) for _ in range(generator.children)]
    for run in runs:
        wait_for(run, has_samples(1))
    made = {"pooler": pool.pooler, "cluster": pool.cluster, "database": "app", "user": "app", "size": 1}
    second = pools.create(made | {"name": "meanwhile"})
    wait_until_applied(second)
    assert {run.status for run in Run.objects.filter(alongside=True)} == {Status.RUNNING}
    for run in runs:
        wait_for(run, has_samples(run.samples.count() + 2))  # it goes on after the reload
        cancel.cancel(run)
        assert wait_for(run, ended).status == Status.CANCELLED


def wait_until_applied(pool: Pool) -> None:
    """By a worker; fails after the deadline."""
    deadline = time.monotonic() + APPLIED_WITHIN_S
    while (found := Pool.objects.get(pk=pool.pk)).state != PoolState.APPLIED:
        assert time.monotonic() < deadline, f"{found.state} after {APPLIED_WITHIN_S} s: {found.state_reason}"
        time.sleep(0.1)


def test_an_overwrite_waits_for_an_apply_that_is_at_work(pool: Pool, make_worker: Callable[..., TestWorker]) -> None:
    """It found the pooler locked and was forgotten, so that it had to be asked for again: nothing remembers it."""
    make_worker("local", WorkerKind.TASKS)
    ini = Path(pool.pooler.config_dir) / "pooldeck.ini"
    ini.write_text(ini.read_text().replace("pool_size=2", "pool_size=7"))
    assert pool.pooler.take_apply_lock("another worker")
    task_queue.ask_to_overwrite(pool.pooler_id)
    time.sleep(3)
    assert "pool_size=7" in ini.read_text()
    pool.pooler.release_apply_lock()
    deadline = time.monotonic() + APPLIED_WITHIN_S
    while "pool_size=7" in ini.read_text():
        assert time.monotonic() < deadline, "the overwrite was forgotten"
        time.sleep(0.1)
