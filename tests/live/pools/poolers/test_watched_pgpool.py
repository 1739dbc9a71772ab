"""A Pgpool-II that somebody else configures, watched by a login through it alone."""

import psycopg
import pytest

from panel.quickstart.pgpool_server import PgpoolServer
from panel.quickstart.servers import PostgresServer
from pools.inventory import budget, poolers
from pools.models import Cluster, Pooler, PoolerState
from pools.poolers import KINDS
from tests.callers import bearer
from tests.live.conftest import APP_DATABASE, APP_PASSWORD, APP_ROLE, CHILDREN

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def watched(pgpool: PgpoolServer, postgres: PostgresServer, cluster: Cluster) -> Pooler:
    """Registered by its address and a login; `app` may log in through it."""
    address = {"name": "edge", "kind": "pgpool", "host": pgpool.host, "port": pgpool.port}
    login = {"admin_user": postgres.superuser, "admin_password": postgres.password}
    made, reason = poolers.register({**address, **login, "client_host": "pool.example.org", "client_port": 5433})
    assert (reason, made.state, made.management) == ("", PoolerState.ONLINE, "watched")
    return made


def test_the_databases_of_its_servers_stand_for_entries(
    watched: Pooler, postgres: PostgresServer, cluster: Cluster
) -> None:
    found = {one.name: one for one in watched.entries.select_related("cluster")}
    with postgres.connect() as session:
        query = b"SELECT datname FROM pg_database WHERE datallowconn AND NOT datistemplate"
        assert set(found) == {row[0] for row in session.execute(query)}
    app = found[APP_DATABASE]
    kept = int(watched.facts["max_pool"])
    assert (app.cluster, app.port, app.mode, app.size) == (cluster, postgres.port, "session", CHILDREN)
    assert app.most_connections == CHILDREN * kept
    text = bearer().get(f"/api/v1/entries/{app.pk}/connection/").json()["text"]
    assert text == f"postgresql://YOUR_ROLE@pool.example.org:5433/{APP_DATABASE}"


def test_its_databases_share_its_children_in_the_budget(watched: Pooler, cluster: Cluster) -> None:
    assert watched.entries.count() > 1
    found = budget.of_cluster(cluster).unmanaged
    assert (found.connections, found.unlimited) == (CHILDREN * int(watched.facts["max_pool"]), 0)


def test_an_entry_has_the_figures_of_its_database_and_no_verbs(watched: Pooler, pgpool: PgpoolServer) -> None:
    login = {"user": APP_ROLE, "password": APP_PASSWORD, "dbname": APP_DATABASE}
    with psycopg.connect(host=pgpool.host, port=pgpool.port, **login):
        figures = KINDS[watched.kind].sample(watched).figures[APP_DATABASE]
        assert figures.cl_active >= 1
        poolers.check(watched)
    entry = watched.entries.get(name=APP_DATABASE)
    assert entry.connections >= 1
    refused = bearer().post(f"/api/v1/entries/{entry.pk}/pause/")
    assert (refused.status_code, "Pgpool-II can" in refused.json()["detail"]) == (409, True)
