"""What stands in the way of a drop while poolers hold connections, and passwords that change under running clients."""

import threading
import time
from collections.abc import Iterator

import psycopg
import pytest

from panel.quickstart.pgpool_server import PgpoolServer
from panel.quickstart.servers import PgBouncerServer, PostgresServer
from pools import deployment
from pools.inventory import pools
from pools.models import Cluster, Pool, Pooler, PoolerKind, PoolState
from pools.provisioning import databases, roles
from pools.provisioning.blockers import DropBlocked
from tests.live.pools.conftest import LogIn, MakePool

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def till(cluster: Cluster, postgres: PostgresServer, make_pool: MakePool, pooler: Pooler) -> Iterator[str]:
    """The password of role `till`, which owns the database `shop`; the pool `till` that leads there is applied."""
    _, password = roles.create(cluster, {"name": "till"})
    databases.create(cluster, {"name": "shop", "owner": "till"})
    make_pool("till", database="shop", user="till")
    deployment.apply_pooler(pooler)
    assert state_of("till") == (PoolState.APPLIED, "")
    yield password
    with postgres.connect() as session:
        session.execute("DROP DATABASE IF EXISTS shop WITH (FORCE)")
        session.execute("DROP ROLE IF EXISTS till")


def state_of(pool: str) -> tuple[str, str]:
    return Pool.objects.values_list("state", "state_reason").get(name=pool)


def test_idle_server_connections_of_the_panel_s_own_pooler_are_named_as_such(
    cluster: Cluster, till: str, log_in: LogIn
) -> None:
    assert log_in("till", "till", till) == "till"  # the client is gone, its server connection stays
    kept = "1 server connection that pooler live-pgbouncer keeps as 'till' to 'shop'"
    asked = {"leads there": databases.blocking(cluster, "shop"), "logs in with it": roles.blocking(cluster, "till")}
    for does, found in asked.items():
        texts = [obstacle.text for obstacle in found]
        assert f"pool till on pooler live-pgbouncer {does}" in texts
        assert kept in texts
        assert "RECONNECT" in found[texts.index(kept)].remedy


def test_pools_of_another_record_of_the_server_stand_in_the_way_too(cluster: Cluster, till: str) -> None:
    address = {name: getattr(cluster, name) for name in ("host", "port", "admin_user", "sslmode")}
    twin = Cluster(name="again", **address)
    twin.admin_password = cluster.admin_password
    twin.save(force_insert=True)
    with pytest.raises(DropBlocked, match="pool till on pooler live-pgbouncer leads there"):
        databases.drop(twin, "shop")
    with pytest.raises(DropBlocked, match="pool till on pooler live-pgbouncer logs in with it"):
        roles.drop(twin, "till")


def test_a_removed_pool_lets_its_database_and_its_role_go(
    cluster: Cluster, till: str, pooler: Pooler, log_in: LogIn
) -> None:
    log_in("till", "till", till)
    pools.remove(Pool.objects.get(name="till"))
    deployment.apply_pooler(pooler)
    assert not Pool.objects.filter(name="till").exists()
    deadline = time.monotonic() + 60
    while databases.blocking(cluster, "shop"):
        assert time.monotonic() < deadline, databases.blocking(cluster, "shop")
        time.sleep(0.1)
    databases.drop(cluster, "shop")
    roles.drop(cluster, "till")


def test_connections_of_a_pgpool_are_named_as_such(
    cluster: Cluster, postgres: PostgresServer, pgpool: PgpoolServer, db: None
) -> None:
    front = Pooler(name="balancer", kind=PoolerKind.PGPOOL, host=pgpool.host, port=pgpool.port, admin_user="postgres")
    front.admin_password = postgres.password
    front.save(force_insert=True)
    Pool.objects.create(name="app", pooler=front, cluster=cluster, database="app", user="app", size=1, mode="session")
    address = {"host": pgpool.host, "port": pgpool.port, "dbname": "app", "user": "app", "password": "app-password"}
    with psycopg.connect(**address, connect_timeout=5) as client:
        client.execute("SELECT 1")
        texts = [obstacle.text for obstacle in databases.blocking(cluster, "app")]
    assert any(text.endswith("that pooler balancer keeps as 'app' to 'app'") for text in texts), texts


class Customer(threading.Thread):
    """A connected client that keeps asking through the pool until told to stop."""

    def __init__(self, pooler: Pooler, password: str) -> None:
        super().__init__(daemon=True)
        address = {"host": pooler.host, "port": pooler.port, "user": "till", "password": password}
        self.session = psycopg.connect(dbname="till", autocommit=True, prepare_threshold=None, **address)
        self.enough, self.answers, self.slowest_s = threading.Event(), 0, 0.0

    def run(self) -> None:
        while not self.enough.is_set():
            started = time.monotonic()
            self.session.execute(b"SELECT pg_sleep(0.005)")
            self.answers, self.slowest_s = self.answers + 1, max(self.slowest_s, time.monotonic() - started)


def test_a_new_password_reaches_the_pooler_and_no_connected_client_notices(
    cluster: Cluster, till: str, pooler: Pooler, log_in: LogIn, pgbouncer: PgBouncerServer
) -> None:
    customers = [Customer(pooler, till) for _ in range(6)]  # more than the pool has servers
    for customer in customers:
        customer.start()
    password = roles.reset_password(cluster, "till")
    assert state_of("till")[0] == PoolState.PENDING
    deployment.apply_pooler(pooler)
    assert state_of("till") == (PoolState.APPLIED, "")
    with pgbouncer.connect() as console:
        console.execute(b"RECONNECT till")  # from now on every server connection is made with the new password
    before = [customer.answers for customer in customers]
    time.sleep(1)
    for customer in customers:
        customer.enough.set()
        customer.join(10)
        customer.session.close()
    assert all(customer.answers > described for customer, described in zip(customers, before, strict=True))
    assert max(customer.slowest_s for customer in customers) < 5
    assert log_in("till", "till", password) == "till"
    with pytest.raises(psycopg.OperationalError):
        log_in("till", "till", till)
    assert cluster.password_of("till") == password


def test_a_drop_is_refused_while_clients_work_through_the_pool(cluster: Cluster, till: str, pooler: Pooler) -> None:
    address = {"host": pooler.host, "port": pooler.port, "user": "till", "password": till, "dbname": "till"}
    with psycopg.connect(**address, autocommit=True, connect_timeout=5) as client:
        client.execute(b"SELECT 1")
        with pytest.raises(DropBlocked, match="that pooler live-pgbouncer keeps as 'till'"):
            roles.drop(cluster, "till")
