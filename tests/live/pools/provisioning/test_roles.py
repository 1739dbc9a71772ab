"""Roles made, given passwords, changed and dropped on a real server whose log is read."""

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg import sql

from panel.quickstart.servers import PostgresServer, free_port
from pools.errors import IllegalTransition, InvalidValues, NotThere
from pools.inventory import pools
from pools.models import Cluster, Pool, Pooler, PoolState
from pools.provisioning import databases, roles
from pools.provisioning.blockers import DropBlocked
from pools.provisioning.roles import InvalidRole
from tests.live.conftest import FAST
from tests.live.pools.provisioning.test_databases import ODD_NAMES
from tests.postgresqls import bindirs

pytestmark = pytest.mark.django_db

SOON = datetime.now(UTC).replace(microsecond=0) + timedelta(days=30)


@pytest.fixture
def session(postgres: PostgresServer) -> Iterator["psycopg.Connection[Any]"]:
    """The superuser's; whatever databases and roles a test leaves behind are gone in the end."""
    with postgres.connect() as session:
        databases_before, roles_before = names_in(session, "pg_database", "dat"), names_in(session, "pg_roles", "rol")
        yield session
        for name in names_in(session, "pg_database", "dat") - databases_before:
            session.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))
        for name in names_in(session, "pg_roles", "rol") - roles_before:
            with postgres.connect("app") as inside:
                inside.execute(sql.SQL("DROP OWNED BY {}").format(sql.Identifier(name)))
            session.execute(sql.SQL("DROP ROLE {}").format(sql.Identifier(name)))


def names_in(session: "psycopg.Connection[Any]", table: str, prefix: str) -> set[str]:
    query = sql.SQL("SELECT {} FROM {}").format(sql.Identifier(f"{prefix}name"), sql.Identifier(table))
    return {name for (name,) in session.execute(query).fetchall()}


def log_in(postgres: PostgresServer, user: str, password: str, database: str = "app") -> "psycopg.Connection[Any]":
    address = {"host": postgres.host, "port": postgres.port, "connect_timeout": 5}
    return psycopg.connect(dbname=database, user=user, password=password, autocommit=True, **address)


@pytest.mark.parametrize("name", ODD_NAMES)
def test_any_name_is_created_logs_in_and_is_dropped_as_it_is(
    cluster: Cluster, postgres: PostgresServer, session: "psycopg.Connection[Any]", name: str
) -> None:
    before = names_in(session, "pg_roles", "rol")
    made, password = roles.create(cluster, {"name": name, "connection_limit": 4, "valid_until": SOON})
    assert (made.name, made.can_login, made.superuser, made.connection_limit) == (name, True, False, 4)
    assert (made.valid_until, made.has_expired, made.owns, made.pools) == (SOON, False, (), ())
    assert names_in(session, "pg_roles", "rol") == before | {name}
    with log_in(postgres, name, password) as own:
        assert own.execute("SELECT current_user").fetchone() == (name,)
    assert cluster.password_of(name) == password
    assert name in [one["name"] for one in Cluster.objects.get().status.roles]
    roles.drop(cluster, name)
    assert names_in(session, "pg_roles", "rol") == before
    assert cluster.password_of(name) is None


@pytest.mark.parametrize(
    ("values", "field", "words"),
    [
        ({"name": ""}, "name", "a name is needed"),
        ({"name": "é" * 32}, "name", "is 64 bytes long"),
        ({"name": "a/b"}, "name", "contains a slash"),
        ({"name": "pg_mine"}, "name", "that PostgreSQL reserves"),
        ({"name": "public"}, "name", "that PostgreSQL reserves"),
        ({"name": "app"}, "name", "already exists on cluster live: choose another name"),
        ({"name": "x", "connection_limit": -5}, "connection_limit", "-5 is not a connection limit"),
        ({"name": "x", "valid_until": datetime(2020, 1, 1, tzinfo=UTC)}, "valid_until", "is past"),
        ({"name": "x", "database": "nope"}, "database", "there is no database 'nope' on cluster live (it has"),
        ({"name": "x", "access": "read"}, "database", "name the database"),
        ({"name": "x", "database": "app", "access": "all"}, "access", "'all' is not a level of access"),
    ],
)
def test_what_can_not_be_made_is_told_beside_its_field_and_nothing_is_kept(
    cluster: Cluster, session: "psycopg.Connection[Any]", values: dict[str, Any], field: str, words: str
) -> None:
    before = names_in(session, "pg_roles", "rol")
    with pytest.raises(InvalidValues) as refused:
        roles.create(cluster, values)
    assert list(refused.value.errors) == [field]
    assert words in refused.value.errors[field][0]
    assert names_in(session, "pg_roles", "rol") == before
    assert [known.role for known in cluster.role_passwords.all()] == ["app"]


def test_a_password_is_long_random_and_needs_no_escaping(cluster: Cluster, session: "psycopg.Connection[Any]") -> None:
    found = {roles.create(cluster, {"name": f"role-{number}"})[1] for number in range(3)}
    assert len(found) == 3
    assert all(re.fullmatch(r"[A-Za-z0-9]{32}", password) for password in found)


@pytest.mark.parametrize("version", ["15", "16", "18"])
def test_no_password_ever_stands_in_the_server_s_log(
    db: None, tmp_path_factory: pytest.TempPathFactory, version: str
) -> None:
    settings = FAST | {"log_statement": "all", "log_min_duration_statement": "0", "log_connections": "on"}
    home = tmp_path_factory.mktemp("logged")
    server = PostgresServer(home, free_port(), password="super-secret", bindir=bindirs()[version], settings=settings)
    with server:
        cluster = Cluster(name="logged", host=server.host, port=server.port, admin_user="postgres", sslmode="disable")
        cluster.admin_password = "super-secret"
        cluster.save(force_insert=True)
        databases.create(cluster, {"name": "shop"})
        _, first = roles.create(cluster, {"name": "till", "database": "shop", "access": "write"})
        second = roles.reset_password(cluster, "till")
        log_in(server, "till", second, "shop").close()
        with pytest.raises(psycopg.OperationalError, match="password authentication failed"):
            log_in(server, "till", first, "shop")
        with server.connect() as session:
            stored = session.execute("SELECT rolpassword FROM pg_authid WHERE rolname = 'till'").fetchone()[0]
        roles.drop(cluster, "till")
    log = "".join(path.read_text(errors="replace") for path in Path(home).rglob("*log*") if path.is_file())
    assert stored.startswith("SCRAM-SHA-256$4096:")
    assert 'CREATE ROLE "till" LOGIN' in log
    assert 'ALTER ROLE "till" PASSWORD' in log
    assert first not in log
    assert second not in log


@pytest.mark.parametrize("version", ["15", "16", "18"])
def test_a_login_that_is_no_superuser_makes_and_drops_them_all_the_same(
    db: None, tmp_path_factory: pytest.TempPathFactory, version: str
) -> None:
    home = tmp_path_factory.mktemp("managed")
    server = PostgresServer(home, free_port(), password="super-secret", bindir=bindirs()[version], settings=FAST)
    with server:
        with server.connect() as session:
            session.execute("CREATE ROLE dba LOGIN CREATEDB CREATEROLE PASSWORD 'dba-password'")
        cluster = Cluster(name="managed", host=server.host, port=server.port, admin_user="dba", sslmode="disable")
        cluster.admin_password = "dba-password"
        cluster.save(force_insert=True)
        databases.create(cluster, {"name": "shop"})
        _, password = roles.create(cluster, {"name": "till", "database": "shop", "access": "own"})
        with log_in(server, "till", password, "shop") as own:
            own.execute("CREATE TABLE goods ()")
        _, password = roles.create(cluster, {"name": "reader", "database": "shop", "access": "read"})
        with log_in(server, "reader", password, "shop") as reader:
            reader.execute("SELECT * FROM goods")
        databases.create(cluster, {"name": "other", "owner": "till"})
        assert databases.change(cluster, "other", {"owner": "dba"}).owner == "dba"
        with server.connect() as session:
            wait_until_gone(session, "reader")
            wait_until_gone(session, "till")
        roles.drop(cluster, "reader")
        databases.drop(cluster, "shop")
        databases.drop(cluster, "other")
        roles.drop(cluster, "till")
        assert [role.name for role in roles.list_all(cluster)] == ["dba", "postgres"]


@pytest.mark.parametrize(
    ("access", "may", "may_not"),
    [
        ("connect", ["SELECT 1"], ["SELECT * FROM goods", "CREATE TABLE mine ()"]),
        (
            "read",
            ["SELECT * FROM goods", "SELECT * FROM later"],
            ["INSERT INTO goods VALUES (1)", "CREATE TABLE mine ()"],
        ),
        (
            "write",
            ["INSERT INTO goods VALUES (2)", "INSERT INTO later (n) VALUES (1)", "CREATE TEMP TABLE t ()"],
            ["DROP TABLE goods", "CREATE TABLE mine ()"],
        ),
        ("own", ["CREATE TABLE mine ()", "CREATE SCHEMA own"], ["SELECT * FROM goods"]),
    ],
)
def test_access_to_a_database_reaches_the_tables_to_come_and_goes_with_the_role(
    cluster: Cluster,
    postgres: PostgresServer,
    session: "psycopg.Connection[Any]",
    access: str,
    may: list[str],
    may_not: list[str],
) -> None:
    name = 'odd "db" %s'
    databases.create(cluster, {"name": name})
    with postgres.connect(name) as inside:
        inside.execute(sql.SQL("REVOKE CONNECT ON DATABASE {} FROM PUBLIC").format(sql.Identifier(name)))
        inside.execute("CREATE TABLE goods (n int)")
        _, password = roles.create(cluster, {"name": 'o"dd', "database": name, "access": access})
        inside.execute("CREATE TABLE later (id serial, n int)")
    with log_in(postgres, 'o"dd', password, name) as own:
        for statement in may:
            own.execute(statement.encode())
        for statement in may_not:
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                own.execute(statement.encode())
    if access == "own":
        return
    wait_until_gone(session, 'o"dd')
    roles.drop(cluster, 'o"dd')
    with pytest.raises(NotThere):
        roles.find(cluster, 'o"dd')
    assert databases.find(cluster, name).owner == "postgres"


def wait_until_gone(session: "psycopg.Connection[Any]", role: str) -> None:
    """A server takes a moment to see that a session is gone."""
    query = "SELECT count(*) FROM pg_stat_activity WHERE usename = %s"
    deadline = datetime.now(UTC) + timedelta(seconds=10)
    while session.execute(query, [role]).fetchone() != (0,):
        assert datetime.now(UTC) < deadline, f"{role} is still logged in"


def test_a_grant_that_fails_leaves_no_role_behind(
    cluster: Cluster, postgres: PostgresServer, session: "psycopg.Connection[Any]"
) -> None:
    session.execute("CREATE ROLE maker LOGIN CREATEROLE PASSWORD 'maker-password'")
    cluster.admin_user = "maker"
    cluster.admin_password = "maker-password"
    cluster.save()
    with pytest.raises(IllegalTransition, match=r"login 'maker' may not do that.*must be owner of database"):
        roles.create(cluster, {"name": "till", "database": "app", "access": "own"})
    assert "till" not in names_in(session, "pg_roles", "rol")
    assert not cluster.role_passwords.filter(role="till").exists()
    made, _ = roles.create(cluster, {"name": "till"})
    assert made.name == "till"


def test_limits_are_changed_and_a_role_that_can_not_log_in_has_no_password(
    cluster: Cluster, session: "psycopg.Connection[Any]"
) -> None:
    made, password = roles.create(cluster, {"name": "group", "can_login": False})
    assert (made.can_login, password, cluster.password_of("group")) == (False, "", None)
    with pytest.raises(IllegalTransition, match="can't log in, so it needs no password"):
        roles.reset_password(cluster, "group")
    changed = roles.change(cluster, "group", {"can_login": True, "connection_limit": 3, "valid_until": SOON})
    assert (changed.can_login, changed.connection_limit, changed.valid_until) == (True, 3, SOON)
    changed = roles.change(cluster, "group", {"valid_until": None, "connection_limit": -1})
    assert (changed.can_login, changed.connection_limit, changed.valid_until) == (True, -1, None)
    with pytest.raises(NotThere):
        roles.change(cluster, "nobody", {"connection_limit": 1})


@pytest.mark.parametrize(
    ("until", "valid_until", "expired"),
    [
        ("infinity", None, False),
        ("-infinity", None, True),
        ("12000-01-01", None, False),
        ("2020-06-01 12:00+02", datetime(2020, 6, 1, 10, tzinfo=UTC), True),
    ],
)
def test_any_end_of_a_password_is_read(
    cluster: Cluster, session: "psycopg.Connection[Any]", until: str, valid_until: datetime | None, expired: bool
) -> None:
    session.execute(sql.SQL("CREATE ROLE till VALID UNTIL {}").format(sql.Literal(until)))
    role = roles.find(cluster, "till")
    assert (role.valid_until, role.has_expired) == (valid_until, expired)


def test_the_panel_s_login_and_superusers_are_left_alone(cluster: Cluster, session: "psycopg.Connection[Any]") -> None:
    session.execute("CREATE ROLE root LOGIN SUPERUSER")
    for name, words in (("postgres", "is the panel's own login"), ("root", "is a superuser")):
        with pytest.raises(IllegalTransition, match=words):
            roles.drop(cluster, name)
        with pytest.raises(IllegalTransition, match=words):
            roles.reset_password(cluster, name)
        with pytest.raises(IllegalTransition, match=words):
            roles.change(cluster, name, {"can_login": False})
    with pytest.raises(NotThere):
        roles.drop(cluster, "pg_monitor")


def test_a_role_that_is_logged_in_or_owns_something_stays_and_it_says_where(
    cluster: Cluster, postgres: PostgresServer, session: "psycopg.Connection[Any]"
) -> None:
    _, password = roles.create(cluster, {"name": "till", "database": "app", "access": "write"})
    databases.create(cluster, {"name": "shop", "owner": "till"})
    with postgres.connect("app") as inside:
        inside.execute("CREATE TABLE goods (n int)")
        inside.execute("ALTER TABLE goods OWNER TO till")
    assert [str(owned) for owned in roles.find(cluster, "till").owns] == ["1 database", "1 object in app"]
    with log_in(postgres, "till", password), pytest.raises(DropBlocked) as refused:
        roles.drop(cluster, "till")
    assert [str(obstacle) for obstacle in refused.value.obstacles] == [
        "1 session of 'till' in 'app' with an application without a name from 127.0.0.1 (end it there first)",
        "it owns 1 database (database shop) (give each another owner first)",
        'it owns 1 object in app (table goods) (run there first: REASSIGN OWNED BY "till" TO another_role)',
    ]
    with postgres.connect("app") as inside:
        inside.execute("DROP TABLE goods")


def test_a_role_of_pools_stays_and_keeps_its_login(
    cluster: Cluster, pooler: Pooler, session: "psycopg.Connection[Any]"
) -> None:
    roles.create(cluster, {"name": "till", "database": "app"})
    values = {"name": "till", "pooler": pooler, "cluster": cluster, "database": "app", "user": "till", "size": 3}
    pool = pools.create(values)  # the panel knows the password: it is not asked for
    with pytest.raises(DropBlocked, match="pool till on pooler live-pgbouncer logs in with it"):
        roles.drop(cluster, "till")
    with pytest.raises(InvalidRole, match="must be able to log in"):
        roles.change(cluster, "till", {"can_login": False})
    assert roles.find(cluster, "till").pools == (pool,)


def test_a_new_password_is_refused_where_another_cluster_shares_it_behind_the_pooler(
    cluster: Cluster, pooler: Pooler, session: "psycopg.Connection[Any]"
) -> None:
    other = Cluster.objects.create(name="other", host="127.0.0.1", port=1, admin_user="postgres")
    other.keep_password("app", "app-password")
    for name, one in (("here", cluster), ("there", other)):
        Pool.objects.create(name=name, pooler=pooler, cluster=one, database="app", user="app", size=1)
    with pytest.raises(IllegalTransition, match=r"would lock pool here out.*another password on cluster other"):
        roles.reset_password(cluster, "app")
    assert cluster.password_of("app") == "app-password"
    assert set(Pool.objects.values_list("state", flat=True)) == {PoolState.PENDING}


def test_the_panel_forgets_a_password_that_the_server_did_not_take(
    cluster: Cluster, session: "psycopg.Connection[Any]"
) -> None:
    roles.create(cluster, {"name": "till"})
    known = cluster.password_of("till")
    session.execute("CREATE ROLE weak LOGIN PASSWORD 'weak-password'")
    cluster.admin_user = "weak"
    cluster.admin_password = "weak-password"
    cluster.save()
    with pytest.raises(IllegalTransition, match="the panel's login 'weak' may not do that"):
        roles.reset_password(cluster, "till")
    assert cluster.password_of("till") == known


def test_a_limit_below_what_a_pool_of_the_role_opens_is_refused(
    cluster: Cluster, pooler: Pooler, session: "psycopg.Connection[Any]"
) -> None:
    _made, password = roles.create(cluster, {"name": "limited", "connection_limit": 9})
    session.execute("GRANT CONNECT ON DATABASE app TO limited")
    values = {"name": "limits", "cluster": cluster, "pooler": pooler, "database": "app", "user": "limited"}
    with pytest.raises(InvalidValues) as refused:
        pools.create(values | {"size": 10, "user_password": password})
    assert refused.value.errors["size"][0].startswith(
        "role limited may have 9 connections at once and the pool opens up to 10"
    )
    pools.create(values | {"size": 9, "user_password": password})
    with pytest.raises(InvalidRole) as too_low:
        roles.change(cluster, "limited", {"connection_limit": 8})
    assert too_low.value.errors["connection_limit"][0].startswith("pool limits opens up to 9 connections at once")
    roles.change(cluster, "limited", {"connection_limit": 10})
    session.execute("ALTER ROLE limited CONNECTION LIMIT 3")
    assert roles.change(cluster, "limited", {"connection_limit": 3, "valid_until": SOON}).valid_until == SOON
    Pool.objects.filter(name="limits").delete()
