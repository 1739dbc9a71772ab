"""The page and the API of why clients wait, on a real lock."""

from collections.abc import Callable

import pytest
from django.contrib.auth.models import User
from django.test import Client as Browser
from django.urls import reverse

from panel.quickstart.servers import PostgresServer
from pools.inventory import poolers
from pools.models import Entry, Pool
from tests.live.pools.diagnosis.conftest import SIZE, Clients
from tests.live.pools.diagnosis.test_causes import UPDATE

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def locked(clients: Clients, registered: Callable[[str], Pool], prepared: PostgresServer) -> Pool:
    """A pool whose connections wait for a client of another pool."""
    clients.connect("other", "batch").execute(UPDATE)
    clients.sending("locked", UPDATE, count=SIZE + 3)
    clients.wait_for(lambda: clients.waiting("locked") == 3)
    return registered("locked")


def test_admins_read_the_statements_and_viewers_their_shape(
    locked: Pool, client: Browser, admin_client: Browser
) -> None:
    address = reverse("pool-waiting", args=[locked.pk])
    assert client.get(address).status_code == 302
    client.force_login(User.objects.create_user("viewer"))  # of the only team
    for_admin, for_viewer = (one.get(address).content.decode() for one in (admin_client, client))
    assert "Lock: 2 server connections of pool locked wait for process" in for_admin
    assert "application batch" in for_viewer
    assert "WHERE id = 1" in for_admin
    assert "WHERE id = 1" not in for_viewer
    assert "WHERE id = $2" in for_viewer


def test_the_api_names_the_blocker_the_queue_and_the_holders(locked: Pool, admin_client: Browser) -> None:
    found = admin_client.get(f"/api/v1/pools/{locked.pk}/waiting/").json()
    assert (found["cause"], found["queue"]["waiting"], len(found["holders"])) == ("lock", 3, SIZE)
    root, *below = found["tree"]
    assert (root["depth"], root["pool"], root["pid"]) == (0, "other", found["pids"][0])
    assert root["session"]["state"] == "idle in transaction"
    assert {(branch["depth"], branch["pool"]) for branch in below} == {(1, "locked"), (2, "locked")}
    assert {holder["client"]["application"] for holder in found["holders"]} == {"shop"}


def test_a_pooler_tells_it_of_its_pools_that_wait(locked: Pool, admin_client: Browser) -> None:
    page = admin_client.get(reverse("pooler-waiting", args=[locked.pooler_id])).content.decode()
    assert "Lock: 2 server connections of pool locked" in page
    (found,) = admin_client.get(f"/api/v1/poolers/{locked.pooler_id}/waiting/").json()
    assert found["cause"] == "lock"


def test_an_entry_without_a_registered_server_tells_its_queue(locked: Pool, admin_client: Browser) -> None:
    pooler = locked.pooler
    locked.delete()
    poolers.check(pooler)
    Entry.objects.update(cluster=None)
    entry = Entry.objects.get(name="locked")
    found = admin_client.get(f"/api/v1/entries/{entry.pk}/waiting/").json()
    assert (found["cause"], found["queue"]["waiting"]) == ("", 3)
    assert "The server behind this entry is not registered, so its sessions can't be asked." in found["notes"]
    assert "locked" in admin_client.get(reverse("entry-waiting", args=[entry.pk])).content.decode()
