"""What a worker takes from Redis: no remote control, and where messages are signed, none without an accepted one."""

import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from redis import Redis

from benchmarks.models import Generator, Run, Status
from core.installation.models import CarriedOut
from core.lib import queues
from panel import celery_app
from panel.quickstart.servers import RedisServer, free_port
from tests.certificates import self_signed
from tests.live.panel_programs import TestWorker, use_broker
from tests.pools.records import a_cluster

pytestmark = pytest.mark.django_db(transaction=True)


def host(folder: Path, name: str, accepted: Path) -> dict[str, str]:
    """The variables of a host with a key of its own."""
    key, certificate = self_signed(name, rsa.generate_private_key(65537, 2048))
    (folder / f"{name}.key").write_text(key)
    (folder / f"{name}.pem").write_text(certificate)
    return {
        "POOLDECK_MESSAGE_KEY": str(folder / f"{name}.key"),
        "POOLDECK_MESSAGE_CERTIFICATE": str(folder / f"{name}.pem"),
        "POOLDECK_MESSAGE_CERTIFICATES": str(accepted),
    }


class SigningWorker(TestWorker):
    """A worker that signs, and accepts what is signed alone."""

    __test__ = False
    signing: dict[str, str]

    @property
    def environment(self) -> dict[str, str]:
        return super().environment | self.signing


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[str]:
    """A Redis of its own, to which this process sends: of the shared one the lasting worker takes unsigned messages."""
    before = celery_app.conf.broker_url
    with RedisServer(tmp_path / "redis", free_port(), "broker-secret") as server:
        use_broker(server.url)
        yield server.url
        use_broker(before)


def test_an_unsigned_message_is_not_carried_out(tmp_path: Path, broker: str) -> None:
    accepted = tmp_path / "accepted"
    accepted.mkdir()
    signing = host(tmp_path, "near", accepted)
    (accepted / "near.pem").write_bytes((tmp_path / "near.pem").read_bytes())
    (tmp_path / "worker").mkdir()
    worker = SigningWorker(tmp_path / "worker", broker, "near")
    worker.signing = signing
    with worker:
        deadline = time.monotonic() + 60
        while not Generator.objects.filter(name="near").exists():  # its own message was accepted
            assert time.monotonic() < deadline, worker.log
            time.sleep(0.1)
        run = Run.objects.enqueue(cluster=a_cluster(), database="shop")
        celery_app.send_task("benchmarks.tasks.run_benchmark", [str(run.pk)], queue=queues.RUNS)
        while "Refusing to deserialize untrusted content" not in worker.log:
            assert time.monotonic() < deadline, worker.log
            time.sleep(0.1)
        assert Run.objects.get(pk=run.pk).status == Status.QUEUED


def test_a_signed_message_is_carried_out_once(tmp_path: Path, broker: str) -> None:
    accepted = tmp_path / "accepted"
    accepted.mkdir()
    signing = host(tmp_path, "near", accepted)
    (accepted / "near.pem").write_bytes((tmp_path / "near.pem").read_bytes())
    (tmp_path / "worker").mkdir()
    worker = SigningWorker(tmp_path / "worker", broker, "near")
    worker.signing = signing
    send = "import django; from panel import celery_app as app; django.setup(); app.send_task({!r}, queue={!r})"
    queue = queues.of_generator("near")
    subprocess.run(
        [sys.executable, "-c", send.format("benchmarks.tasks.describe_generator", queue)],
        env=worker.environment,
        check=True,
    )
    redis = Redis.from_url(broker)
    (caught,) = redis.lrange(queue, 0, -1)  # what somebody who reaches Redis has seen
    with worker:
        deadline = time.monotonic() + 60
        while not CarriedOut.objects.exists():
            assert time.monotonic() < deadline, worker.log
            time.sleep(0.1)
        redis.lpush(queue, caught)
        while "was carried out before" not in worker.log:
            assert time.monotonic() < deadline, worker.log
            time.sleep(0.1)


def test_no_worker_obeys_remote_control(worker: TestWorker) -> None:
    assert celery_app.control.inspect(timeout=1).ping() is None
    celery_app.control.broadcast("shutdown")
    time.sleep(1)
    assert worker.process is not None
    assert worker.process.poll() is None
