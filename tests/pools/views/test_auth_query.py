"""The page of a cluster's look-up of inbound users, without a server that answers."""

import pytest
from django.urls import reverse

from tests.pages import page_of
from tests.pools.records import a_cluster, a_pool


@pytest.fixture
def cluster(db):
    return a_cluster(name="main", auth_role="pooldeck_auth")


@pytest.fixture
def address(cluster):
    return reverse("cluster-auth-query", args=[cluster.pk])


def test_strangers_are_led_to_the_login(client, address):
    assert client.get(address).status_code == 302


def test_readers_may_look_and_find_nothing_to_press(reader, address):
    answer = reader.get(address)
    assert answer.status_code == 200
    assert "Set up again" not in page_of(answer)


def test_readers_may_not_change_anything(reader, address):
    assert reader.post(address).status_code == 403


def test_an_unknown_cluster_is_none(staff, db):
    assert staff.get(reverse("cluster-auth-query", args=["6f1ab2de-0000-4000-8000-000000000001"])).status_code == 404


def test_other_methods_are_refused(staff, address):
    assert staff.put(address).status_code == 405


def test_a_cluster_that_does_not_answer_is_said_to_be_so(staff, address):
    page = page_of(staff.get(address))
    assert "The cluster could not be asked" in page
    assert "pooldeck_auth looks up passwords" in page


def test_what_is_refused_keeps_the_name_that_was_typed(staff, db):
    cluster = a_cluster(name="fresh")
    answer = staff.post(reverse("cluster-auth-query", args=[cluster.pk]), {"role": "postgres"})
    page = page_of(answer)
    assert answer.status_code == 400
    assert "postgres is the panel&#x27;s own login, which may do everything: choose another name" in page
    assert 'value="postgres"' in page


def test_it_can_not_be_taken_away_under_a_pool(staff, cluster, address):
    pool = a_pool(cluster=cluster, user="", name="orders")
    answer = staff.post(address, {"do": "remove"})
    page = page_of(answer)
    assert answer.status_code == 409
    assert "inbound users of orders are looked up by it: remove these pools, or give each a fixed user" in page
    assert reverse("pool-detail", args=[pool.pk]) in page
