"""Applying pools onto a real PgBouncer before a real PostgreSQL."""

from collections.abc import Callable

import psycopg
import pytest

from panel.quickstart.servers import PgBouncerServer, PostgresServer
from pools import apply
from pools.models import Cluster, Pool, Pooler, PoolState, RevisionState

pytestmark = [pytest.mark.live, pytest.mark.django_db(transaction=True)]

MakePool = Callable[..., Pool]


@pytest.fixture
def make_pool(cluster: Cluster, pooler: Pooler) -> MakePool:
    """Saves a pending pool on `pooler` to `cluster`; not applied yet."""

    def make(name: str = "orders", **fields: object) -> Pool:
        values = {"database": "app", "user": "app", "mode": "transaction", "size": 3} | fields
        return Pool.objects.create(name=name, pooler=pooler, cluster=cluster, **values)

    return make


def log_in(pooler: Pooler, pool: str, user: str = "app", password: str = "app-password") -> str:
    """The role that a client ends up as."""
    address = {"host": pooler.host, "port": pooler.port, "connect_timeout": 5}
    with psycopg.connect(dbname=pool, user=user, password=password, autocommit=True, **address) as session:
        return session.execute(b"SELECT current_user").fetchone()[0]


def live(server: PgBouncerServer) -> dict[str, tuple[object, ...]]:
    """Name → (database, forced user, size, mode, most connections) as SHOW DATABASES has it."""
    with server.connect() as console:
        cursor = console.execute(b"SHOW DATABASES")
        names = [column.name for column in cursor.description]
        rows = [dict(zip(names, row, strict=True)) for row in cursor]
    columns = ("database", "force_user", "pool_size", "pool_mode", "max_connections")
    return {row["name"]: tuple(row[column] for column in columns) for row in rows if row["name"] != "pgbouncer"}


def test_a_new_pool_goes_live_and_lets_its_user_through(
    make_pool: MakePool, pooler: Pooler, pgbouncer: PgBouncerServer
) -> None:
    pool = make_pool()
    revision = apply.apply_pooler(pooler)
    pool.refresh_from_db()
    assert (revision.state, revision.reason) == (RevisionState.APPLIED, "")
    assert (pool.state, pool.state_reason) == (PoolState.APPLIED, "")
    assert live(pgbouncer) == {"orders": ("app", "app", 3, "transaction", 3)}
    assert log_in(pooler, "orders") == "app"
    assert [step["step"] for step in revision.steps] == [
        "rendered",
        "rehearsed",
        "writing",
        "reloaded",
        "read back",
        "logged in",
    ]


def test_nothing_is_done_when_nothing_waits(make_pool: MakePool, pooler: Pooler) -> None:
    make_pool()
    apply.apply_pooler(pooler)
    assert apply.apply_pooler(pooler) is None
    assert pooler.revisions.count() == 1
