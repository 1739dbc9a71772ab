"""What the API tells of a real Pgpool-II: figures that it counts, and null for the others."""

import psycopg
import pytest

from panel.quickstart.pgpool_server import PgpoolServer
from pools import deployment
from pools.api import live
from pools.models import Cluster, Pool, Pooler
from pools.monitoring import sampler
from pools.monitoring.rates import FIGURES
from tests.live.conftest import CHILDREN

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("without_trial")]


def test_a_client_is_counted_and_a_queue_that_nobody_counts_is_null(
    cluster: Cluster, pgpool_pooler: Pooler, own_pgpool: PgpoolServer
) -> None:
    values = {"database": "app", "user": "app", "mode": "session", "size": CHILDREN}
    pool = Pool.objects.create(name="app", pooler=pgpool_pooler, cluster=cluster, **values)
    deployment.apply_pooler(pgpool_pooler)
    address = {"host": own_pgpool.host, "port": own_pgpool.port, "connect_timeout": 5}
    with psycopg.connect(dbname="app", user="app", password="app-password", autocommit=True, **address) as session:
        session.execute("SELECT 1")
        sampler._cache.clear()
        described = live.payload(sampler.latest(pgpool_pooler), pgpool_pooler.kind, pool.name)
    known = {name for name in FIGURES if described[name] is not None}
    assert (described["error"], described["cl_active"], known) == ("", 1, {"cl_active", "sv_active", "sv_idle"})
