"""The pages of databases and roles without a server; with one: tests/live/pools/provisioning/test_pages.py."""

import pytest
from django.urls import reverse

from tests.pages import page_of
from tests.pools.records import a_cluster, checked

LISTS = ["cluster-databases", "cluster-roles"]
FORMS = ["cluster-database-create", "cluster-role-create"]
OF_ONE = [
    "cluster-database-edit",
    "cluster-database-drop",
    "cluster-role-edit",
    "cluster-role-reset",
    "cluster-role-drop",
]


@pytest.fixture
def cluster(db):
    cluster = a_cluster(name="orders")
    checked(cluster)
    return cluster


def address(name, cluster):
    return reverse(name, args=[cluster.pk]) + ("?name=app" if name in OF_ONE else "")


@pytest.mark.parametrize("name", LISTS)
def test_a_list_says_why_the_cluster_could_not_be_asked(reader, cluster, name):
    answer = reader.get(address(name, cluster))
    assert answer.status_code == 200
    assert "connection refused: nothing listens at 127.0.0.1:1" in answer.context["unreachable"]
    assert page_of(answer).count('aria-current="page"') == 2  # The page marks it in the navigation and in the tabs.


@pytest.mark.parametrize("name", FORMS)
def test_a_form_opens_without_the_server_and_keeps_what_was_typed(staff, cluster, name):
    assert "connection refused" in staff.get(address(name, cluster)).context["unreachable"]
    typed = {"name": "two words", "connection_limit": "7", "access": "read", "database": "shop", "can_login": "on"}
    answer = staff.post(address(name, cluster), typed)
    assert answer.status_code == 200
    assert "Nothing was changed" in page_of(answer)
    assert answer.context["form"]["name"].value() == "two words"
    assert 'value="two words"' in page_of(answer)
    assert "no-store" in answer.headers["Cache-Control"]


@pytest.mark.parametrize("name", OF_ONE)
def test_a_page_of_one_leads_back_to_the_list_that_says_why(staff, cluster, name):
    answer = staff.get(address(name, cluster), follow=True)
    assert answer.redirect_chain == [(reverse(LISTS["role" in name], args=[cluster.pk]), 302)]
    assert "connection refused" in page_of(answer)


@pytest.mark.parametrize("name", [*FORMS, *OF_ONE])
def test_only_staff_gets_to_what_changes_something(reader, client, cluster, name):
    assert reader.get(address(name, cluster)).status_code == 403
    assert reader.post(address(name, cluster), {"name": "app"}).status_code == 403
    assert client.post(address(name, cluster), {"name": "app"}).status_code == 302


@pytest.mark.parametrize("name", [*LISTS, *FORMS, *OF_ONE])
def test_a_missing_cluster_is_not_found(staff, name):
    missing = reverse(name, args=["00000000-0000-0000-0000-000000000000"])
    assert staff.get(missing).status_code == 404


@pytest.mark.parametrize("name", LISTS)
def test_lists_take_no_post(staff, cluster, name):
    assert staff.post(address(name, cluster)).status_code == 405


def test_readers_see_no_buttons_that_are_not_for_them(reader, cluster):
    for name in LISTS:
        page = page_of(reader.get(address(name, cluster)))
        assert "/new/" not in page


def test_the_cluster_leads_to_its_databases_and_roles(reader, cluster):
    page = page_of(reader.get(reverse("cluster-detail", args=[cluster.pk])))
    for name in LISTS:
        assert f'href="{address(name, cluster)}"' in page


@pytest.mark.parametrize(
    ("typed", "field", "words"),
    [
        ({"connection_limit": "many"}, "connection_limit", "connection limit must be a whole number"),
        ({"connection_limit": "-1"}, "connection_limit", "-1 is too little: use at least 0"),
        ({"valid_until": "later"}, "valid_until", "this is not a valid time: write it as 2027-01-31 18:00"),
        ({"name": ""}, "name", "name is needed"),
    ],
)
def test_what_can_not_be_read_is_told_beside_its_field(staff, cluster, typed, field, words):
    answer = staff.post(address("cluster-role-create", cluster), {"name": "till", "access": "write"} | typed)
    assert words in answer.context["form"].errors[field][0]
