"""Three generators, each a worker process with an address of its own where the machine allows."""

import contextlib
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from benchmarks.generators import registry
from benchmarks.models import Run
from benchmarks.runs.submission.submit import Placement
from panel.quickstart.servers import PostgresServer, RedisServer, free_port
from pools.models import Cluster
from tests.benchmarks.submitting import submit_one
from tests.live.benchmarks.conftest import LASTING
from tests.live.benchmarks.runs.distributed.namespaces import Network, network
from tests.live.conftest import APP_DATABASE, APP_PASSWORD, APP_ROLE, FAST, SUPERUSER_PASSWORD
from tests.live.panel_programs import TestWorker
from tests.postgresqls import store_light_verifiers

NAMES = ("east", "north", "west")


class FarWorker(TestWorker):
    """A worker on a host of its own."""

    children = 2

    def __init__(self, home: Path, redis_url: str, generator: str, net: Network) -> None:
        super().__init__(home, redis_url, generator)
        self.net = net

    @property
    def argv(self) -> list[str]:
        """The same, in its namespace."""
        return [*self.net.enter(self.generator), *super().argv]


@pytest.fixture(scope="package")
def net() -> Iterator[Network]:
    """The network that servers and generators share."""
    with network() as made:
        yield made


@pytest.fixture(scope="package")
def postgres(net: Network, tmp_path_factory: pytest.TempPathFactory) -> Iterator[PostgresServer]:
    """A PostgreSQL that the generators reach."""
    home = tmp_path_factory.mktemp("postgres")
    server = PostgresServer(home, free_port(), password=SUPERUSER_PASSWORD, settings=FAST | {"max_connections": "100"})
    server.host = net.host
    server.prepare()
    hba = server.cluster_folder / "pg_hba.conf"
    hba.write_text(hba.read_text() + f"host all all {net.addresses} scram-sha-256\n")
    with server:
        server.create_owner_and_database(APP_ROLE, APP_PASSWORD, APP_DATABASE)
        store_light_verifiers(server, {server.superuser: server.password, APP_ROLE: APP_PASSWORD})
        yield server


@pytest.fixture(scope="package")
def bench(postgres: PostgresServer) -> str:
    """The database for runs, on this folder's own server."""
    postgres.create_owner_and_database(APP_ROLE, APP_PASSWORD, "loaded")
    return "loaded"


@pytest.fixture(scope="package")
def redis_server(net: Network, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisServer]:
    """A Redis that the generators reach."""
    server = RedisServer(tmp_path_factory.mktemp("redis"), free_port(), password="redis-password")
    server.host = net.host
    with server:
        yield server


@pytest.fixture(scope="package")
def lasting_three(
    django_db_setup: None, net: Network, redis_server: RedisServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[dict[str, FarWorker]]:
    """Three workers for all tests: starting one takes seconds."""
    with contextlib.ExitStack() as stack:
        homes = {name: tmp_path_factory.mktemp(name) for name in NAMES}
        workers = {name: FarWorker(homes[name], redis_server.url, name, net) for name in NAMES}
        for worker in workers.values():
            worker.spawn()
            stack.callback(worker.stop)
        for worker in workers.values():
            worker.wait_until_ready()
        yield workers


@pytest.fixture
def three(
    lasting_three: dict[str, FarWorker], queue: RedisServer, transactional_db: None
) -> Iterator[dict[str, FarWorker]]:
    """Three generators that live, started again where a test killed them; their logs are shown when the test fails."""
    for worker in lasting_three.values():
        if not worker.is_running:
            worker.log_path.unlink()
            worker.start()
    begun = {name: len(worker.log) for name, worker in lasting_three.items()}
    deadline = time.monotonic() + 60
    while {one.name for one in registry.alive()} < set(NAMES):
        assert time.monotonic() < deadline, "not all generators were heard"
        time.sleep(0.1)
    yield lasting_three
    for name, worker in lasting_three.items():
        print(f"--- {name}\n{worker.log[begun[name] :]}")


@pytest.fixture
def spread(cluster: Cluster, dataset: str, three: dict[str, FarWorker]) -> Callable[..., Run]:
    """Submits a short run over all three, or those named."""

    def submit(*names: str, alongside: bool = False, **options: object) -> Run:
        target = {"cluster": str(cluster.pk), "database": dataset}
        place = Placement(names or NAMES, alongside)
        chosen = LASTING | {"clients": 7, "duration": 4} | options
        return submit_one(target=target, options=chosen, author=None, place=place)

    return submit
