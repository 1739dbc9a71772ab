"""PgBouncer before Pgpool-II before the cluster: a query goes through both."""

import psycopg
import pytest

from pools import deployment
from pools.models import Cluster, Pool, Pooler, PoolState
from pools.poolers import KINDS
from tests.live.conftest import CHILDREN

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_query_goes_through_both(cluster: Cluster, pooler: Pooler, pgpool_pooler: Pooler) -> None:
    inner = {"name": "app", "database": "app", "user": "app", "mode": "session", "size": CHILDREN}
    Pool.objects.create(pooler=pgpool_pooler, cluster=cluster, **inner)
    deployment.apply_pooler(pgpool_pooler)
    outer = {"name": "chained", "database": "app", "user": "app", "mode": "transaction", "size": 3}
    pool = Pool.objects.create(pooler=pooler, cluster=cluster, through=pgpool_pooler, **outer)

    deployment.apply_pooler(pooler)

    pool.refresh_from_db()
    assert (pool.state, pool.state_reason) == (PoolState.APPLIED, "")
    address = {"host": pooler.host, "port": pooler.port, "dbname": "chained", "user": "app", "password": "app-password"}
    with pytest.raises(psycopg.OperationalError, match="login rejected"):  # known to both, and not the pool's user
        psycopg.connect(**address | {"user": cluster.admin_user, "password": cluster.admin_password})
    with psycopg.connect(**address, autocommit=True, prepare_threshold=None) as session:
        # only a Pgpool-II answers this, and only the server the other
        answer = session.execute(b"SHOW POOL_VERSION")
        reported = answer.fetchall()
        while answer.nextset():
            reported += answer.fetchall()
        assert reported[0][0].split()[0] == pgpool_pooler.server_version.removeprefix("Pgpool-II ")
        assert session.execute(b"SELECT current_user, inet_server_port()").fetchall() == [("app", cluster.port)]
        servers = KINDS[pooler.kind].show(pooler, "servers")
        assert {(row["addr"], row["port"]) for row in servers} == {(pgpool_pooler.host, pgpool_pooler.port)}
