"""Clusters under /v2/: their shape, and the claim from the shelf."""

import pytest
from django.utils import timezone

from pools.models import Cluster, ClusterState, ShelfEntry
from tests.callers import queries_of
from tests.pools.api.conftest import make_cluster
from tests.pools.managed_api.conftest import url_of
from tests.pools.managed_api.schema import check

pytestmark = pytest.mark.django_db

# what godo sends, every time
FROM_GODO = {
    "name": "orders",
    "engine": "pg",
    "version": "15",
    "size": "db-s-1vcpu-2gb",
    "region": "nyc1",
    "num_nodes": 1,
    "private_network_uuid": "",
    "project_id": "",
    "rules": None,
}


@pytest.fixture
def answering(monkeypatch):
    """The panel's checks find the clusters as they were."""
    found = {"state": ClusterState.ONLINE, "error": ""}
    monkeypatch.setattr("pools.clusters.health_check.inspect", lambda cluster: dict(found))
    return found


def test_a_cluster_has_every_field_that_clients_read(admin, cluster):
    found = check("database", admin.get(url_of(cluster)).json())["database"]
    assert (
        found["connection"]
        == found["private_connection"]
        == {
            "protocol": "postgresql",
            "uri": "postgresql://postgres:cluster-secret@127.0.0.1:1/postgres?sslmode=disable",
            "database": "postgres",
            "host": "127.0.0.1",
            "port": 1,
            "user": "postgres",
            "password": "cluster-secret",
            "ssl": False,
        }
    )
    assert (found["version"], found["semantic_version"], found["status"]) == ("15", "15.14", "online")
    assert found["users"] == [
        {"name": "app", "role": "normal", "password": "app-secret"},
        {"name": "postgres", "role": "primary", "password": "cluster-secret"},
    ]
    assert (found["db_names"], found["tags"], found["size"], found["region"]) == (["app"], [], "custom", "local")


def test_size_is_named_in_the_providers_manner(admin, cluster):
    Cluster.objects.update(vcpus=2, memory_mb=4096, disk_gb=50)
    found = admin.get(url_of(cluster)).json()["database"]
    assert (found["size"], found["storage_size_mib"]) == ("db-s-2vcpu-4gb", 51200)


def test_a_cluster_that_does_not_answer_is_not_online(admin, cluster):
    cluster.status.record(state=ClusterState.UNREACHABLE)
    assert admin.get(url_of(cluster)).json()["database"]["status"] == "creating"


def test_an_unchecked_cluster_has_the_same_fields(admin):
    bare = Cluster.objects.create(name="bare", host="127.0.0.1", port=1, admin_user="postgres")
    check("database", admin.get(url_of(bare)).json())


def test_the_list_has_all_but_free_clusters(admin, cluster, free_cluster):
    found = check("databases", admin.get("/v2/databases", {"page": 1, "per_page": 200}).json())
    assert [one["name"] for one in found["databases"]] == ["shop"]
    assert admin.get(url_of(free_cluster)).status_code == 404


def test_the_list_takes_as_many_queries_for_three_clusters_as_for_one(admin, cluster):
    one = queries_of(admin, "/v2/databases")
    for name in ("second", "third"):
        make_cluster(name).keep_password("app", "app-secret")
    assert queries_of(admin, "/v2/databases") == one


def test_creating_a_cluster_claims_one_from_the_shelf(admin, free_cluster, answering):
    answer = admin.post("/v2/databases", FROM_GODO | {"tags": ["prod"]})
    assert answer.status_code == 201
    made = check("database", answer.json())["database"]
    assert made["id"] == str(free_cluster.pk)
    assert {name: made[name] for name in ("name", "size", "region", "num_nodes", "tags", "status")} == {
        "name": "orders",
        "size": "db-s-1vcpu-2gb",
        "region": "nyc1",
        "num_nodes": 1,
        "tags": ["prod"],
        "status": "online",
    }
    assert admin.get(url_of(free_cluster)).json()["database"] == made
    for tag, names in (("prod", ["orders"]), ("other", [])):
        found = admin.get("/v2/databases", {"tag_name": tag}).json()["databases"]
        assert [one["name"] for one in found] == names


def test_a_claimed_cluster_is_creating_until_it_answers(admin, free_cluster, answering):
    answering |= {"state": ClusterState.UNREACHABLE, "error": "nobody listens"}
    made = admin.post("/v2/databases", FROM_GODO).json()["database"]
    assert made["status"] == "creating"
    free_cluster.status.record(state=ClusterState.ONLINE)
    assert admin.get(url_of(free_cluster)).json()["database"]["status"] == "online"


def test_a_cluster_of_the_wanted_storage_is_claimed(admin, free_cluster, answering):
    Cluster.objects.filter(pk=free_cluster.pk).update(disk_gb=30)
    made = admin.post("/v2/databases", FROM_GODO | {"storage_size_mib": 30720}).json()["database"]
    assert made["storage_size_mib"] == 30720


def test_a_maintenance_window_is_read_back_as_it_was_set_until_the_cluster_is_returned(admin, free_cluster, answering):
    admin.post("/v2/databases", FROM_GODO)

    def window():
        found = check("database", admin.get(url_of(free_cluster)).json())["database"]["maintenance_window"]
        return found["day"], found["hour"]

    assert window() == ("", "")
    for day, hour in (("Sunday", "02:00"), ("monday", "14:00:00")):
        assert admin.put(url_of(free_cluster, "/maintenance"), {"day": day, "hour": hour}).status_code == 204
        assert window() == (day, hour)
    admin.delete(url_of(free_cluster))
    admin.post("/v2/databases", FROM_GODO)
    assert window() == ("", "")


@pytest.mark.parametrize(
    "asked", [{}, {"day": "monday"}, {"day": "today", "hour": "1:00"}, {"day": "monday", "hour": "24:00"}]
)
def test_what_is_no_maintenance_window_is_refused(admin, cluster, asked):
    answer = admin.put(url_of(cluster, "/maintenance"), asked)
    assert answer.status_code == 422
    assert ":" in check("error", answer.json())["message"]


def test_deleting_a_claimed_cluster_gives_it_back(admin, free_cluster, answering):
    admin.post("/v2/databases", FROM_GODO)
    assert [admin.delete(url_of(free_cluster)).status_code for _ in range(2)] == [204, 404]
    free_cluster.refresh_from_db()
    entry = ShelfEntry.objects.get()
    assert (free_cluster.name, entry.claimed_at, entry.claimed_by, entry.tags) == ("spare-1", None, None, [])
    assert admin.post("/v2/databases", FROM_GODO).status_code == 201


def test_a_cluster_that_was_registered_is_not_deleted(admin, cluster):
    answer = admin.delete(url_of(cluster))
    assert (answer.status_code, check("error", answer.json())["id"]) == (409, "conflict")
    assert Cluster.objects.filter(pk=cluster.pk).exists()


@pytest.mark.parametrize(
    ("change", "status", "words"),
    [
        ({"size": "db-s-8vcpu-16gb"}, 422, "db-s-1vcpu-2gb/nyc1/15"),
        ({"region": "ams3"}, 422, "ams3"),
        ({"version": "17"}, 422, "17"),
        ({"version": "fifteen"}, 422, "fifteen"),
        ({"num_nodes": 3}, 422, "3 nodes"),
        ({"num_nodes": "one"}, 422, "one"),
        ({"engine": "mysql"}, 422, "mysql"),
        ({"engine": None}, 422, "engine"),
        ({"name": ""}, 422, "name"),
        ({"name": "x" * 64}, 422, "64"),
        ({"name": "shop"}, 409, "shop"),
        ({"tags": "prod"}, 422, "prod"),
        ({"backup_restore": {"database_name": "shop"}}, 422, "backup_restore"),
        ({"private_network_uuid": "880b7f98-f062-404d-b33c-458d545696f6"}, 422, "private_network_uuid"),
        ({"project_id": "9cc10173-e9ea-4176-9dbc-a4cee4c4ff30"}, 422, "project_id"),
        ({"storage_size_mib": 30720}, 422, "storage_size_mib 30720"),
        ({"storage_size_mib": 1000}, 422, "storage_size_mib 1000"),
    ],
)
def test_a_create_that_fits_nothing_claims_nothing(admin, cluster, free_cluster, answering, change, status, words):
    answer = admin.post("/v2/databases", FROM_GODO | change)
    assert answer.status_code == status
    assert words in check("error", answer.json())["message"]
    assert not ShelfEntry.objects.exclude(claimed_at=None).exists()


def test_a_claimed_cluster_is_not_claimed_again(admin, free_cluster, answering):
    ShelfEntry.objects.update(claimed_at=timezone.now())
    assert admin.post("/v2/databases", FROM_GODO).status_code == 422


def test_the_free_cluster_of_the_wanted_name_is_preferred(admin, free_cluster, answering):
    other = make_cluster("orders")
    ShelfEntry.objects.create(cluster=other, name="orders", size="db-s-1vcpu-2gb", region="nyc1")
    assert admin.post("/v2/databases", FROM_GODO).json()["database"]["id"] == str(other.pk)


def test_clients_may_write_size_and_region_in_capitals(admin, free_cluster, answering):
    made = admin.post("/v2/databases", FROM_GODO | {"region": "NYC1", "size": "DB-S-1VCPU-2GB"}).json()["database"]
    assert (made["region"], made["size"]) == ("nyc1", "db-s-1vcpu-2gb")


def test_a_name_that_can_not_be_given_frees_the_cluster_again(admin, free_cluster, answering, monkeypatch):
    monkeypatch.setattr("pools.inventory.shelf._name_taken", lambda _name: [])  # taken in between
    make_cluster("orders")
    assert admin.post("/v2/databases", FROM_GODO).status_code == 422
    assert ShelfEntry.objects.get().claimed_at is None


def test_options_come_from_the_shelf(admin, free_cluster):
    found = check("options", admin.get("/v2/databases/options").json())["options"]["pg"]
    assert found == {
        "regions": ["nyc1"],
        "versions": ["15"],
        "layouts": [{"num_nodes": 1, "sizes": ["db-s-1vcpu-2gb"]}],
    }


def test_the_size_stays(admin, cluster):
    assert admin.put(url_of(cluster, "/resize"), {"size": "custom", "num_nodes": 1}).status_code == 202
    answer = admin.put(url_of(cluster, "/resize"), {"size": "db-s-8vcpu-16gb", "num_nodes": 1})
    assert (answer.status_code, check("error", answer.json())["id"]) == (422, "unprocessable_entity")


def test_the_authority_is_the_registered_one(admin, cluster):
    assert check("ca", admin.get(url_of(cluster, "/ca")).json()) == {"ca": {"certificate": ""}}
    Cluster.objects.update(sslrootcert="PEM")
    assert admin.get(url_of(cluster, "/ca")).json() == {"ca": {"certificate": "UEVN"}}


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("/events", "events"),
        ("/replicas", "replicas"),
        ("/backups", "backups"),
        ("/firewall", "rules"),
        ("/logsink", "sinks"),
        ("/autoscale", "autoscale"),
    ],
)
def test_what_the_panel_has_none_of_is_empty(admin, cluster, path, name):
    check(name, admin.get(url_of(cluster, path)).json())


def test_what_clients_ask_first_is_answered(admin):
    check("account", admin.get("/v2/account").json())
    check("credentials", admin.get("/v2/databases/metrics/credentials").json())


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("put", "/migrate"),
        ("put", "/upgrade"),
        ("put", "/install_update"),
        ("put", "/online-migration"),
        ("put", "/autoscale"),
        ("post", "/replicas"),
        ("post", "/logsink"),
    ],
)
def test_what_the_panel_can_not_do_is_said_in_a_sentence(admin, cluster, method, path):
    answer = getattr(admin, method)(url_of(cluster, path), {"day": "monday"})
    assert answer.status_code == 422
    assert ":" in check("error", answer.json())["message"] or "so " in answer.json()["message"]


def test_only_firewall_rules_are_refused(admin, cluster):
    assert admin.put(url_of(cluster, "/firewall"), {"rules": []}).status_code == 204
    assert admin.put(url_of(cluster, "/firewall"), {"rules": [{"type": "ip_addr", "value": "::1"}]}).status_code == 422
