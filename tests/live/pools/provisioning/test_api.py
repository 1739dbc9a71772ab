"""The REST API of databases and roles against a real server: the addresses, the answers, the refusals."""

from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import psycopg
import pytest
from psycopg import sql
from rest_framework.test import APIClient

from panel.quickstart.servers import PostgresServer
from pools.models import Cluster, Pool, Pooler
from tests.callers import bearer
from tests.pages import page_of

pytestmark = pytest.mark.django_db

OF_AN_EXPERIMENT = "pooldeck_experiment_12"
ODD = ['x"; DROP DATABASE app; --', "100% ?#&=+;", "зáказ 🐘", "..", "%2F"]


@pytest.fixture
def left_behind(postgres: PostgresServer) -> Iterator[None]:
    """What a test leaves behind is gone in the end."""
    yield
    with postgres.connect() as session:
        for name in (*ODD, "shop", "till", OF_AN_EXPERIMENT):
            session.execute(sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(sql.Identifier(name)))
            session.execute(sql.SQL("DROP ROLE IF EXISTS {}").format(sql.Identifier(name)))


@pytest.fixture
def url(cluster: Cluster, left_behind: None) -> str:
    return f"/api/v1/clusters/{cluster.pk}/"


@pytest.fixture
def admin(db: None) -> APIClient:
    return bearer()


def names(client: APIClient, url: str) -> list[str]:
    return [row["name"] for row in client.get(url, {"page_size": 200}).json()["results"]]


@pytest.mark.parametrize("name", ODD)
def test_a_database_of_any_name_lives_and_dies_over_its_address(admin: APIClient, url: str, name: str) -> None:
    made = admin.post(f"{url}databases/", {"name": name, "owner": "app"})
    here = f"{url}databases/{quote(name, safe='')}/"
    assert (made.status_code, made.headers["Location"]) == (201, here)
    read = made.json()
    assert read == {
        "name": name,
        "owner": "app",
        "size_bytes": read["size_bytes"],
        "encoding": "UTF8",
        "collation": "C.UTF-8",
        "connection_limit": -1,
        "connections": 0,
        "pools": [],
        "made_for": "",
    }
    assert name in names(admin, f"{url}databases/")
    assert admin.get(here).json()["name"] == name
    changed = admin.patch(here, {"connection_limit": 3, "owner": "postgres"})
    assert (changed.status_code, changed.json()["connection_limit"], changed.json()["owner"]) == (200, 3, "postgres")
    assert admin.delete(here).status_code == 204
    assert admin.delete(here).status_code == 404
    assert name not in names(admin, f"{url}databases/")


@pytest.mark.parametrize("name", ODD)
def test_a_role_of_any_name_lives_and_dies_over_its_address(admin: APIClient, url: str, name: str) -> None:
    made = admin.post(f"{url}users/", {"name": name, "connection_limit": 2})
    here = f"{url}users/{quote(name, safe='')}/"
    assert (made.status_code, made.headers["Location"], made.headers["Cache-Control"]) == (201, here, "no-store")
    first = made.json().pop("password")
    read = admin.get(here)
    assert read.json() == {
        "name": name,
        "can_login": True,
        "superuser": False,
        "createdb": False,
        "createrole": False,
        "replication": False,
        "connection_limit": 2,
        "valid_until": None,
        "member_of": [],
        "connections": 0,
        "owns": [],
        "pools": [],
        "made_for": "",
    }
    changed = admin.patch(here, {"connection_limit": -1, "valid_until": "2040-01-01T00:00:00Z", "can_login": True})
    assert (changed.status_code, changed.json()["valid_until"]) == (200, "2040-01-01T00:00:00Z")
    reset = admin.post(f"{here}reset-password/")
    assert (reset.status_code, reset.json()["name"], reset.headers["Cache-Control"]) == (200, name, "no-store")
    second = reset.json()["password"]
    assert len({first, second, ""}) == 3
    everything = page_of(admin.get(f"{url}users/", {"page_size": 200})) + page_of(admin.get(here))
    everything += page_of(admin.get(url)) + page_of(changed)
    assert first not in everything
    assert second not in everything
    assert admin.delete(here).status_code == 204
    assert admin.delete(here).status_code == 404
    assert admin.post(f"{here}reset-password/").status_code == 404


def test_a_new_role_does_in_a_database_what_was_asked_for(admin: APIClient, url: str, postgres: PostgresServer) -> None:
    admin.post(f"{url}databases/", {"name": "shop"})
    made = admin.post(f"{url}users/", {"name": "till", "database": "shop", "access": "own"}).json()
    assert made["owns"] == [{"database": "", "kind": "database", "count": 1}]
    login = {"host": postgres.host, "port": postgres.port, "user": "till", "password": made["password"]}
    with psycopg.connect(dbname="shop", **login) as own:
        own.execute("CREATE TABLE mine ()")
        busy = admin.delete(f"{url}databases/shop/")
        logged_in = admin.delete(f"{url}users/till/")
    assert (busy.status_code, logged_in.status_code) == (409, 409)
    assert "1 session of 'till' in 'shop' with" in busy.json()["detail"]
    assert "1 session of 'till' in 'shop' with" in logged_in.json()["detail"]
    assert "it owns 1 database (database shop)" in logged_in.json()["detail"]


@pytest.mark.parametrize(
    ("path", "body", "fields"),
    [
        ("databases/", {}, {"name"}),
        ("databases/", {"name": "app"}, {"name"}),
        ("databases/", {"name": "a/b"}, {"name"}),
        ("databases/", {"name": "é" * 32}, {"name"}),
        ("databases/", {"name": "x", "owner": "nobody", "template": "nothing"}, {"owner", "template"}),
        (
            "databases/",
            {"name": "x", "encoding": "EBCDIC", "connection_limit": "many"},
            {"encoding", "connection_limit"},
        ),
        ("users/", {}, {"name"}),
        ("users/", {"name": "app"}, {"name"}),
        ("users/", {"name": "x", "can_login": "perhaps", "valid_until": "later"}, {"can_login", "valid_until"}),
        ("users/", {"name": "x", "database": "nope", "access": "read"}, {"database"}),
        ("users/", {"name": "x", "access": "everything"}, {"access"}),
    ],
)
def test_bad_values_are_named_by_field(
    admin: APIClient, url: str, path: str, body: dict[str, Any], fields: set[str]
) -> None:
    answer = admin.post(f"{url}{path}", body)
    assert (answer.status_code, set(answer.json())) == (400, fields)


def test_what_the_panel_leaves_alone_and_what_pools_use_is_a_conflict(
    admin: APIClient, url: str, cluster: Cluster, pooler: Pooler
) -> None:
    pool = Pool.objects.create(name="till", pooler=pooler, cluster=cluster, database="app", user="app", size=1)
    refused = {
        "databases/postgres/": "maintenance database on cluster live",
        "databases/template1/": "is a template",
        "databases/app/": "pool till on pooler live-pgbouncer leads there",
        "users/postgres/": "the panel's own login",
        "users/app/": "pool till on pooler live-pgbouncer logs in with it",
    }
    for path, words in refused.items():
        answer = admin.delete(f"{url}{path}")
        assert (answer.status_code, words in answer.json()["detail"]) == (409, True), answer.content
    assert admin.get(f"{url}databases/app/").json()["pools"] == [{"id": str(pool.pk), "name": "till"}]
    assert admin.get(f"{url}users/app/").json()["pools"] == [{"id": str(pool.pk), "name": "till"}]
    assert admin.patch(f"{url}users/app/", {"can_login": False}).status_code == 400
    assert admin.patch(f"{url}users/postgres/", {"connection_limit": 1}).status_code == 409


def test_an_address_with_a_slash_is_none(admin: APIClient, url: str) -> None:
    assert admin.get(f"{url}databases/a%2Fb/").status_code == 404
    assert admin.delete(f"{url}users/a%2Fb/").status_code == 404


def test_only_admins_write_and_everybody_reads(url: str) -> None:
    weak = bearer("read", "run", "apply")
    assert weak.get(f"{url}databases/").status_code == weak.get(f"{url}users/app/").status_code == 200
    for path in ("databases/", "users/", "users/app/reset-password/"):
        assert weak.post(f"{url}{path}", {"name": "shop"}).status_code == 403
    for path in ("databases/app/", "users/app/"):
        assert weak.patch(f"{url}{path}", {"connection_limit": 1}).status_code == 403
        assert weak.delete(f"{url}{path}").status_code == 403


@pytest.mark.parametrize("kind", ["databases", "users"])
def test_what_an_experiment_made_is_listed_where_it_is_asked_for(admin: APIClient, url: str, kind: str) -> None:
    assert admin.post(f"{url}{kind}/", {"name": OF_AN_EXPERIMENT}).status_code == 201
    assert OF_AN_EXPERIMENT not in names(admin, f"{url}{kind}/")
    found = admin.get(f"{url}{kind}/", {"page_size": 200, "experiments": "true"}).json()["results"]
    assert {row["name"]: row["made_for"] for row in found}[OF_AN_EXPERIMENT] == "experiment 12"
