"""The REST API of clusters, without a server; with one: tests/live/test_api.py."""

import uuid

import pytest

from pools.models import Cluster
from tests.callers import anonymous, bearer, queries_of
from tests.pools.api.conftest import NOBODY_LISTENS, make_cluster, make_pool, make_pooler

pytestmark = pytest.mark.django_db
URL = "/api/v1/clusters/"
VALUES = {"name": "shop", "host": "127.0.0.1", "port": NOBODY_LISTENS, "admin_user": "postgres", "admin_password": "p"}


def url_of(cluster):
    return f"{URL}{cluster.pk}/"


def test_a_cluster_reads_with_its_status_and_budget_and_without_its_password(admin, cluster, pooler):
    make_pool(cluster, pooler, size=20)
    answer = admin.get(url_of(cluster))
    assert answer.status_code == 200
    read = answer.json()
    assert read["status"] == {
        "state": "online",
        "server_version": "15.14",
        "max_connections": 100,
        "reserved_connections": 3,
        "available_connections": 97,
        "allocated_connections": 20,
        "experiment_connections": 0,
        "unmanaged_connections": 0,
        "unlimited_entries": 0,
        "used_connections": 7,
        "in_recovery": None,
        "primary": {"host": "127.0.0.1", "port": NOBODY_LISTENS},
        "nodes": [],
        "checked_at": None,
        "error": "",
    }
    assert (read["id"], read["version"], read["protected"]) == (str(cluster.pk), 1, True)
    assert "password" not in answer.content.decode()
    assert "secret" not in answer.content.decode()


def test_an_unreachable_cluster_is_saved_and_says_why(admin):
    answer = admin.post(URL, VALUES)
    assert answer.status_code == 201
    read = answer.json()
    assert read["status"]["state"] == "unreachable"
    assert "refused" in read["status"]["error"]
    assert read["status"]["available_connections"] is None
    assert Cluster.objects.get().admin_password == "p"


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"name": ""}, "name"),
        ({"name": "x" * 64}, "name"),
        ({"name": "taken"}, "name"),
        ({"host": "a,b"}, "host"),
        ({"port": 0}, "port"),
        ({"port": 65536}, "port"),
        ({"port": "five"}, "port"),
        ({"sslmode": "maybe"}, "sslmode"),
        ({"sslmode": "verify-full"}, "sslrootcert"),
        ({"memory_mb": -1}, "memory_mb"),
        ({"protected": "perhaps"}, "protected"),
    ],
)
def test_bad_values_are_named_by_field_and_nothing_is_saved(admin, change, field):
    make_cluster("taken")
    answer = admin.post(URL, VALUES | change)
    assert answer.status_code == 400
    assert list(answer.json()) == [field]
    assert Cluster.objects.count() == 1


def test_missing_fields_are_all_named(admin):
    answer = admin.post(URL, {})
    assert answer.status_code == 400
    assert set(answer.json()) == {"name", "host", "admin_user"}


def test_an_edit_keeps_the_password_unless_the_address_moves(admin, cluster):
    renamed = admin.patch(url_of(cluster), {"name": "store"})
    assert (renamed.status_code, renamed.json()["name"], renamed.json()["version"]) == (200, "store", 2)
    cluster.refresh_from_db()
    assert cluster.admin_password == "cluster-secret"
    moved = admin.patch(url_of(cluster), {"host": "elsewhere.invalid"})
    assert moved.status_code == 400
    assert list(moved.json()) == ["admin_password"]
    cluster.refresh_from_db()
    assert cluster.host == "127.0.0.1"


@pytest.mark.parametrize("by_header", [True, False])
def test_a_stale_edit_is_refused(admin, cluster, by_header):
    assert admin.patch(url_of(cluster), {"name": "first", "version": 1}).status_code == 200
    if by_header:
        late = admin.patch(url_of(cluster), {"name": "second"}, headers={"If-Match": '"1"'})
    else:
        late = admin.patch(url_of(cluster), {"name": "second", "version": 1})
    assert late.status_code == 409
    assert "changed by another user" in late.json()["detail"]
    cluster.refresh_from_db()
    assert cluster.name == "first"


def test_an_if_match_that_is_no_version_is_bad_input(admin, cluster):
    answer = admin.patch(url_of(cluster), {"name": "x"}, headers={"If-Match": '"abc"'})
    assert (answer.status_code, list(answer.json())) == (400, ["version"])


def test_a_cluster_with_pools_stays(admin, pool):
    answer = admin.delete(url_of(pool.cluster))
    assert answer.status_code == 409
    assert "app" in answer.json()["detail"]
    pool.delete()
    assert admin.delete(url_of(pool.cluster)).status_code == 204
    assert admin.get(url_of(pool.cluster)).status_code == 404


def test_a_check_records_what_it_met(admin, cluster):
    answer = admin.post(f"{url_of(cluster)}check/")
    assert answer.status_code == 200
    assert answer.json()["status"]["state"] == "unreachable"
    assert answer.json()["status"]["checked_at"] is not None
    assert answer.json()["status"]["max_connections"] == 100


@pytest.mark.parametrize("what", ["databases", "users"])
def test_live_lists_say_that_the_cluster_can_not_be_asked(admin, cluster, what):
    answer = admin.get(f"{url_of(cluster)}{what}/")
    assert answer.status_code == 502
    assert "refused" in answer.json()["detail"]


def test_wrong_methods_strangers_wrong_scopes_and_missing_ids(admin, cluster):
    assert admin.delete(URL).status_code == 405
    assert admin.get(f"{url_of(cluster)}check/").status_code == 405
    for path in (URL, url_of(cluster), f"{url_of(cluster)}databases/"):
        assert anonymous().get(path).status_code == 401
    weak = bearer("read", "run", "apply")
    assert weak.get(url_of(cluster)).status_code == 200
    for method in ("put", "patch", "delete"):
        assert getattr(weak, method)(url_of(cluster)).status_code == 403
    assert weak.post(URL, VALUES).status_code == 403
    assert weak.post(f"{url_of(cluster)}check/").status_code == 403
    assert admin.get(f"{URL}{uuid.uuid4()}/").status_code == 404
    assert admin.get(f"{URL}no-id/").status_code == 404


def test_lists_are_paged_filtered_searched_and_ordered(admin):
    for name in ("one", "two", "three"):
        make_cluster(name)
    page = admin.get(URL, {"page_size": 2, "ordering": "-name"}).json()
    assert (page["count"], page["previous"], [row["name"] for row in page["results"]]) == (3, None, ["two", "three"])
    assert "page=2" in page["next"]
    assert [row["name"] for row in admin.get(URL, {"search": "thr"}).json()["results"]] == ["three"]
    assert admin.get(URL, {"name": "one"}).json()["count"] == 1
    assert admin.get(URL, {"protected": "false"}).json()["count"] == 0
    assert admin.get(URL, {"page": 9}).status_code == 404
    assert admin.get(URL, {"state": "odd"}).status_code == 400
    make_cluster("four", state="unreachable")
    assert admin.get(URL, {"state": "unreachable"}).json()["count"] == 1


def test_the_number_of_queries_does_not_grow_with_the_clusters(admin):
    pooler = make_pooler()
    make_pool(make_cluster("one"), pooler, "pool-one")
    one = queries_of(admin, URL)
    for name in ("two", "three"):
        make_pool(make_cluster(name), pooler, f"pool-{name}")
    assert queries_of(admin, URL) == one


def test_a_clusters_connection_strings_leave_its_password_out_unless_revealed(admin, cluster):
    cluster.keep_password("app", "app-secret")
    address = f"{url_of(cluster)}connection/"
    start = f"postgresql://postgres@127.0.0.1:{NOBODY_LISTENS}/postgres"
    assert admin.get(address).json()["text"].startswith(start)
    assert "postgres:cluster-secret@" in admin.get(f"{address}?reveal=1").json()["text"]
    shown = admin.get(f"{address}?as=uri&database=app&user=app&reveal=1").json()
    assert (shown["as"], "app:app-secret@" in shown["text"], "/app" in shown["text"]) == ("uri", True, True)
    assert "stranger@" in admin.get(f"{address}?user=stranger&reveal=1").json()["text"]
    assert bearer("read").get(f"{address}?reveal=1").status_code == 403


def test_a_clusters_connection_names_what_there_is_not(admin, cluster):
    address = f"{url_of(cluster)}connection/"
    assert admin.get(f"{address}?node=standby").status_code == 409
    assert "node" in admin.get(f"{address}?node=third").json()
    assert "as" in admin.get(f"{address}?as=telex").json()
