"""Real servers for live tests, each on a free port with its own password."""

import contextlib
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
import redis
from pytest_django import Settings

from core.lib import redis_client
from core.lib.queues import WorkerKind
from panel import celery_app
from panel.quickstart import account
from panel.quickstart.pgpool_server import PgpoolServer
from panel.quickstart.servers import PgBouncerServer, PostgresServer, RedisServer, free_port
from pools.inventory import poolers
from pools.models import Cluster, Pool, Pooler, PoolerKind
from pools.poolers.pgpool import preflight
from pools.provisioning import auth_query
from tests.live.haproxies import HAProxyServer
from tests.live.panel_programs import TestWorker, use_broker
from tests.postgresqls import store_light_verifiers, verifier

SUPERUSER_PASSWORD = "super-secret"
APP_ROLE, APP_PASSWORD, APP_DATABASE = "app", "app-password", "app"
CHILDREN = 12  # of each Pgpool-II: it forks them all at its start, a hundred times in a test run
FAST = {"fsync": "off", "full_page_writes": "off", "synchronous_commit": "off"}


class TestPgBouncer(PgBouncerServer):
    """A PgBouncer whose console knows its user by a SCRAM verifier of one iteration: each test logs in many times."""

    __test__ = False

    def prepare(self) -> None:
        """Write its configuration, and the light verifier in place of the password."""
        is_first = not self.config_dir.exists()
        super().prepare()
        if is_first:
            entry = f'"{self.admin_user}" "{verifier(self.admin_password)}"\n'
            account.write_private(self.config_dir / "userlist.txt", entry)


@pytest.fixture(scope="session")
def postgres(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PostgresServer]:
    """A PostgreSQL with SCRAM and 100 connections; role `app` owns the database `app`."""
    home = tmp_path_factory.mktemp("postgres")
    server = PostgresServer(home, free_port(), password=SUPERUSER_PASSWORD, settings=FAST | {"max_connections": "100"})
    with server:
        server.create_owner_and_database(APP_ROLE, APP_PASSWORD, APP_DATABASE)
        store_light_verifiers(server, {server.superuser: server.password, APP_ROLE: APP_PASSWORD})
        yield server


@pytest.fixture(scope="session")
def redis_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisServer]:
    """A Redis that asks for its password."""
    with RedisServer(tmp_path_factory.mktemp("redis"), free_port(), password="redis-password") as server:
        yield server


@pytest.fixture
def pgbouncer(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PgBouncerServer]:
    """A PgBouncer of the test's own, with a console login, a writable `config_dir` and no databases yet."""
    home = tmp_path_factory.mktemp("pgbouncer")
    with TestPgBouncer(home, free_port(), "pooldeck", "console-password") as server:
        yield server


@pytest.fixture(scope="session")
def pgpool(postgres: PostgresServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[PgpoolServer]:
    """A Pgpool-II before `postgres`; it knows the superuser and `app`."""
    passwords = {postgres.superuser: postgres.password, APP_ROLE: APP_PASSWORD}
    made = PgpoolServer(tmp_path_factory.mktemp("pgpool"), free_port(), free_port(), postgres, passwords)
    made.children = CHILDREN
    with made:
        yield made


@pytest.fixture
def pgpool_children() -> int:
    """How many clients `own_pgpool` serves at once."""
    return CHILDREN


@pytest.fixture
def own_pgpool(
    postgres: PostgresServer,
    tmp_path_factory: pytest.TempPathFactory,
    pgpool_binary: str | None,
    pgpool_children: int,
) -> Iterator[PgpoolServer]:
    """A Pgpool-II of the test's own before `postgres`: the superuser may log in, `app` nowhere yet."""
    home = tmp_path_factory.mktemp("pgpool")
    passwords = {postgres.superuser: postgres.password}
    made = PgpoolServer(home, free_port(), free_port(), postgres, passwords, pgpool_binary)
    made.children = pgpool_children
    with made:
        yield made


@pytest.fixture(params=["installed", "trixie"])
def pgpool_binary(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[str | None]:
    """The program to test: none for the one that is installed, or Debian 13's out of a debootstrap folder."""
    folder = Path(os.environ.get("POOLDECK_TEST_TRIXIE", "/nowhere"))
    if request.param == "installed":
        yield None
    elif not (folder / "usr/sbin/pgpool").exists():
        pytest.skip("POOLDECK_TEST_TRIXIE names no debootstrap folder of Debian 13 with pgpool2")
    else:
        with TemporaryDirectory() as name:  # The servers' account can reach this folder.
            wrapper = Path(name) / "pgpool"
            libraries = f"{folder}/usr/lib/x86_64-linux-gnu:{folder}/usr/lib"
            loader = f"{folder}/usr/lib64/ld-linux-x86-64.so.2 --library-path {libraries}"
            wrapper.write_text(f'#!/bin/sh\nexec {loader} {folder}/usr/sbin/pgpool "$@"\n')
            for path in (wrapper, wrapper.parent):
                path.chmod(0o755)
            monkeypatch.setattr(preflight, "SEARCH_PATH", f"{name}:{preflight.SEARCH_PATH}")
            yield str(wrapper)


@pytest.fixture
def without_trial(monkeypatch: pytest.MonkeyPatch) -> None:
    """Applies to a Pgpool-II start no throwaway one first: it costs a second, where it is not the subject."""
    monkeypatch.setattr(preflight, "find", lambda *_: None)


@pytest.fixture
def pgpool_pooler(db: None, own_pgpool: PgpoolServer) -> Pooler:
    """`own_pgpool` registered, as a check found it."""
    made = Pooler(
        name="live-pgpool",
        kind=PoolerKind.PGPOOL,
        host=own_pgpool.host,
        port=own_pgpool.port,
        pcp_port=own_pgpool.pcp_port,
        admin_user=own_pgpool.backend.superuser,
        config_dir=str(own_pgpool.config_dir),
    )
    made.admin_password = own_pgpool.backend.password
    made.save(force_insert=True)
    poolers.check(made)
    return made


@pytest.fixture
def haproxy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HAProxyServer]:
    """An HAProxy of the test's own, without a frontend yet."""
    with HAProxyServer(tmp_path_factory.mktemp("haproxy"), free_port()) as server:
        yield server


@pytest.fixture
def haproxy_pooler(db: None, haproxy: HAProxyServer) -> Pooler:
    """`haproxy` registered, as a check found it."""
    address = {"host": haproxy.host, "port": haproxy.port, "config_dir": str(haproxy.config_dir)}
    made, reason = poolers.register({"name": "live-haproxy", "kind": PoolerKind.HAPROXY, **address})
    assert reason == ""
    return made


@pytest.fixture
def cluster(db: None, postgres: PostgresServer) -> Cluster:
    """`postgres` registered, unprotected; the panel knows the password of `app`."""
    made = Cluster(
        name="live",
        host=postgres.host,
        port=postgres.port,
        admin_user=postgres.superuser,
        sslmode="disable",
        protected=False,
    )
    made.admin_password = postgres.password
    made.save(force_insert=True)
    known = made.role_passwords.model(cluster=made, role=APP_ROLE)
    known.password = APP_PASSWORD
    known.save(force_insert=True)
    return made


@pytest.fixture
def lookup_role(cluster: Cluster) -> Iterator[str]:
    """The role that looks inbound users up, set up for the cluster; other tests on its server have none."""
    auth_query.install(cluster)
    yield cluster.auth_role
    Pool.objects.all().delete()
    if (found := Cluster.objects.get(pk=cluster.pk)).auth_role:
        auth_query.uninstall(found)


@pytest.fixture
def pooler(db: None, pgbouncer: PgBouncerServer) -> Pooler:
    """`pgbouncer` registered."""
    made = Pooler(
        name="live-pgbouncer",
        kind=PoolerKind.PGBOUNCER,
        host=pgbouncer.host,
        port=pgbouncer.port,
        admin_user=pgbouncer.admin_user,
        config_dir=str(pgbouncer.config_dir),
    )
    made.admin_password = pgbouncer.admin_password
    made.save(force_insert=True)
    return made


@contextlib.contextmanager
def speaking_to(server: RedisServer, settings: Settings) -> Iterator[None]:
    """Within it this process submits to, publishes to and reads from that server, which starts empty."""
    settings.REDIS_URL = server.url
    broker = celery_app.conf.broker_url
    use_broker(server.url)
    redis_client.reset_shared()
    with redis.Redis.from_url(server.url) as client:
        client.flushall()
    yield
    redis_client.shared().close()
    redis_client.reset_shared()
    use_broker(broker)


@pytest.fixture
def queue(redis_server: RedisServer, settings: Settings) -> Iterator[RedisServer]:
    """This process speaks to `redis_server`, as the lasting worker does."""
    with speaking_to(redis_server, settings):
        yield redis_server


@pytest.fixture(scope="module")
def own_redis(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisServer]:
    """A Redis that no worker of another test speaks to."""
    with RedisServer(tmp_path_factory.mktemp("redis"), free_port(), password="redis-password") as server:
        yield server


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
