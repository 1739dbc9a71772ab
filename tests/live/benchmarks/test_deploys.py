"""SIGTERM to the panel's processes while they are at work, as a deploy sends it: nothing is cut, nothing gets stuck."""

import http.client
import json
import signal
import threading
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import pytest

from benchmarks.models import Run, Status, Validity
from benchmarks.runs.submission.submit import Placement
from core.accounts.models import ApiToken
from core.lib.queues import WorkerKind
from panel.quickstart.servers import RedisServer
from pools import task_queue
from pools.models import Cluster, Pool, Pooler, PoolState
from tests.benchmarks.submitting import submit_one
from tests.callers import person
from tests.live.benchmarks.conftest import ended, has_samples, homes_of, pgbenches, short, wait_for
from tests.live.panel_programs import TestWeb, TestWorker
from tests.live.standbys import until

pytestmark = pytest.mark.django_db(transaction=True)
SOON_S = 20  # on a busy machine too; an event stream or a wait alone would last longer


def asked(web: TestWeb, path: str, token: str) -> Request:
    return Request(f"{web.url}/api/v1/{path}", headers={"Authorization": f"Bearer {token}"})


def test_streams_end_and_requests_that_wait_are_answered(queue: RedisServer, tmp_path: Path) -> None:
    token, run = ApiToken.objects.issue(person(), "watcher", ["read"]), Run.objects.enqueue()
    answers: list[Any] = []

    def wait() -> None:
        with urlopen(asked(web, f"runs/{run.pk}/?wait=60", token), timeout=70) as answer:
            answers.append((answer.status, json.loads(answer.read())["status"]))

    with TestWeb(tmp_path, queue.url) as web:
        waiting = threading.Thread(target=wait)
        with urlopen(asked(web, f"runs/{run.pk}/events/", token), timeout=30) as stream:
            assert stream.readline() == b"retry: 1000\n"
            waiting.start()
            time.sleep(2)  # it waits in the process by now
            stopped_at = time.monotonic()
            web.kill(signal.SIGTERM)
            stream.read()  # raises `IncompleteRead` where the stream is cut
            streamed_s = time.monotonic() - stopped_at
        waiting.join(SOON_S)
        assert web.process is not None
        assert web.process.wait(SOON_S) == -signal.SIGTERM
    assert answers == [(200, "queued")]
    assert streamed_s < SOON_S
    print(f"the stream ended {streamed_s:.1f} s after SIGTERM, the process {time.monotonic() - stopped_at:.1f} s")
    assert "Cancel" not in web.log


def test_a_request_that_takes_its_time_is_not_cut(queue: RedisServer, tmp_path: Path) -> None:
    with TestWeb(tmp_path, queue.url) as web:
        client = http.client.HTTPConnection("127.0.0.1", web.port, timeout=30)
        body = json.dumps({"name": "x"}).encode()
        client.putrequest("POST", "/api/v1/clusters/")
        client.putheader("Content-Length", str(len(body)))
        client.putheader("Content-Type", "application/json")
        client.endheaders(body[:5])
        time.sleep(1)
        web.kill(signal.SIGTERM)
        time.sleep(3)
        with closing(client):
            client.send(body[5:])
            with client.getresponse() as answer:
                assert answer.status == 401
        assert web.process is not None
        assert web.process.wait(SOON_S) == -signal.SIGTERM


Maker = Callable[..., TestWorker]


def submit(target: dict[str, Any], **options: Any) -> Run:
    return submit_one(target=target, options=short(**options), is_admin=True, place=Placement(["drained"]))


@pytest.fixture
def target(cluster: Cluster, dataset: str) -> dict[str, Any]:
    return {"cluster": str(cluster.pk), "database": dataset}


@pytest.fixture
def generator(make_worker: Maker, monkeypatch: pytest.MonkeyPatch) -> Callable[[int], TestWorker]:
    """Starts a worker for runs that gives them so many seconds to end."""

    def start(seconds: int) -> TestWorker:
        monkeypatch.setenv("POOLDECK_DRAIN_SECONDS", str(seconds))
        return make_worker("drained", WorkerKind.RUNS)

    return start


def test_a_running_load_ends_before_its_worker_does(generator, target: dict[str, Any]) -> None:
    worker = generator(60)
    run = wait_for(submit(target, duration=6), has_samples(1))
    worker.kill(signal.SIGTERM)
    done = wait_for(run, ended)
    assert (done.status, done.exit_code, done.generator) == (Status.SUCCEEDED, 0, "drained"), done.error
    assert worker.process is not None
    assert worker.process.wait(SOON_S) == 0


def test_a_load_that_takes_too_long_is_lost_with_its_reason_and_figures(generator, target: dict[str, Any]) -> None:
    worker = generator(3)
    run = wait_for(submit(target, duration=120), has_samples(1))
    stopped_at = time.monotonic()
    worker.kill(signal.SIGTERM)
    assert worker.process is not None
    assert worker.process.wait(60) == 0
    took_s = time.monotonic() - stopped_at
    done = Run.objects.get(pk=run.pk)
    assert (done.status, done.validity) == (Status.LOST, Validity.INCOMPLETE)
    assert done.error == (
        "its worker on generator drained was stopped, and the load did not end within the 3 s of "
        "POOLDECK_DRAIN_SECONDS; figures are those until then"
    )
    assert done.reasons == [done.error]
    assert done.samples.count() >= 1
    assert (pgbenches(done), homes_of(done)) == ([], [])
    print(f"the worker ended {took_s:.1f} s after SIGTERM, of which the load had 3 s")


def test_a_run_that_waits_is_carried_out_by_the_next_worker(generator, target: dict[str, Any]) -> None:
    worker = generator(60)
    first = wait_for(submit(target, duration=5), has_samples(1))
    second = submit(target)
    worker.kill(signal.SIGTERM)
    first = wait_for(first, ended)
    assert worker.process is not None
    assert worker.process.wait(SOON_S) == 0
    second.refresh_from_db()
    assert (first.status, second.status) == (Status.SUCCEEDED, Status.QUEUED)
    worker.start()
    assert wait_for(second, ended).status == Status.SUCCEEDED


def test_an_apply_is_finished_before_its_worker_ends(make_worker: Maker, pool: Pool, pooler: Pooler) -> None:
    Pooler.objects.filter(pk=pooler.pk).update(generator="applies")
    worker = make_worker("applies", WorkerKind.TASKS)
    Pool.objects.filter(pk=pool.pk).update(size=3, state=PoolState.PENDING)
    revisions = pooler.revisions.count()
    task_queue.send(task_queue.APPLY, str(pooler.pk), None)
    until(lambda: pooler.revisions.count() > revisions, 30)
    worker.kill(signal.SIGTERM)
    assert worker.process is not None
    assert worker.process.wait(60) == 0
    pool.refresh_from_db()
    assert pool.state == PoolState.APPLIED, pool.state_reason
