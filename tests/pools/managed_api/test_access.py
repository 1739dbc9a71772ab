"""Tokens, permissions, errors and headers under /v2/."""

import time

import pytest

from core.accounts.models import ApiToken
from tests.callers import anonymous, bearer, person
from tests.pools.managed_api.conftest import url_of
from tests.pools.managed_api.schema import check

pytestmark = pytest.mark.django_db


def test_a_request_without_a_token_is_unauthorized():
    for client in (anonymous(), anonymous()):
        answer = client.get("/v2/databases")
        assert answer.status_code == 401
        assert check("error", answer.json())["id"] == "unauthorized"
        assert answer["WWW-Authenticate"] == "Bearer"


def test_a_session_of_the_browser_is_no_token(client):
    client.force_login(person())
    assert client.get("/v2/databases").status_code == 401


def test_a_wrong_token_is_unauthorized():
    client = anonymous()
    client.credentials(HTTP_AUTHORIZATION="Bearer pd_nobody")
    assert client.get("/v2/account").json()["id"] == "unauthorized"


@pytest.mark.parametrize(
    ("scopes", "method", "path", "status"),
    [
        (("read",), "get", "/pools", 200),
        (("read",), "post", "/pools", 403),
        (("read",), "delete", "/pools/orders", 403),
        (("read", "apply"), "post", "/pools", 422),
        (("apply",), "get", "/pools", 403),
        (("read", "apply"), "post", "/users", 403),
        (("read", "apply"), "post", "/users/app/reset_auth", 403),
        (("read", "apply"), "delete", "/dbs/app", 403),
        (("read", "apply"), "delete", "", 403),
        (("read", "apply"), "patch", "/config", 403),
        (("admin",), "post", "/users", 422),
    ],
)
def test_scopes_of_the_panel_carry_the_permissions(cluster, pool, scopes, method, path, status):
    answer = getattr(bearer(*scopes), method)(url_of(cluster, path))
    assert answer.status_code == status
    if status == 403:
        assert check("error", answer.json())["id"] == "forbidden"
        assert "database:" in answer.json()["message"]


def test_a_user_who_is_not_staff_reads_only(cluster, pool):
    client = bearer(user=person(staff=False))
    assert client.get(url_of(cluster)).status_code == 200
    assert client.delete(url_of(cluster, "/pools/orders")).status_code == 403


def test_without_view_credentials_passwords_are_hidden(admin, reader, cluster, pool):
    for path in ("", "/pools", "/pools/orders"):
        assert "app-secret" in admin.get(url_of(cluster, path)).content.decode()
        hidden = reader.get(url_of(cluster, path)).content.decode()
        assert "app-secret" not in hidden
        assert "cluster-secret" not in hidden
    assert "cluster-secret" in admin.get("/v2/databases").content.decode()
    assert "cluster-secret" not in reader.get("/v2/databases").content.decode()


def test_who_sees_passwords_is_logged(admin, cluster, pool, caplog):
    with caplog.at_level("INFO"):
        admin.get(url_of(cluster, "/pools"))
    assert f"{url_of(cluster, '/pools')} shows passwords to" in caplog.text
    assert "app-secret" not in caplog.text


def test_the_quota_is_counted_by_token_and_the_hour(admin, reader, settings):
    settings.REQUESTS_PER_HOUR = 2
    first, second, third = (reader.get("/v2/databases") for _ in range(3))
    assert [one["ratelimit-remaining"] for one in (first, second, third)] == ["1", "0", "0"]
    assert (first.status_code, second.status_code, third.status_code) == (200, 200, 429)
    assert check("error", third.json())["id"] == "too_many_requests"
    assert third["Retry-After"]
    assert third["ratelimit-limit"] == "2"
    assert 0 < int(third["ratelimit-reset"]) - time.time() <= 3600
    assert admin.get("/v2/databases").status_code == 200


@pytest.mark.parametrize(
    "path",
    [
        "/v2/",
        "/v2/droplets",
        "/v2/drop%0Alets",
        "/v2/databases/no-uuid",
        "/v2/databases/00000000-0000-0000-0000-000000000000",
    ],
)
def test_an_unknown_address_is_not_found_in_the_same_shape(admin, path):
    for method in ("get", "post", "delete"):
        answer = getattr(admin, method)(path)
        if answer.status_code != 405:
            assert (answer.status_code, check("error", answer.json())["id"]) == (404, "not_found")


@pytest.mark.parametrize("path", ["/ca", "/pools", "/users", "/dbs", "/config", "/events", "/backups", "/nothing"])
def test_an_unknown_cluster_is_not_found_everywhere(admin, path):
    answer = admin.get(f"/v2/databases/00000000-0000-0000-0000-000000000000{path}")
    assert (answer.status_code, check("error", answer.json())["id"]) == (404, "not_found")


def test_a_wrong_method_is_named(admin, cluster):
    answer = admin.patch(url_of(cluster, "/pools"))
    assert (answer.status_code, check("error", answer.json())["id"]) == (405, "method_not_allowed")


def test_a_body_of_another_type_is_no_server_error(admin, cluster, pool):
    answer = admin.post(url_of(cluster, "/pools"), "name=web", content_type="text/plain")
    assert (answer.status_code, check("error", answer.json())["id"]) == (415, "bad_request")


def test_an_unexpected_error_keeps_the_shape_and_is_logged(admin, cluster, monkeypatch, caplog):
    def fail(*_, **__):
        raise RuntimeError("secret detail")

    monkeypatch.setattr("pools.managed_api.shapes.cluster", fail)
    answer = admin.get(url_of(cluster))
    assert answer.status_code == 500
    assert check("error", answer.json())["id"] == "server_error"
    assert "secret detail" not in answer.content.decode()
    assert answer.json()["request_id"] in caplog.text


def test_a_token_that_was_revoked_is_refused(cluster):
    client = bearer("read")
    ApiToken.objects.get().revoke()
    assert client.get(url_of(cluster)).status_code == 401


def test_the_description_of_the_panels_own_api_leaves_it_out(admin):
    paths = admin.get("/api/schema/?format=json").json()["paths"]
    assert [path for path in paths if not path.startswith("/api/v1/")] == []
