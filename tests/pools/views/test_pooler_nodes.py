"""The pages and the API of a Pgpool-II's backends, without one that answers; the rest is in tests/live."""

import pytest
from django.urls import reverse

from pools.models import PoolerKind
from tests.pages import page_of
from tests.pools.records import a_pooler

PAGES = [("pooler-nodes", []), ("pooler-node-attach", [0]), ("pooler-node-detach", [0])]


@pytest.fixture
def pgpool(db):
    return a_pooler(kind=PoolerKind.PGPOOL, port=1, pcp_port=1)


@pytest.mark.parametrize(("name", "more"), PAGES)
def test_strangers_are_led_to_the_login(client, pgpool, name, more):
    assert client.get(reverse(name, args=[pgpool.pk, *more])).status_code == 302


def test_readers_look_but_do_not_change(reader, pgpool):
    assert reader.get(reverse("pooler-nodes", args=[pgpool.pk])).status_code == 200
    assert reader.post(reverse("pooler-node-detach", args=[pgpool.pk, 0])).status_code == 403


def test_one_that_does_not_answer_says_why(staff, pgpool):
    page = page_of(staff.get(reverse("pooler-nodes", args=[pgpool.pk])))
    assert "The pooler did not list its nodes" in page
    assert "can&#x27;t be reached" in page


@pytest.mark.parametrize(("name", "more"), PAGES)
def test_a_pgbouncer_has_no_nodes(staff, name, more):
    assert staff.get(reverse(name, args=[a_pooler().pk, *more])).status_code == 404


def test_a_backend_that_is_not_there_is_not_found(staff, pgpool):
    assert staff.get(reverse("pooler-node-attach", args=[pgpool.pk, 7])).status_code == 404


def test_the_form_helps_to_choose(staff, db):
    page = page_of(staff.get(reverse("pooler-create")))
    assert page.count('<th scope="row">') == 15
    assert "PgBouncer 1.18" in page
