"""The top statements of a database, with each version of pg_stat_statements that a PostgreSQL may have."""

from collections.abc import Iterator

import psycopg
import pytest
from django.test import Client as Browser

from core.accounts.models import Membership, Role, Team
from panel.quickstart.servers import PostgresServer, free_port
from pools.clusters.topology import Place
from pools.diagnosis import statements
from pools.diagnosis.statements import TopStatements
from pools.models import Pool
from tests.callers import person
from tests.live.conftest import APP_DATABASE, APP_PASSWORD, APP_ROLE, FAST
from tests.pools.records import a_cluster, a_pool, a_pooler

pytestmark = pytest.mark.django_db
VERSIONS = ("1.7", "1.8", "1.9", "1.10")  # of PostgreSQL 12, 13, 14 and 15; later ones add columns
SLOW = "SELECT pg_sleep(0.25), 'of-customer-7'"


@pytest.fixture(scope="module")
def counting(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PostgresServer]:
    settings = FAST | {"shared_preload_libraries": "pg_stat_statements"}
    home = tmp_path_factory.mktemp("counting")
    with PostgresServer(home, free_port(), password="super-secret", settings=settings) as server:
        server.create_owner_and_database(APP_ROLE, APP_PASSWORD, APP_DATABASE)
        yield server


@pytest.fixture
def pool(counting: PostgresServer) -> Pool:
    cluster = a_cluster(counting.password, port=counting.port, admin_user=counting.superuser, sslmode="disable")
    return a_pool(name="orders", cluster=cluster, pooler=a_pooler(), database=APP_DATABASE, user=APP_ROLE)


def counted(server: PostgresServer, version: str = VERSIONS[-1]) -> None:
    """Count anew in this version of the extension: many fast statements, two slow ones, and a secret one."""
    with server.connect(APP_DATABASE) as session:
        session.execute("DROP EXTENSION IF EXISTS pg_stat_statements")
        session.execute(f"CREATE EXTENSION pg_stat_statements VERSION '{version}'")
        session.execute("SELECT pg_stat_statements_reset()")
    login = {"host": server.host, "port": server.port, "user": APP_ROLE, "password": APP_PASSWORD}
    with psycopg.connect(**login, dbname=APP_DATABASE, autocommit=True) as session:
        for _time in range(10):
            session.execute("SELECT generate_series(1, 5)", prepare=False)
        for _time in range(2):
            session.execute(SLOW, prepare=False)
        session.execute("ALTER ROLE CURRENT_USER PASSWORD 'app-password'")


def of_app(pool: Pool, order: str) -> TopStatements:
    return statements.of_database(Place(pool.cluster), APP_DATABASE, order)


@pytest.mark.parametrize("version", VERSIONS)
def test_each_version_is_read(pool: Pool, counting: PostgresServer, version: str) -> None:
    counted(counting, version)
    found = of_app(pool, "total")
    top = found.statements[0]
    assert (top.role, top.calls, top.rows) == (APP_ROLE, 2, 2)
    assert top.query == "SELECT pg_sleep($1), $2"
    assert top.total_ms >= 500
    assert top.mean_ms == pytest.approx(top.total_ms / 2)
    assert top.share == pytest.approx(100 * top.total_ms / sum(one.total_ms for one in found.statements))
    assert sum(one.share for one in found.statements) == pytest.approx(100)
    assert (found.since is not None) is (version not in ("1.7", "1.8"))
    assert found.of_all >= len(found.statements) > 2


@pytest.mark.parametrize(
    ("order", "first"),
    [
        ("total", "SELECT pg_sleep($1), $2"),
        ("calls", "SELECT generate_series($1, $2)"),
        ("mean", "SELECT pg_sleep($1), $2"),
        ("rows", "SELECT generate_series($1, $2)"),
    ],
)
def test_each_order_has_its_own_first(pool: Pool, counting: PostgresServer, order: str, first: str) -> None:
    counted(counting)
    assert next(one.query for one in of_app(pool, order).statements if one.role == APP_ROLE) == first


def test_passwords_are_shown_to_nobody_and_texts_to_admins(
    pool: Pool, counting: PostgresServer, admin_client: Browser, client: Browser
) -> None:
    counted(counting)
    page = admin_client.get(f"/pools/{pool.pk}/statements/?sort=calls").content.decode()
    assert "SELECT generate_series($1, $2)" in page
    assert "app-password" not in page
    assert "(not shown: it mentions a password)" in page
    found = admin_client.get(f"/api/v1/pools/{pool.pk}/statements/?sort=rows").json()
    assert any("generate_series" in one["text"] for one in found["statements"])
    client.force_login(person("reader", staff=False))
    assert client.get(f"/api/v1/pools/{pool.pk}/statements/").json()["statements"][0]["text"] is None
    wrong = admin_client.get(f"/api/v1/pools/{pool.pk}/statements/?sort=age")
    assert (wrong.status_code, list(wrong.json())) == (400, ["sort"])


def test_who_does_not_see_the_cluster_gets_none(pool: Pool, counting: PostgresServer, client: Browser) -> None:
    counted(counting)
    pool.cluster.team = Team.objects.create(name="theirs")
    pool.cluster.save(update_fields=["team"])
    reader = person("reader", staff=False)
    Membership.objects.filter(user=reader).delete()
    Membership.objects.create(user=reader, team=Team.objects.get(pk=pool.pooler.team_id), role=Role.VIEWER)
    client.force_login(reader)
    assert "pg_sleep" not in client.get(f"/pools/{pool.pk}/statements/").content.decode()
    assert client.get(f"/api/v1/pools/{pool.pk}/statements/").status_code == 403


def test_a_database_without_the_extension_says_the_one_line(pool: Pool, counting: PostgresServer) -> None:
    with counting.connect(APP_DATABASE) as session:
        session.execute("DROP EXTENSION IF EXISTS pg_stat_statements")
    found = of_app(pool, "total")
    assert "lacks its extension" in found.lacks
    assert [step.line for step in found.steps] == ["CREATE EXTENSION pg_stat_statements;"]
