"""Health checks of containers beside real processes: well, hanging, and well again, each in about a second."""

import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from pytest_django import Settings

from benchmarks.generators import heartbeats
from core.lib import queues
from core.lib.env import BASE_DIR
from core.lib.queues import WorkerKind
from panel import celery_app, health, health_probe
from panel.quickstart.servers import RedisServer, free_port
from tests.live.conftest import speaking_to
from tests.live.panel_programs import TestBeat, TestWeb, TestWorker, shared_environment
from tests.live.standbys import until

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def queue(own_redis: RedisServer, settings: Settings) -> Iterator[RedisServer]:
    """A Redis without the lasting worker of other tests: it would take what a worker here leaves."""
    with speaking_to(own_redis, settings):
        yield own_redis


def probe(queue_url: str, *words: str, **environment: str) -> tuple[int, str]:
    """Run a health check as a container does, and return its exit code and what it prints."""
    done = subprocess.run(
        [sys.executable, "-m", "panel.health_probe", *words],
        cwd=BASE_DIR,
        env=shared_environment(queue_url) | environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=30,
    )
    assert done.stderr == ""
    return done.returncode, done.stdout


def test_a_worker_that_hangs_is_down_though_another_one_lives(
    make_worker: Callable[..., TestWorker], queue: RedisServer, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(heartbeats, "ALIVE_WITHIN", timedelta(seconds=5))
    settings.GENERATOR, settings.WORKER = "hanging", WorkerKind.TASKS
    hanging = make_worker("hanging", WorkerKind.TASKS)
    heartbeats.beat("other", WorkerKind.TASKS)
    assert probe(queue.url, "worker", POOLDECK_GENERATOR="hanging", POOLDECK_WORKER="tasks")[0] == 0
    hanging.kill(signal.SIGSTOP)
    try:
        until(lambda: health_probe.main(["worker"]) == 1, 20)
    finally:
        hanging.kill(signal.SIGCONT)
    until(lambda: health_probe.main(["worker"]) == 0, 20)


class StalledWorker(TestWorker):
    """A worker that takes from none of its queues, as one whose connection died."""

    @property
    def argv(self) -> list[str]:
        return [*super().argv, "-Q", "nothing"]


def test_a_worker_that_takes_no_message_is_down_though_its_heart_beats(
    tmp_path: Path, queue: RedisServer, settings: Settings
) -> None:
    settings.GENERATOR, settings.WORKER = "stalled", WorkerKind.TASKS
    with StalledWorker(tmp_path, queue.url, "stalled", WorkerKind.TASKS) as stalled:
        until(lambda: health_probe.main(["worker"]) == 0, 20)
        celery_app.send_task("benchmarks.tasks.ask_generators", queue=queues.TASKS)
        until(lambda: "tasks" in heartbeats.stalled_work_s(), 40)
        assert health_probe.main(["worker"]) == 1
        heartbeats.beat("runs-only", WorkerKind.RUNS)
        with pytest.raises(health.Down, match="the workers for tasks have taken no message for"):
            health.worker()
        until(lambda: "this worker has taken no message for 1" in stalled.log, 10)
        heartbeats.beat("another", WorkerKind.TASKS)
        assert heartbeats.stalled_work_s() == {}


@pytest.fixture
def beat(tmp_path: Path, queue: RedisServer) -> Iterator[TestBeat]:
    with TestBeat(tmp_path, queue.url) as program:
        yield program


def test_beat_and_web_are_well(beat: TestBeat, tmp_path: Path, queue: RedisServer) -> None:
    until(lambda: probe(queue.url, "beat")[0] == 0, 20)
    with TestWeb(tmp_path, queue.url) as web:
        address = f"{web.url}/healthz/live"
        assert probe(queue.url, "web", "--address", address) == (0, f"{address} answers 200\n")


def test_without_redis_a_probe_ends_soon(db: None) -> None:
    url = f"redis://127.0.0.1:{free_port()}/0"
    begun = time.monotonic()
    assert probe(url, "worker") == (1, "redis does not answer, so nothing is known of heartbeats\n")
    assert probe(url, "worker", "--ignore-redis")[0] == 0
    assert time.monotonic() - begun < 20
