"""The mode linter on a real server, with and without pg_stat_statements."""

import re
from collections.abc import Iterator

import psycopg
import pytest

from panel.quickstart.servers import PostgresServer, free_port
from pools.advice import mode_linter
from pools.models import Cluster, Mode, Pool
from tests.live.conftest import APP_DATABASE, APP_PASSWORD, APP_ROLE, FAST
from tests.pools.records import a_cluster, a_pooler, know_password

pytestmark = pytest.mark.django_db
DEAF = "the extension pg_stat_statements is not installed in this database"


@pytest.fixture(scope="module")
def counting(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PostgresServer]:
    settings = FAST | {"shared_preload_libraries": "pg_stat_statements"}
    home = tmp_path_factory.mktemp("counting")
    with PostgresServer(home, free_port(), password="super-secret", settings=settings) as server:
        server.create_owner_and_database(APP_ROLE, APP_PASSWORD, APP_DATABASE)
        with server.connect(APP_DATABASE) as session:
            session.execute("CREATE EXTENSION pg_stat_statements")
        yield server


@pytest.fixture
def spec(counting: PostgresServer) -> Pool:
    cluster = a_cluster(counting.password, port=counting.port, admin_user=counting.superuser, sslmode="disable")
    know_password(cluster, APP_ROLE, APP_PASSWORD)
    pooler = a_pooler(server_version="PgBouncer 1.18.0")
    return a_pool_of(cluster, pooler)


def a_pool_of(cluster: Cluster, pooler: object, **fields: object) -> Pool:
    values = {"name": "orders", "database": APP_DATABASE, "user": APP_ROLE, "size": 5, "mode": Mode.TRANSACTION}
    return Pool(cluster=cluster, pooler=pooler, **(values | fields))


def run(server: PostgresServer, *statements: str) -> None:
    with psycopg.connect(
        host=server.host, port=server.port, user=APP_ROLE, password=APP_PASSWORD, dbname=APP_DATABASE, autocommit=True
    ) as session:
        for statement in statements:
            session.execute(statement)


def test_it_finds_what_the_role_did_and_how_often(spec: Pool, counting: PostgresServer) -> None:
    run(
        counting, "SET search_path TO public", "SET search_path TO public", "LISTEN jobs", "SELECT 1", "SET LOCAL x.y=1"
    )
    report = mode_linter.lint(spec)
    assert {finding.habit.name: finding.calls for finding in report.findings} == {"SET": 2, "LISTEN": 1}
    assert "counted by pg_stat_statements" in report.examined[0]
    assert report.limits == [
        "prepared statements of the protocol break before PgBouncer 1.21, and this is 1.18: turn them off in the driver"
    ]


@pytest.mark.parametrize("key", ["7", "-1", "4, 5"])
def test_what_idle_sessions_hold_is_found_whatever_they_ran_last(
    cluster: Cluster, postgres: PostgresServer, key: str
) -> None:
    spec = a_pool_of(cluster, a_pooler(server_version="PgBouncer 1.24.1"))
    login = {"user": APP_ROLE, "password": APP_PASSWORD, "dbname": APP_DATABASE}
    with psycopg.connect(host=postgres.host, port=postgres.port, autocommit=True, **login) as session:
        for statement in (f"SELECT pg_advisory_lock({key})", "CREATE TEMP TABLE basket (id int)", "SELECT 1"):
            session.execute(statement)
        found = {finding.habit.name: (finding.sample, finding.sources) for finding in mode_linter.lint(spec).findings}
        assert found == {
            "session advisory lock": (f"SELECT pg_advisory_lock({key})", ("pg_locks",)),
            "temporary table": ("CREATE TEMPORARY TABLE basket", ("pg_class",)),
        }
        spec.user = postgres.superuser
        assert mode_linter.lint(spec).findings == []
    with psycopg.connect(host=postgres.host, port=postgres.port, **login) as session:
        session.execute("SELECT pg_advisory_xact_lock(7)")
        session.execute("CREATE TEMP TABLE basket (id int) ON COMMIT DROP")
        session.execute("SELECT 1")
        spec.user = APP_ROLE
        assert "session advisory lock" not in {one.habit.name for one in mode_linter.lint(spec).findings}


def test_another_roles_habits_are_not_this_pools(spec: Pool, counting: PostgresServer) -> None:
    run(counting, "LISTEN jobs")
    spec.user = counting.superuser
    assert "LISTEN" not in {finding.habit.name for finding in mode_linter.lint(spec).findings}


def test_session_mode_asks_nothing(spec: Pool) -> None:
    spec.mode, spec.cluster.port = Mode.SESSION, 1
    assert mode_linter.lint(spec) == mode_linter.Report()


def test_without_the_extension_it_looks_at_what_runs_and_says_so(cluster: Cluster, postgres: PostgresServer) -> None:
    spec = a_pool_of(cluster, a_pooler(server_version="PgBouncer 1.24.1"))
    with psycopg.connect(
        host=postgres.host, port=postgres.port, user=APP_ROLE, password=APP_PASSWORD, dbname=APP_DATABASE
    ) as session:
        session.execute("SELECT pg_advisory_lock(7)")
        report = mode_linter.lint(spec)
    assert [finding.habit.name for finding in report.findings] == ["session advisory lock"]
    assert report.limits[0].startswith(DEAF)
    # the server is shared: another test's session may be ending
    assert re.fullmatch(r"the last statement of \d+ sessions? in pg_stat_activity", report.examined[0])
    assert report.examined[1:] == [mode_linter.HELD_WORDS]


def test_an_unreachable_cluster_is_a_limit_and_no_error(spec: Pool) -> None:
    spec.cluster.port = 1
    report = mode_linter.lint(spec)
    assert report.findings == []
    assert "could not be asked" in report.limits[0]
