"""Endpoints of clusters and pools."""

from pathlib import Path

import pytest

from pools import connection_strings, endpoints
from pools.endpoints import Endpoint
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


def test_a_pool_of_the_inbound_user_is_shown_with_the_admin_login() -> None:
    endpoint = endpoints.of_pool(a_pool(user=""))
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
