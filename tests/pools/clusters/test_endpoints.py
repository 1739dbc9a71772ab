"""Endpoints of clusters and pools."""

from pathlib import Path

import pytest

from pools import connection_strings
from pools.clusters import endpoints
from pools.clusters.endpoints import Endpoint
from tests.pools.records import a_cluster, a_pool, a_pooler, know_password

pytestmark = pytest.mark.django_db


def test_the_password_does_not_show() -> None:
    endpoint = Endpoint("db", 5432, "shop", "app", "s3cret")
    assert "s3cret" not in repr(endpoint)
    assert endpoint.without_password() == Endpoint("db", 5432, "shop", "app")


@pytest.mark.parametrize(
    ("host", "address"),
    [("db", "db:5432"), ("::1", "[::1]:5432"), ("/run/postgresql", "/run/postgresql/.s.PGSQL.5432")],
)
def test_addresses(host: str, address: str) -> None:
    assert Endpoint(host, 5432, "shop", "app").address == address


def test_a_cluster_is_logged_in_to_as_its_admin() -> None:
    cluster = a_cluster(host="db", port=5433, sslmode="require", maintenance_database="main")
    assert endpoints.of_cluster(cluster) == Endpoint("db", 5433, "main", "postgres", "admin-secret", "require")
    assert endpoints.of_cluster(cluster, "shop").database == "shop"


def test_the_authority_of_a_cluster_is_a_file() -> None:
    cluster = a_cluster(sslmode="verify-ca", sslrootcert="PEM")
    assert Path(endpoints.of_cluster(cluster).sslrootcert).read_text() == "PEM"


def test_a_pool_is_its_name_on_its_pooler() -> None:
    pool = a_pool(name="orders", user="app")
    know_password(pool.cluster, "app", "app-secret")
    assert endpoints.of_pool(pool) == Endpoint("127.0.0.1", 6432, "orders", "app", "app-secret")


def test_a_pool_whose_password_is_not_known_has_none() -> None:
    assert endpoints.of_pool(a_pool(user="app")).password is None


@pytest.mark.parametrize("as_", connection_strings.FORMATS)
@pytest.mark.parametrize("role", ["", "postgres", "lookup", "stranger", "app"])
def test_a_pool_of_the_inbound_user_is_never_shown_with_the_panels_own_logins(as_: str, role: str) -> None:
    pool = a_pool(cluster=a_cluster("admin-secret", auth_role="lookup"), user="")
    pool.cluster.keep_password("lookup", "lookup-secret")
    pool.cluster.keep_password("app", "app-secret")
    text = connection_strings.render(endpoints.of_pool(pool, role), as_, reveal=True)
    assert "admin-secret" not in text
    assert "lookup-secret" not in text
    assert ("postgres" in text.replace("postgresql", "")) == (role == "postgres")
    assert (role or "YOUR_ROLE") in text
    assert ("app-secret" in text) == (role == "app")


def test_a_pool_of_the_inbound_user_offers_the_roles_whose_passwords_are_known() -> None:
    pool = a_pool(cluster=a_cluster("admin-secret", auth_role="lookup"), user="")
    for role in ("writer", "lookup", "app", "postgres"):
        pool.cluster.keep_password(role, "secret")
    assert endpoints.roles_shown(pool) == ["app", "writer"]
    assert endpoints.address_of_pool(pool).user == ""


def test_the_panels_runs_log_in_as_the_admin_through_a_pool_of_the_inbound_user() -> None:
    endpoint = endpoints.for_panel(a_pool(user=""))
    assert (endpoint.user, endpoint.password) == ("postgres", "admin-secret")


@pytest.mark.parametrize(
    ("demanded", "sslmode"),
    [("require", "require"), ("verify-full", "require"), ("prefer", "prefer"), ("disable", "prefer")],
)
def test_a_pooler_that_demands_tls_is_asked_for_it(demanded: str, sslmode: str) -> None:
    pool = a_pool(pooler=a_pooler(settings={"client_tls_sslmode": demanded}), user="app")
    assert endpoints.of_pool(pool).sslmode == sslmode
    assert ("rejectUnauthorized" in connection_strings.render(endpoints.of_pool(pool), "node", reveal=False)) is (
        sslmode == "require"
    )
