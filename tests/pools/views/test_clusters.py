"""The pages of clusters."""

from html import escape
from urllib.parse import urlencode

import pytest
from django.urls import reverse

from pools.models import Cluster
from tests.callers import queries_of
from tests.pages import page_of
from tests.pools.records import a_cluster, a_node, a_pool, a_pooler, checked, know_password

TYPED = {
    "name": "orders",
    "host": "127.0.0.1",
    "port": "1",
    "admin_user": "postgres",
    "admin_password": "typed-secret",
    "maintenance_database": "postgres",
    "sslmode": "disable",
    "sslrootcert": "",
    "memory_mb": "",
    "vcpus": "",
    "disk_gb": "",
    "set_aside_connections": "0",
    "protected": "on",
}


def typed(form, *names):
    return {name: form[name].value() for name in names}


@pytest.mark.django_db
def test_the_list_shows_state_budget_and_pools_by_name(staff):
    first, second = a_cluster(name="beta"), a_cluster(name="alpha")
    checked(first, used_connections=7)
    a_pool(cluster=first, size=30)
    answer = staff.get("/clusters/")
    assert [row["cluster"].name for row in answer.context["rows"]] == ["alpha", "beta"]
    page = page_of(answer)
    assert "<strong>30</strong> of 97" in page
    assert "67 free" in page
    assert "PostgreSQL 15.18" in page
    assert "not checked yet" in page
    assert second.name in page


@pytest.mark.parametrize(("query", "found"), [("q=ord", ["orders"]), ("state=online", ["web"]), ("q=none", [])])
def test_the_list_is_filtered_by_its_address(staff, query, found):
    a_cluster(name="orders")
    checked(a_cluster(name="web"))
    answer = staff.get(f"/clusters/?{query}")
    assert [row["cluster"].name for row in answer.context["rows"]] == found


def test_the_list_costs_the_same_with_one_and_three_rows(staff):
    checked(a_cluster())
    once = queries_of(staff, "/clusters/")
    for _ in range(2):
        checked(a_cluster())
    assert queries_of(staff, "/clusters/") == once


def test_an_empty_list_says_the_next_step(staff):
    page = page_of(staff.get("/clusters/"))
    assert "No cluster yet" in page
    assert reverse("cluster-create") in page


def test_a_server_that_is_registered_twice_is_told_on_both_pages(staff):
    first, second = a_cluster(name="main", port=1), a_cluster(name="again", port=1)
    for cluster, twin in ((first, second), (second, first)):
        page = page_of(staff.get(f"/clusters/{cluster.pk}/"))
        assert "This server is registered twice" in page
        assert f'<a href="/clusters/{twin.pk}/">{twin}</a>' in page
    second.delete()
    assert "registered twice" not in page_of(staff.get(f"/clusters/{first.pk}/"))


def test_a_failed_login_saves_nothing_and_keeps_what_was_typed(staff):
    answer = staff.post("/clusters/new/", TYPED)
    assert answer.status_code == 200
    assert not Cluster.objects.exists()
    assert "connection refused: nothing listens at 127.0.0.1:1" in answer.context["unreachable"]
    assert typed(answer.context["form"], "name", "port", "admin_password") == {
        "name": "orders",
        "port": "1",
        "admin_password": "typed-secret",
    }
    assert 'value="typed-secret"' in page_of(answer)
    assert "no-store" in answer.headers["Cache-Control"]


def test_an_unreachable_cluster_is_saved_anyway_when_asked(staff):
    answer = staff.post("/clusters/new/", TYPED | {"save_anyway": "1"}, follow=True)
    cluster = Cluster.objects.get()
    assert (cluster.name, cluster.admin_password) == ("orders", "typed-secret")
    assert "saved without a login: connection refused" in page_of(answer)


def test_a_refused_value_stands_beside_its_field(staff):
    a_cluster(name="orders")
    answer = staff.post("/clusters/new/", TYPED | {"port": "99999", "host": "a,b"})
    assert answer.context["form"].errors == {
        "host": ["'a,b' names several hosts: register each as a cluster of its own"],
        "port": ["99999 is not a port: enter a number from 1 to 65535"],
    }
    answer = staff.post("/clusters/new/", TYPED | {"save_anyway": "1"})
    assert answer.context["form"].errors == {"name": ["the name 'orders' is taken: choose another name"]}
    assert 'aria-invalid="true"' in page_of(answer)


def test_a_stored_password_never_stands_in_a_page(staff):
    cluster = a_cluster("stored-secret", name="orders")
    checked(cluster)
    for url in ("edit/", ""):
        assert "stored-secret" not in page_of(staff.get(f"/clusters/{cluster.pk}/{url}"))


def test_an_empty_password_keeps_the_stored_one(staff):
    cluster = a_cluster("stored-secret", name="orders")
    answer = staff.post(
        f"/clusters/{cluster.pk}/edit/",
        TYPED | {"admin_password": "", "name": "renamed", "save_anyway": "1", "version": "1"},
    )
    assert answer.status_code == 302
    cluster.refresh_from_db()
    assert (cluster.name, cluster.admin_password) == ("renamed", "stored-secret")


def test_a_changed_address_asks_for_the_password(staff):
    cluster = a_cluster("stored-secret", name="orders")
    changed = TYPED | {"admin_password": "", "host": "127.0.0.2", "save_anyway": "1", "version": "1"}
    answer = staff.post(f"/clusters/{cluster.pk}/edit/", changed)
    assert list(answer.context["form"].errors) == ["admin_password"]


def test_a_stale_edit_is_a_conflict_that_shows_both_values_and_keeps_what_was_typed(staff):
    cluster = a_cluster("stored-secret", name="orders")
    cluster.edit(1, memory_mb=2048)
    stale = TYPED | {"admin_password": "", "memory_mb": "4096", "sslmode": "prefer", "save_anyway": "1", "version": "1"}
    answer = staff.post(f"/clusters/{cluster.pk}/edit/", stale)
    assert answer.status_code == 409
    assert answer.context["stale"] == [{"label": "Memory", "yours": 4096, "theirs": 2048}]
    assert typed(answer.context["form"], "memory_mb", "version") == {"memory_mb": "4096", "version": "2"}
    again = staff.post(f"/clusters/{cluster.pk}/edit/", stale | {"version": "2"})
    assert again.status_code == 302
    cluster.refresh_from_db()
    assert (cluster.memory_mb, cluster.version) == (4096, 3)


def test_the_page_of_a_cluster_tells_all_that_a_check_found(staff):
    cluster = a_cluster(name="orders", memory_mb=2048, set_aside_connections=5)
    checked(cluster, used_connections=12, in_recovery=True)
    a_pool(cluster=cluster, name="web", size=20)
    page = page_of(staff.get(f"/clusters/{cluster.pk}/"))
    for words in ("standby (in recovery)", "12 of 100", "set aside for direct logins", "1 bytes", "superuser", "web"):
        assert words in page


def test_the_page_of_a_cluster_costs_the_same_with_one_and_three_pools(staff):
    cluster, pooler = a_cluster(), a_pooler(port=1)
    checked(cluster)
    a_pool(cluster=cluster, pooler=pooler)
    once = queries_of(staff, f"/clusters/{cluster.pk}/")
    a_pool(cluster=cluster, pooler=pooler), a_pool(cluster=cluster, pooler=pooler)
    assert queries_of(staff, f"/clusters/{cluster.pk}/") == once


def test_what_is_given_on_the_standbys_is_shown_apart(staff):
    cluster = a_cluster(memory_mb=4096)
    checked(cluster)
    a_pool(cluster=cluster, size=30)
    assert "On each standby" not in page_of(staff.get(f"/clusters/{cluster.pk}/"))
    a_node(cluster)
    a_pool(cluster=cluster, size=7, target="standby")
    answer = staff.get(f"/clusters/{cluster.pk}/")
    assert (answer.context["budget"].allocated, answer.context["standbys_budget"].allocated) == (30, 7)
    assert "On each standby" in page_of(answer)


def test_a_check_says_why_it_failed(staff):
    cluster = a_cluster()
    answer = staff.post(f"/clusters/{cluster.pk}/check/", follow=True)
    assert "The check could not log in: connection refused" in page_of(answer)
    cluster.refresh_from_db()
    assert cluster.status.state == "unreachable"


def test_a_cluster_goes_only_when_its_name_is_typed(staff):
    cluster = a_cluster(name="orders")
    answer = staff.post(f"/clusters/{cluster.pk}/delete/", {"name": "order"})
    assert "“order” is not the name “orders”: nothing was removed" in page_of(answer)
    assert Cluster.objects.exists()
    assert staff.post(f"/clusters/{cluster.pk}/delete/", {"name": "orders"}).url == "/clusters/"
    assert not Cluster.objects.exists()


def test_a_cluster_with_pools_stays(staff):
    pool = a_pool()
    answer = staff.post(f"/clusters/{pool.cluster_id}/delete/", {"name": pool.cluster.name})
    assert "still has 1 pool" in answer.context["refused"]


def test_the_password_is_shown_when_asked_for_and_that_is_logged(staff, caplog):
    cluster = a_cluster("stored-secret")
    know_password(cluster, "app", "unseen-secret")
    caplog.set_level("INFO", "pools.views.connections")
    page = page_of(staff.post(f"/clusters/{cluster.pk}/connection/", {"reveal": "1"}))
    assert "postgresql://postgres:stored-secret@127.0.0.1:1/postgres" in page
    assert "<html" in page
    assert f"the password of cluster {cluster.pk} was shown to" in caplog.text
    assert "stored-secret" not in caplog.text


def test_htmx_gets_the_connection_box_alone_with_the_tab_kept(staff):
    cluster = a_cluster("stored-secret")
    answer = staff.post(
        f"/clusters/{cluster.pk}/connection/", {"reveal": "1", "as-direct": "psql"}, headers={"HX-Request": "true"}
    )
    page = page_of(answer)
    assert page.startswith("<section")
    assert "<html" not in page
    assert 'id="as-direct-psql" checked' in page
    hidden = staff.post(f"/clusters/{cluster.pk}/connection/", {"reveal": ""}, headers={"HX-Request": "true"})
    assert "stored-secret" not in page_of(hidden)


@pytest.mark.parametrize("address", ["/poolers/x/take-over/?config_file=&a=1", "/entries/x/"])
def test_whoever_came_from_an_entry_is_led_back_there(staff, address):
    page = reverse("cluster-create") + f"?{urlencode({'next': address})}"
    assert f'href="{escape(address)}"' in staff.get(page).content.decode()
    assert staff.post(page, TYPED | {"save_anyway": "1"}).url == address


@pytest.mark.parametrize("address", ["", "//evil.example.org/", "https://evil.example.org/poolers/", "/logout/", "x"])
def test_no_other_page_is_led_to(staff, address):
    page = reverse("cluster-create") + f"?{urlencode({'next': address})}"
    assert staff.post(page, TYPED | {"save_anyway": "1"}).url == f"/clusters/{Cluster.objects.get().pk}/"
