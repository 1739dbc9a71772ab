"""Who uses a pool, a pooler and a cluster, and what its statements cost, on real servers."""

import time
from collections.abc import Callable

import pytest
from django.test import Client as Browser

from core.accounts.access import Access
from core.accounts.models import Membership, Role, Team
from panel.quickstart.servers import PostgresServer
from pools.clusters.topology import Place
from pools.diagnosis import apps, statements
from pools.diagnosis.apps import App
from pools.models import Cluster, Pool
from tests.callers import of_an_admin, person
from tests.live.conftest import APP_DATABASE, APP_ROLE
from tests.live.pools.diagnosis.conftest import SIZE, Clients
from tests.live.pools.diagnosis.test_causes import UPDATE

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def busy(clients: Clients, registered: Callable[[str], Pool], prepared: PostgresServer) -> Pool:
    """A pool with two forgotten transactions of one application, and three clients of another that wait for them."""
    for number in range(SIZE):
        clients.connect("locked", "forgetful").execute(UPDATE.replace("id = 1", f"id = {number + 2}"))
    clients.sending("locked", "SELECT 1", count=3, application="shop")
    clients.connect("other", "reports")
    clients.wait_for(lambda: clients.waiting("locked") == 3)
    time.sleep(1.1)
    registered("other")
    return registered("locked")


def by_name(found: apps.Apps) -> dict[str, App]:
    return {row.application: row for row in found.rows if row.application in ("shop", "forgetful", "reports")}


def test_a_row_says_what_an_application_holds_and_waits_for(busy: Pool) -> None:
    found = apps.of_target(of_an_admin(), busy)
    rows = by_name(found)
    assert list(rows) == ["shop", "forgetful"]  # who waits longest comes first
    shop, forgetful = rows.values()
    assert (shop.user, shop.clients, shop.in_transaction, shop.waiting) == (APP_ROLE, 3, 0, 3)
    assert shop.longest_wait_s >= 1
    assert shop.oldest_transaction_s is None
    assert (forgetful.clients, forgetful.in_transaction, forgetful.waiting) == (SIZE, SIZE, 0)
    assert (forgetful.oldest_transaction_s or 0) >= 1
    assert found.counts_clients


def test_a_pooler_has_those_of_all_its_pools(busy: Pool, admin_client: Browser) -> None:
    rows = by_name(apps.of_pooler(of_an_admin(), busy.pooler))
    assert {name: row.pools for name, row in rows.items()} == {
        "shop": ("locked",),
        "forgetful": ("locked",),
        "reports": ("other",),
    }
    page = admin_client.get(f"/poolers/{busy.pooler_id}/apps/").content.decode()
    assert "forgetful" in page
    assert "log_line_prefix" in page
    found = admin_client.get(f"/api/v1/poolers/{busy.pooler_id}/apps/").json()
    assert {"shop", "forgetful", "reports"} <= {row["application"] for row in found["rows"]}


def test_a_cluster_has_those_with_sessions(busy: Pool, prepared: PostgresServer, admin_client: Browser) -> None:
    with prepared.connect(APP_DATABASE) as session:
        session.execute("SET application_name = 'psql by hand'")
        session.execute("BEGIN")
        rows = {row.application: row for row in apps.of_cluster(busy.cluster).rows}
        assert rows["psql by hand"].in_transaction == 1
        page = admin_client.get(f"/clusters/{busy.cluster_id}/apps/").content.decode()
    assert rows["forgetful"].in_transaction == SIZE
    assert "psql by hand" in page


def test_who_does_not_see_the_cluster_gets_no_ages_and_no_statements(busy: Pool, client: Browser) -> None:
    Cluster.objects.filter(pk=busy.cluster_id).update(team=Team.objects.create(name="theirs"))
    reader = person("reader", staff=False)
    Membership.objects.filter(user=reader).delete()
    Membership.objects.create(user=reader, team=Team.objects.get(pk=busy.pooler.team_id), role=Role.VIEWER)
    busy.refresh_from_db()
    found = apps.of_target(Access.by(reader), busy)
    assert [row.oldest_transaction_s for row in found.rows] == [None] * len(found.rows)
    assert by_name(found)["forgetful"].in_transaction == SIZE
    assert found.notes


def test_without_the_library_the_steps_to_get_it_are_told(cluster: Cluster, prepared: PostgresServer) -> None:
    found = statements.of_database(Place(cluster), APP_DATABASE, "total")
    assert "not loaded" in found.lacks
    assert [step.line for step in found.steps] == [
        "shared_preload_libraries = 'pg_stat_statements'",
        "systemctl restart postgresql",
        "CREATE EXTENSION pg_stat_statements;",
    ]
