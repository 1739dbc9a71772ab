"""The provider's own Python client, unmodified, over HTTPS: a whole life, and errors as its dicts."""

from typing import Any

import pytest
from pydo import Client

from pools.models import Cluster
from tests.live.panel_programs import TestWeb
from tests.live.v2.conftest import Managed
from tests.live.v2.test_life import logged_in_as

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def client(managed: Managed, panel: TestWeb, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A client that trusts the panel's private certificate authority."""
    assert panel.tls is not None
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(panel.tls.authority))
    return Client(managed.token, endpoint=managed.url).databases


def test_a_user_a_database_and_a_pool_live_and_go(
    client: Any, database: str, cluster: Cluster, fresh_name: str
) -> None:
    pk = str(cluster.pk)
    assert pk in [one["id"] for one in client.list_clusters()["databases"]]
    assert client.get_cluster(pk)["database"]["status"] == "online"
    assert client.add_user(pk, body={"name": fresh_name})["user"]["name"] == fresh_name
    assert client.add(pk, body={"name": fresh_name})["db"]["name"] == fresh_name

    asked = {"name": "web", "user": fresh_name, "db": fresh_name, "mode": "session", "size": 2}
    pool = client.add_connection_pool(pk, body=asked)["pool"]
    assert {name: pool[name] for name in asked} == asked
    assert logged_in_as(pool["connection"]["uri"]) == (fresh_name, fresh_name)
    assert [one["name"] for one in client.list_connection_pools(pk)["pools"]] == ["web"]

    client.update_connection_pool(pk, "web", body={"mode": "transaction", "size": 3, "db": fresh_name})
    changed = client.get_connection_pool(pk, "web")["pool"]
    assert (changed["size"], changed["mode"], changed["user"]) == (3, "transaction", fresh_name)

    client.delete_connection_pool(pk, "web")
    assert client.get_connection_pool(pk, "web")["id"] == "not_found"
    client.delete(pk, fresh_name)
    client.delete_user(pk, fresh_name)
    assert fresh_name not in [one["name"] for one in client.list_users(pk)["users"]]


def test_errors_are_the_clients_own(client: Any, database: str, cluster: Cluster) -> None:
    pk = str(cluster.pk)
    gone = client.get_connection_pool(pk, "nowhere")
    assert (gone["id"], "nowhere" in gone["message"]) == ("not_found", True)
    asked = {"name": "web", "user": "app", "db": "app", "mode": "session", "size": 2}
    client.add_connection_pool(pk, body=asked)
    with pytest.raises(Exception, match="web"):  # the client's own class for 409
        client.add_connection_pool(pk, body=asked)
    with pytest.raises(Exception, match="100000"):
        client.add_connection_pool(pk, body=asked | {"name": "big", "size": 100000})
