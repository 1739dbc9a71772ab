"""The connection box of a pool's page."""

import re

import pytest
from django.test import Client

from pools import connection_strings
from pools.connection_strings import box
from tests.callers import bearer, person
from tests.pages import page_of
from tests.pools.records import a_cluster, a_pool, a_pooler, know_password

OWN = "correct horse battery"  # the tests' own
HTMX = {"HX-Request": "true"}


@pytest.fixture
def pool(db):
    cluster = a_cluster("admin-secret")
    know_password(cluster, "app", "role-secret")
    return a_pool(name="web", cluster=cluster, pooler=a_pooler(port=6000), database="shop", user="app")


def checked(page):
    return re.findall(r'id="(?:as|endpoint)-([\w-]+)" checked', page)


def test_every_framework_stands_on_the_page_of_a_pool_without_the_password(staff, pool):
    page = page_of(staff.get(f"/pools/{pool.pk}/"))
    for as_ in (one for group in box.GROUPS.values() for one in group):
        assert f'data-connection-text="pooled-{as_}"' in page
        assert f'data-connection-text="direct-{as_}"' in page
    assert "jdbc:postgresql://127.0.0.1:6000/web?user=app<" in page
    assert "role-secret" not in page
    chosen = ["pooled", "pooled-uri", "pooled-pgpass", "pooled-django", "direct-uri", "direct-pgpass", "direct-django"]
    assert checked(page) == chosen


def test_every_format_of_the_box_has_a_name_and_a_text():
    grouped = {one for group in box.GROUPS.values() for one in group}
    alone = {*box.TABS, *box.FOR_CLUSTER} - set(box.GROUPS)
    assert {*grouped, *alone, *box.GROUPS} == set(box.LABELS)
    assert grouped | (alone - {box.PARAMETERS}) == set(connection_strings.FORMATS)


def test_the_chosen_framework_stays_chosen_when_the_password_is_shown(staff, pool):
    chosen = {"endpoint": "direct", "as-direct": "framework", "as-direct-framework": "rails", "reveal": "1"}
    page = page_of(staff.post(f"/pools/{pool.pk}/connection/", chosen, headers={"HX-Request": "true"}))
    assert [one for one in checked(page) if "pgpass" not in one] == [
        "pooled-uri", "pooled-django", "direct", "direct-framework", "direct-rails"
    ]  # fmt: skip
    assert "  password: &quot;role-secret&quot;" in page


def test_a_framework_is_copied_with_its_password(staff, pool):
    answer = staff.post(f"/pools/{pool.pk}/connection/", {"as": "sqlalchemy", "endpoint": "pooled"})
    assert page_of(answer) == "postgresql+psycopg://app:role-secret@127.0.0.1:6000/web"


def test_a_standby_is_offered_beside_the_primary_once_one_is_known(staff, pool):
    assert "Standby" not in page_of(staff.get(f"/pools/{pool.pk}/"))
    node = pool.cluster.nodes.create(host="standby.example", port=5433)
    node.record(state="online", in_recovery=True)
    for url in (f"/pools/{pool.pk}/", f"/clusters/{pool.cluster_id}/"):
        page = page_of(staff.get(url))
        assert 'data-connection-text="standby-uri"' in page
        assert "@standby.example:5433/" in page


@pytest.fixture
def long_ago(db) -> Client:
    """Staff whose session is older than 15 minutes."""
    client = Client()
    client.force_login(person("ann", password=OWN))
    return client


def test_a_password_is_shown_after_the_viewers_own_was_given_again(long_ago, pool):
    url = f"/pools/{pool.pk}/connection/"
    asking = page_of(long_ago.post(url, {"reveal": "1"}, headers=HTMX))
    wrong = page_of(long_ago.post(url, {"reveal": "1", "password": "guess"}, headers=HTMX))
    assert all('name="password"' in page and "role-secret" not in page for page in (asking, wrong))
    assert ("That is not your password." in asking, "That is not your password." in wrong) == (False, True)
    assert "role-secret" in page_of(long_ago.post(url, {"reveal": "1", "password": OWN}, headers=HTMX))
    assert "role-secret" in page_of(long_ago.post(url, {"reveal": "1"}, headers=HTMX))


def test_the_page_asks_without_javascript_too(long_ago, pool):
    page = page_of(long_ago.post(f"/pools/{pool.pk}/connection/", {"reveal": "1"}))
    assert "<html" in page
    assert 'name="password"' in page


def test_guesses_at_the_viewers_password_are_locked_out_as_the_login_is(long_ago, pool, settings):
    settings.AXES_FAILURE_LIMIT = 2
    url = f"/pools/{pool.pk}/connection/"
    guesses = [long_ago.post(url, {"reveal": "1", "password": "guess"}).status_code for _ in range(2)]
    assert guesses == [200, 429]
    assert long_ago.post(url, {"reveal": "1", "password": OWN}).status_code == 429


def test_no_text_with_a_password_is_copied_from_an_old_session(long_ago, pool):
    answer = long_ago.post(f"/pools/{pool.pk}/connection/", {"as": "uri", "endpoint": "pooled"})
    assert (answer.status_code, "role-secret" in page_of(answer)) == (403, False)


def test_the_api_reveals_to_an_old_session_nothing_and_to_a_token_what_it_may(long_ago, pool):
    url = f"/api/v1/pools/{pool.pk}/connection/"
    refused = long_ago.get(url, {"reveal": "1"})
    assert (refused.status_code, "15 minutes" in refused.json()["detail"]) == (403, True)
    assert long_ago.get(url).status_code == 200
    assert "role-secret" in bearer().get(url, {"reveal": "1"}).json()["text"]


def test_logging_in_counts_as_giving_the_password(pool):
    client = Client()
    person("ann", password=OWN)
    client.post("/login/", {"username": "ann", "password": OWN})
    assert "role-secret" in page_of(client.post(f"/pools/{pool.pk}/connection/", {"reveal": "1"}))
