"""Clusters under /v2/ that the operator's command creates: their shape from the request to the end."""

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone
from rest_framework.test import APIClient

from core.accounts.models import Role
from pools.models import Cluster, ClusterCreation, ClusterState, CreationState, ShelfEntry
from pools.provisioning import cluster_commands
from tests.callers import bearer, queries_of
from tests.core.accounts.people.records import a_member, a_team
from tests.pools.create_files import REGION, SIZE, CreateFile, a_creation, create_file
from tests.pools.managed_api.schema import check

__all__ = ["create_file"]
pytestmark = pytest.mark.django_db
ASKED = {"name": "orders", "engine": "pg", "version": "15", "size": SIZE, "region": REGION, "num_nodes": 1}


@pytest.fixture(autouse=True)
def answering(monkeypatch: pytest.MonkeyPatch) -> None:
    """What checks find on the server that a command made."""
    found = {"state": ClusterState.ONLINE, "error": "", "server_version_num": 150014, "server_version": "15.14"}
    monkeypatch.setattr("pools.clusters.health_check.inspect", lambda cluster: dict(found))


def url_of(creation: ClusterCreation, rest: str = "") -> str:
    return f"/v2/databases/{creation.pk}{rest}"


def test_a_create_that_nothing_free_fits_is_answered_at_once(admin: APIClient, create_file: CreateFile) -> None:
    create_file.offer(versions=["15"])
    answer = admin.post("/v2/databases", ASKED | {"tags": ["prod"]})
    assert answer.status_code == 201
    made = check("database", answer.json())["database"]
    assert {name: made[name] for name in ("name", "size", "region", "version", "num_nodes", "tags", "status")} == {
        "name": "orders",
        "size": SIZE,
        "region": REGION,
        "version": "15",
        "num_nodes": 1,
        "tags": ["prod"],
        "status": "creating",
    }
    assert made["connection"] == made["private_connection"]
    assert (made["connection"]["host"], made["connection"]["password"]) == ("", "")
    creation = ClusterCreation.objects.get()
    assert admin.get(url_of(creation)).json()["database"] == made
    assert check("databases", admin.get("/v2/databases").json())["databases"] == [made]


def test_it_belongs_to_the_team_in_which_the_caller_may_create_it(create_file: CreateFile) -> None:
    """Its cluster went to the first team, where whoever asked for it saw it no more."""
    create_file.offer()
    team = a_team()
    owner = bearer(user=a_member(team, "ann", Role.OWNER))
    made = owner.post("/v2/databases", ASKED, format="json").json()["database"]
    assert ClusterCreation.objects.get().team == team
    cluster_commands.run_due()
    assert Cluster.objects.get().team == team
    assert owner.get(f"/v2/databases/{made['id']}").json()["database"]["status"] == "online"


def test_the_id_stays_until_the_cluster_is_online(admin: APIClient, reader: APIClient, create_file: CreateFile) -> None:
    create_file.offer()
    before = admin.post("/v2/databases", ASKED).json()["database"]
    cluster_commands.run_due()
    after = check("database", admin.get(f"/v2/databases/{before['id']}").json())["database"]
    assert (after["id"], after["status"], after["connection"]["password"]) == (before["id"], "online", "made-secret")
    for name in ("name", "size", "region", "version", "num_nodes", "created_at"):
        assert after[name] == before[name]
    assert "made-secret" not in reader.get(f"/v2/databases/{before['id']}").content.decode()
    assert [one["id"] for one in admin.get("/v2/databases").json()["databases"]] == [before["id"]]


def test_a_free_cluster_of_the_shelf_is_preferred(
    admin: APIClient, create_file: CreateFile, free_cluster: Cluster
) -> None:
    ShelfEntry.objects.update(size=SIZE, region=REGION)
    create_file.offer()
    assert admin.post("/v2/databases", ASKED).json()["database"]["id"] == str(free_cluster.pk)
    assert not ClusterCreation.objects.exists()


@pytest.mark.parametrize(
    ("change", "status", "words"),
    [
        ({"size": "other"}, 422, "other"),
        ({"version": "17"}, 422, "17"),
        ({"num_nodes": 0}, 422, "0 nodes"),
        ({"name": "x" * 64}, 422, "64"),
        ({"name": "busy"}, 409, "busy"),
    ],
)
def test_a_create_that_no_command_offers_is_refused(
    admin: APIClient, create_file: CreateFile, change: dict[str, Any], status: int, words: str
) -> None:
    create_file.offer(versions=["15"])
    a_creation(name="busy")
    answer = admin.post("/v2/databases", ASKED | change)
    assert (answer.status_code, words in check("error", answer.json())["message"]) == (status, True)
    assert ClusterCreation.objects.count() == 1


def test_a_broken_file_is_said_to_who_needs_it_and_hides_nothing_else(
    admin: APIClient, create_file: CreateFile, free_cluster: Cluster
) -> None:
    create_file.offer(timeout_s=0)
    answer = admin.post("/v2/databases", ASKED)
    assert (answer.status_code, "line 6, create.0.timeout_s" in answer.json()["message"]) == (422, True)
    assert admin.get("/v2/databases/options").json()["options"]["pg"]["regions"] == ["nyc1"]
    assert admin.post("/v2/databases", ASKED | {"size": "", "region": ""}).status_code == 201


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("get", "/users"), ("post", "/users"), ("get", "/dbs"), ("post", "/dbs"), ("get", "/pools"), ("post", "/pools"),
        ("get", "/config"), ("patch", "/config"), ("get", "/ca"), ("put", "/resize"), ("get", "/events"),
    ],
)  # fmt: skip
def test_what_is_below_a_cluster_waits_for_it(admin: APIClient, method: str, path: str) -> None:
    body = {"name": "web", "user": "app", "db": "app", "mode": "session", "size": 2}
    answer = getattr(admin, method)(url_of(a_creation(), path), body)
    assert answer.status_code == 409
    assert "orders is being created" in check("error", answer.json())["message"]


def test_a_failed_creation_is_409_with_its_reason_then_404(admin: APIClient, reader: APIClient) -> None:
    creation = a_creation(state=CreationState.FAILED, reason="no server is left", settled_at=timezone.now())
    answer = admin.get(url_of(creation))
    text = "cluster orders could not be created: no server is left"
    assert (answer.status_code, check("error", answer.json())["message"]) == (409, text)
    answer = reader.get(url_of(creation))
    assert (answer.status_code, "no server" in check("error", answer.json())["message"]) == (409, False)
    assert admin.get("/v2/databases").json()["databases"] == []
    ClusterCreation.objects.update(settled_at=timezone.now() - timedelta(minutes=11))
    assert admin.get(url_of(creation)).status_code == 404


def test_a_failed_creation_can_be_deleted(admin: APIClient) -> None:
    creation = a_creation(state=CreationState.FAILED, settled_at=timezone.now())
    assert [admin.delete(url_of(creation)).status_code for _ in range(2)] == [204, 404]
    assert ClusterCreation.objects.exists()  # the reason stays on the shelf's page


def test_a_cluster_can_be_deleted_while_it_is_created(admin: APIClient, create_file: CreateFile) -> None:
    creation = a_creation()
    assert [admin.delete(url_of(creation)).status_code for _ in range(2)] == [204, 404]
    create_file.offer()
    assert admin.post("/v2/databases", ASKED).status_code == 201


def test_a_deletion_is_answered_at_once_and_hides_the_cluster(admin: APIClient, create_file: CreateFile) -> None:
    create_file.offer(delete="pass")
    made = admin.post("/v2/databases", ASKED).json()["database"]
    cluster_commands.run_due()
    assert [admin.delete(f"/v2/databases/{made['id']}").status_code for _ in range(2)] == [204, 404]
    assert (admin.get("/v2/databases").json()["databases"], Cluster.objects.count()) == ([], 1)
    cluster_commands.run_due()
    assert not Cluster.objects.exists()


def test_options_have_the_sizes_and_regions_of_the_commands(
    admin: APIClient, create_file: CreateFile, free_cluster: Cluster
) -> None:
    create_file.offer(versions=["9", "16"])
    found = check("options", admin.get("/v2/databases/options").json())["options"]["pg"]
    assert found == {
        "regions": [REGION, "nyc1"],
        "versions": ["9", "15", "16"],
        "layouts": [{"num_nodes": 1, "sizes": ["db-s-1vcpu-2gb", SIZE]}],
    }


def test_the_list_takes_as_many_queries_for_three_creations_as_for_one(admin: APIClient) -> None:
    a_creation(name="first")
    one = queries_of(admin, "/v2/databases")
    for name in ("second", "third"):
        a_creation(name=name)
    assert queries_of(admin, "/v2/databases") == one


def test_creations_are_listed_by_tag(admin: APIClient) -> None:
    a_creation(tags=["prod"])
    for tag, names in (("prod", ["orders"]), ("other", [])):
        found = admin.get("/v2/databases", {"tag_name": tag}).json()["databases"]
        assert [one["name"] for one in found] == names


def test_a_reader_creates_nothing(reader: APIClient, create_file: CreateFile) -> None:
    create_file.offer()
    assert reader.post("/v2/databases", ASKED).status_code == 403
    assert not ClusterCreation.objects.exists()
