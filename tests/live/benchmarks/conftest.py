"""What runs need: the queue, a worker process, a prepared dataset, an applied pool."""

import contextlib
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest
import redis
from django.conf import settings as django_settings
from django.db import connection
from pytest_django import Settings

import benchmarks.tasks  # noqa: F401 (registered before `use_broker` closes the application, which forgets later ones)
import pools.tasks  # noqa: F401
from benchmarks.models import FINAL, Run, Status
from benchmarks.processes import workdir
from benchmarks.runs.execution import runner
from benchmarks.runs.submission import dispatch
from benchmarks.targets import datasets
from panel import celery_app
from panel.lib import redis_client
from panel.lib.queues import WorkerKind
from panel.quickstart.panel_programs import Beat, Web, Worker
from panel.quickstart.servers import PgBouncerServer, PostgresServer, RedisServer, free_port
from panel.quickstart.tls import TlsFiles
from pools import deployment
from pools.models import Cluster, Pool, Pooler, PoolState
from tests.benchmarks.submitting import submit_one
from tests.live.conftest import APP_PASSWORD, APP_ROLE

# A run of which only its life matters takes a moment; one that is watched second by second says how many, and its rate
# leaves the processors to the tests beside it.
QUICK = {"clients": 2, "threads": 1, "transactions": 200}
LASTING = {"clients": 2, "threads": 1, "duration": 2, "rate": 200}
Submit = Callable[..., Run]


@pytest.fixture
def queue(redis_server: RedisServer, settings: Settings) -> Iterator[RedisServer]:
    """This process submits to, publishes to and reads from `redis_server`, which starts empty."""
    settings.REDIS_URL = redis_server.url
    broker = celery_app.conf.broker_url
    use_broker(redis_server.url)
    redis_client.forget_shared()
    with redis.Redis.from_url(redis_server.url) as client:
        client.flushall()
    yield redis_server
    redis_client.shared().close()
    redis_client.forget_shared()
    use_broker(broker)


def use_broker(url: str) -> None:
    """Let this process's Celery application send to that broker, forgetting its connections."""
    celery_app.conf.broker_url = url
    celery_app.conf.broker_write_url = url
    celery_app.close()
    celery_app.__dict__.pop("amqp", None)


def shared_environment(redis_url: str) -> dict[str, str]:
    """For a process of its own: the test run's settings, its database file and the test's Redis."""
    return {
        **os.environ,
        "DATABASE_URL": f"sqlite:///{connection.settings_dict['NAME']}",
        "REDIS_URL": redis_url,
        "DJANGO_SETTINGS_MODULE": "panel.settings",
        "PYTHONUNBUFFERED": "1",
    }


@pytest.fixture
def in_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """No message leaves, so that no worker takes what the test carries out itself."""
    monkeypatch.setattr(dispatch, "dispatch", lambda run, generator="": True)


class TestWeb(Web):
    """A web process of the test database and the test's Redis."""

    __test__ = False
    ready_within_s = 60.0

    def __init__(self, home: Path, redis_url: str, tls: TlsFiles | None = None) -> None:
        super().__init__(home, free_port(), tls=tls)
        self.redis_url = redis_url

    @property
    def environment(self) -> dict[str, str]:
        """The test run's own settings."""
        return shared_environment(self.redis_url)

    def probe(self) -> None:
        """It answers; no worker need be there."""
        urlopen(f"{self.url}/healthz/live", timeout=5, context=self.client_context).close()


class TestWorker(Worker):
    """A worker of the test database and the test's Redis; it takes runs and tasks unless told."""

    __test__ = False
    children = 3
    ready_within_s = 60.0

    def __init__(
        self, home: Path, redis_url: str, generator: str = "local", takes: WorkerKind = WorkerKind.ALL
    ) -> None:
        super().__init__(home)
        self.redis_url, self.generator, self.takes = redis_url, generator, takes

    @property
    def environment(self) -> dict[str, str]:
        """The test run's own settings, the generator's name and what it takes."""
        named = {"POOLDECK_GENERATOR": self.generator, "POOLDECK_WORKER": self.takes}
        return shared_environment(self.redis_url) | named

    def probe(self) -> None:
        """Its log says so."""
        if "ready." not in self.log:
            raise OSError("the worker has not said that it is ready")


class TestBeat(Beat):
    """The clock of the test database and the test's Redis."""

    __test__ = False

    def __init__(self, home: Path, redis_url: str) -> None:
        super().__init__(home)
        self.redis_url = redis_url

    @property
    def argv(self) -> list[str]:
        """Its memory of what was due when stays in the test's own folder."""
        return [*super().argv, "--schedule", str(self.home / "schedule")]

    @property
    def environment(self) -> dict[str, str]:
        """The test run's own settings."""
        return shared_environment(self.redis_url)


@pytest.fixture(scope="session")
def lasting_worker(
    django_db_setup: None, redis_server: RedisServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[TestWorker]:
    """One worker for all tests: starting one takes seconds."""
    with TestWorker(tmp_path_factory.mktemp("worker"), redis_server.url) as worker:
        yield worker


@pytest.fixture
def worker(lasting_worker: TestWorker, queue: RedisServer, transactional_db: None) -> Iterator[TestWorker]:
    """A worker that is ready, started again where a test killed it; its log is shown when the test fails."""
    if not lasting_worker.is_running:
        lasting_worker.log_path.unlink()
        lasting_worker.start()
    begun = len(lasting_worker.log)
    yield lasting_worker
    print(lasting_worker.log[begun:])


@pytest.fixture
def make_worker(queue: RedisServer, transactional_db: None, tmp_path: Path) -> Iterator[Callable[..., TestWorker]]:
    """Starts further workers, of other generators than the lasting one."""
    with contextlib.ExitStack() as workers:

        def make(generator: str, takes: WorkerKind = WorkerKind.ALL) -> TestWorker:
            home = tmp_path / f"{generator}-{takes}"
            home.mkdir()
            worker = workers.enter_context(TestWorker(home, queue.url, generator, takes))
            workers.callback(lambda: print(worker.log))
            return worker

        yield make


@pytest.fixture(scope="session")
def bench(postgres: PostgresServer) -> str:
    """A database of the role `app` for runs."""
    postgres.create_owner_and_database(APP_ROLE, APP_PASSWORD, "loaded")
    return "loaded"


@pytest.fixture
def dataset(bench: str, cluster: Cluster, queue: RedisServer, transactional_db: None) -> str:
    """The database `loaded` with a dataset of scale 1; the tables are kept between tests, the panel's memory is not."""
    if not datasets.facts(cluster, bench).complete:
        made = execute(prepare(cluster, bench))
        assert made.status == Status.SUCCEEDED, made.error
    return bench


def prepare(cluster: Cluster, database: str, scale: int = 1, confirm: str = "", **more: object) -> Run:
    """A queued preparation, with more options of pgbench's."""
    target, options = {"cluster": str(cluster.pk), "database": database}, {"scale": scale, **more}
    return submit_one(target=target, options=options, author=None, purpose="prepare", confirm=confirm)


@pytest.fixture
def pool(cluster: Cluster, pooler: Pooler, pgbouncer: PgBouncerServer, dataset: str) -> Pool:
    """An applied pool `orders` of two connections to `loaded`, in transaction mode."""
    made = Pool.objects.create(name="orders", pooler=pooler, cluster=cluster, database=dataset, user=APP_ROLE, size=2)
    deployment.apply_pooler(pooler)
    made.refresh_from_db()
    assert made.state == PoolState.APPLIED, made.state_reason
    return made


@pytest.fixture
def submit(cluster: Cluster, dataset: str) -> Submit:
    """Submits a short run, against `loaded` directly unless a pool is given; it lasts where its duration is given."""

    def submit_run(pool: Pool | None = None, **options: Any) -> Run:
        target = {"pool": str(pool.pk)} if pool else {"cluster": str(cluster.pk), "database": dataset}
        return submit_one(target=target, options=short(**options), author=None)

    return submit_run


def short(**options: Any) -> dict[str, Any]:
    """The options of a short run: by transactions, unless it has a duration; those that are None are left out."""
    asked = (LASTING if "duration" in options else QUICK) | options
    return {name: value for name, value in asked.items() if value is not None}


def execute(run: Run) -> Run:
    """Claim the run and carry it out here, as a worker's child would; where a worker was quicker, wait for it."""
    if claimed := Run.objects.claim(str(run.pk), django_settings.GENERATOR):
        runner.execute(claimed)
    return wait_for(run, ended)


def wait_for(run: Run, condition: Callable[[Run], bool], seconds: float = 60.0) -> Run:
    """The run once it meets the condition; fails at the deadline with what it was."""
    deadline = time.monotonic() + seconds
    while not condition(found := Run.objects.get(pk=run.pk)):
        assert time.monotonic() < deadline, f"{found} is {found.status} after {seconds} s: {found.error}"
        time.sleep(0.05)
    return found


def ended(run: Run) -> bool:
    """Whether the run is final."""
    return run.status in FINAL


def has_samples(count: int) -> Callable[[Run], bool]:
    """Whether the run runs and that many samples have come."""
    return lambda run: run.status == Status.RUNNING and run.samples.count() >= count


def pgbenches(run: Run) -> list[int]:
    """The process ids of live pgbenches of this run, by the name they give their sessions."""
    wanted = f"PGAPPNAME={run.application_name}".encode()
    return [int(path.name) for path in Path("/proc").iterdir() if path.name.isdigit() and wanted in _environment(path)]


def _environment(folder: Path) -> list[bytes]:
    try:
        return (folder / "environ").read_bytes().split(b"\0")
    except OSError:
        return []


def homes_of(run: Run) -> list[Path]:
    """The private folders of the run on this host; other panels have theirs beside them."""
    return [folder for owner, folder in workdir.left_homes().items() if owner.startswith(run.pk.hex)]
