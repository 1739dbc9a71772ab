"""Pools on a real Pgpool-II: let in, read back, and put back as they were when something is wrong."""

from collections.abc import Callable

import psycopg
import pytest

from panel.quickstart.servers import PgpoolServer
from pools import apply
from pools.models import Cluster, Pool, Pooler, PoolState, RevisionState
from pools.poolers import KINDS
from pools.poolers.pgpool import sql

pytestmark = [pytest.mark.live, pytest.mark.django_db(transaction=True)]
MakePool = Callable[..., Pool]


@pytest.fixture
def make_pool(cluster: Cluster, pgpool_pooler: Pooler) -> MakePool:
    """Saves a pending pool of database `app` and user `app`."""

    def make(**fields: object) -> Pool:
        values = {"name": "app", "database": "app", "user": "app", "mode": "session", "size": 32} | fields
        return Pool.objects.create(pooler=pgpool_pooler, cluster=cluster, **values)

    return make


def log_in(server: PgpoolServer, database: str = "app", user: str = "app", password: str = "app-password") -> str:
    """The role that a client of the pool ends up as."""
    address = {"host": server.host, "port": server.port, "connect_timeout": 5}
    with psycopg.connect(dbname=database, user=user, password=password, autocommit=True, **address) as session:
        return session.execute(b"SELECT current_user").fetchone()[0]


def live(pooler: Pooler) -> dict[str, str]:
    with sql.open(pooler) as session:
        return sql.settings(session)


def test_a_pool_lets_its_user_in_to_its_database_alone(
    make_pool: MakePool, pgpool_pooler: Pooler, own_pgpool: PgpoolServer
) -> None:
    with pytest.raises(psycopg.OperationalError):
        log_in(own_pgpool)
    pool = make_pool()

    revision = apply.apply_pooler(pgpool_pooler)

    pool.refresh_from_db()
    assert (revision.state, revision.reason) == (RevisionState.APPLIED, "")
    assert (pool.state, pool.state_reason) == (PoolState.APPLIED, "")
    assert log_in(own_pgpool) == "app"
    with pytest.raises(psycopg.OperationalError):
        log_in(own_pgpool, database="postgres")
