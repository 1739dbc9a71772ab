"""The REST API of databases and roles without a server; with one: tests/live/pools/provisioning/test_api.py."""

import uuid

import pytest

from tests.callers import anonymous

pytestmark = pytest.mark.django_db
ASKED = [
    ("get", "databases/"),
    ("post", "databases/"),
    ("get", "databases/app/"),
    ("patch", "databases/app/"),
    ("delete", "databases/app/"),
    ("get", "users/"),
    ("post", "users/"),
    ("get", "users/app/"),
    ("patch", "users/app/"),
    ("delete", "users/app/"),
    ("post", "users/app/reset-password/"),
]
BODIES = {"post": {"name": "shop"}, "patch": {"connection_limit": 5}}


@pytest.mark.parametrize(("method", "path"), ASKED)
def test_a_cluster_that_can_not_be_asked_is_a_bad_gateway(admin, cluster, method, path):
    answer = getattr(admin, method)(f"/api/v1/clusters/{cluster.pk}/{path}", BODIES.get(method))
    assert answer.status_code == 502
    assert "connection refused: nothing listens at 127.0.0.1:1" in answer.json()["detail"]


@pytest.mark.parametrize(("method", "path"), ASKED)
def test_strangers_and_missing_clusters(admin, cluster, method, path):
    assert getattr(anonymous(), method)(f"/api/v1/clusters/{cluster.pk}/{path}").status_code == 401
    answer = getattr(admin, method)(f"/api/v1/clusters/{uuid.uuid4()}/{path}", BODIES.get(method))
    assert answer.status_code == 404


@pytest.mark.parametrize(
    ("path", "names"),
    [
        ("users/", "can_login, connection_limit, valid_until, name, database, access"),
        ("databases/", "owner, connection_limit, name, encoding, template"),
    ],
)
def test_a_misspelled_field_is_refused_before_anything_is_made(admin, cluster, path, names):
    answer = admin.post(f"/api/v1/clusters/{cluster.pk}/{path}", {"name": "shop", "login": False})
    assert (answer.status_code, answer.json()) == (400, {"login": [f"there is no such field: use {names}"]})


@pytest.mark.parametrize("path", ["users/app/", "databases/app/"])
def test_a_name_can_not_be_changed_and_that_is_said(admin, cluster, path):
    answer = admin.patch(f"/api/v1/clusters/{cluster.pk}/{path}", {"name": "shop"})
    assert (answer.status_code, list(answer.json())) == (400, ["name"])


@pytest.mark.parametrize(
    ("method", "path"),
    [("delete", "databases/"), ("put", "databases/app/"), ("put", "users/app/"), ("get", "users/app/reset-password/")],
)
def test_wrong_methods(admin, cluster, method, path):
    assert getattr(admin, method)(f"/api/v1/clusters/{cluster.pk}/{path}").status_code == 405
