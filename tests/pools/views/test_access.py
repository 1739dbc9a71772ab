"""Who gets in: nobody without a login, and only staff to what changes things or shows a password."""

import pytest
from django.urls import reverse

from tests.pages import page_of
from tests.pools.records import a_pool

CHECK = ["cluster-list", "pooler-list", "pool-list"]
LOOK_AT_ONE = ["cluster-detail", "pooler-detail", "pool-detail", "pooler-live", "pool-live"]
CHANGE = ["cluster-create", "pooler-create", "pool-create"]
CHANGE_ONE = ["cluster-edit", "cluster-delete", "pooler-edit", "pooler-delete", "pool-edit", "pool-delete"]
POST_ONE = ["cluster-check", "cluster-connection", "pooler-check", "pooler-apply", "pool-connection", "pool-retry"]


@pytest.fixture
def address(db):
    """Name of a URL → its address, for a pool with its cluster and pooler."""
    pool = a_pool()
    keys = {"cluster": pool.cluster_id, "pooler": pool.pooler_id, "pool": pool.pk}

    def of(name):
        return reverse(name, args=[keys[name.split("-")[0]]] if name in {*LOOK_AT_ONE, *CHANGE_ONE, *POST_ONE} else [])

    return of


@pytest.mark.parametrize("name", [*CHECK, *LOOK_AT_ONE, *CHANGE, *CHANGE_ONE])
def test_strangers_are_led_to_the_login(client, address, name):
    answer = client.get(address(name))
    assert (answer.status_code, answer.url) == (302, f"/login/?next={address(name)}")


@pytest.mark.parametrize("name", [*CHECK, *LOOK_AT_ONE])
def test_readers_may_look(reader, address, name):
    assert reader.get(address(name)).status_code == 200


@pytest.mark.parametrize("name", [*CHANGE, *CHANGE_ONE])
def test_readers_may_not_open_a_form(reader, address, name):
    answer = reader.get(address(name))
    assert answer.status_code == 403
    assert "This needs the role" in page_of(answer)


@pytest.mark.parametrize("name", [*CHANGE, *CHANGE_ONE, *POST_ONE])
def test_readers_may_not_change_anything(reader, address, name):
    assert reader.post(address(name), {"reveal": "1"}).status_code == 403


@pytest.mark.parametrize("name", [*CHANGE, *CHANGE_ONE])
def test_staff_opens_every_form(staff, address, name):
    assert staff.get(address(name)).status_code == 200


@pytest.mark.parametrize("name", POST_ONE)
def test_what_acts_wants_a_post(staff, address, name):
    assert staff.get(address(name)).status_code == 405


@pytest.mark.parametrize("name", [*LOOK_AT_ONE[:4], *CHANGE_ONE])
def test_a_missing_record_is_not_found(staff, name):
    answer = staff.get(reverse(name, args=["00000000-0000-0000-0000-000000000000"]))
    assert answer.status_code == 404
    assert "There is nothing at this address" in page_of(answer)


def test_readers_see_no_buttons_that_are_not_for_them(reader, address):
    page = page_of(reader.get(address("pool-detail")))
    assert "Show password" not in page
    assert address("pool-edit") not in page
