"""Pools of the inbound user before a real PostgreSQL, whose secrets an unprivileged role looks up."""

from collections.abc import Iterator

import psycopg
import pytest
from psycopg import sql

from panel.quickstart.servers import PgBouncerServer, PostgresServer
from pools import deployment
from pools.clusters import auth_query as auth_query_lookup
from pools.errors import IllegalTransition, InvalidValues
from pools.models import Cluster, Pool, Pooler, PoolState, RevisionState
from pools.poolers.pgbouncer import database_entries
from pools.provisioning import auth_query, databases
from pools.provisioning import roles as roles_of
from tests.live.pools.conftest import LogIn, MakePool

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(scope="module", autouse=True)
def of_other_tests(postgres: PostgresServer) -> Iterator[None]:
    """Let nobody in to the databases that other tests left: the lookup is set up and checked in each that is open."""
    open_ones = "SELECT datname FROM pg_database WHERE datallowconn AND datname NOT IN ('postgres', 'template1', 'app')"
    with postgres.connect() as session:
        left = [sql.Identifier(name) for (name,) in session.execute(open_ones).fetchall()]
        for name in left:
            session.execute(sql.SQL("ALTER DATABASE {} ALLOW_CONNECTIONS false").format(name))
        yield
        for name in left:
            session.execute(sql.SQL("ALTER DATABASE {} ALLOW_CONNECTIONS true").format(name))


@pytest.fixture
def roles(postgres: PostgresServer) -> Iterator[None]:
    """Two roles of people, one that has expired, and a superuser."""
    with postgres.connect() as session:
        for role, more in {
            "ann": "LOGIN",
            'o\'brien "x"': "LOGIN",
            "gone": "LOGIN VALID UNTIL '2020-01-01'",
            "root2": "LOGIN SUPERUSER",
            "idle": "NOLOGIN",
        }.items():
            session.execute(sql.SQL("DROP ROLE IF EXISTS {}").format(sql.Identifier(role)))
            make = sql.SQL("CREATE ROLE {} " + more + " PASSWORD {}")
            session.execute(make.format(sql.Identifier(role), sql.Literal(f"{role}-password")))
        yield
        for role in ("ann", 'o\'brien "x"', "gone", "root2", "idle"):
            session.execute(sql.SQL("DROP ROLE IF EXISTS {}").format(sql.Identifier(role)))


@pytest.fixture
def lookup_role(roles: None, lookup_role: str) -> str:
    """The role that looks the `roles` up."""
    return lookup_role


@pytest.fixture
def inbound(lookup_role: str, make_pool: MakePool, pooler: Pooler) -> Pool:
    """An applied pool whose users are looked up."""
    pool = make_pool(user="")
    revision = deployment.apply_pooler(pooler)
    pool.refresh_from_db()
    assert (pool.state, pool.state_reason) == (PoolState.APPLIED, ""), revision.steps
    return pool


def test_each_person_logs_in_as_themselves_by_scram(inbound: Pool, log_in: LogIn) -> None:
    assert log_in("orders", "ann", "ann-password") == "ann"
    assert log_in("orders", 'o\'brien "x"', 'o\'brien "x"-password') == 'o\'brien "x"'


@pytest.mark.parametrize("role", ["gone", "root2", "idle", "nobody"])
def test_who_may_not_log_in_is_told_nothing(role: str, inbound: Pool, log_in: LogIn) -> None:
    with pytest.raises(psycopg.OperationalError, match=r"authentication failed|no such user"):
        log_in("orders", role, f"{role}-password")


def test_a_wrong_password_is_refused(inbound: Pool, log_in: LogIn) -> None:
    with pytest.raises(psycopg.OperationalError, match="SASL authentication failed"):
        log_in("orders", "ann", "wrong")


def test_the_pooler_keeps_no_admin_of_the_cluster(inbound: Pool, pgbouncer: PgBouncerServer, cluster: Cluster) -> None:
    files = "".join(path.read_text() for path in pgbouncer.config_dir.iterdir())
    assert cluster.admin_password not in files
    assert f"auth_user='{auth_query_lookup.USUAL_ROLE}'" in files


def test_the_role_can_do_nothing_but_ask(lookup_role: str, cluster: Cluster, postgres: PostgresServer) -> None:
    address = {"host": postgres.host, "port": postgres.port, "dbname": "app", "autocommit": True}
    with psycopg.connect(user=lookup_role, password=cluster.password_of(lookup_role), **address) as session:
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            session.execute("SELECT rolpassword FROM pg_authid")
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            session.execute("CREATE TABLE pooldeck.mine ()")
        asked = "SELECT count(*) FROM pooldeck.user_lookup(%s)"
        assert [session.execute(asked, [role]).fetchone()[0] for role in ("ann", "root2", lookup_role)] == [1, 0, 0]
    stranger = psycopg.connect(user="ann", password="ann-password", **address)
    with stranger as session, pytest.raises(psycopg.errors.InsufficientPrivilege):
        session.execute("SELECT * FROM pooldeck.user_lookup('ann')")


def test_the_check_finds_it_sound_in_every_database(lookup_role: str, cluster: Cluster) -> None:
    found = auth_query.check(cluster)
    assert {one.database: one.fault for one in found}.items() >= {"app": "", "postgres": ""}.items()
    assert all(one.works for one in found)


@pytest.fixture
def made_later(lookup_role: str, cluster: Cluster) -> Iterator[str]:
    """A database that the panel makes after the lookup was set up."""
    yield databases.create(cluster, {"name": 'tf "db" 1', "connection_limit": 9}).name
    Pool.objects.all().delete()
    databases.drop(cluster, 'tf "db" 1')


def test_a_database_that_the_panel_makes_later_has_the_lookup(
    made_later: str, make_pool: MakePool, pooler: Pooler, cluster: Cluster, log_in: LogIn
) -> None:
    assert [one.fault for one in auth_query.check(cluster) if one.database == made_later] == [""]
    pool = make_pool(user="", database=made_later)
    revision = deployment.apply_pooler(pooler)
    pool.refresh_from_db()
    assert (pool.state, pool.state_reason) == (PoolState.APPLIED, ""), revision.steps
    assert log_in("orders", "ann", "ann-password") == "ann"
    deployment.apply_pooler(pooler)


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ("DROP FUNCTION pooldeck.user_lookup(text)", "the function is not there: set it up again"),
        ("ALTER FUNCTION pooldeck.user_lookup(text) OWNER TO app", "the function does not run as a superuser"),
        ("ALTER FUNCTION pooldeck.user_lookup(text) SECURITY INVOKER", "the function does not run as a superuser"),
        ("ALTER FUNCTION pooldeck.user_lookup(text) RESET search_path", "search_path is not the fixed one"),
        ("GRANT EXECUTE ON FUNCTION pooldeck.user_lookup(text) TO PUBLIC", "everybody may call the function"),
        ("REVOKE EXECUTE ON FUNCTION pooldeck.user_lookup(text) FROM pooldeck_auth", "may not call the function"),
        ("ALTER ROLE pooldeck_auth CREATEDB", "has more rights than to log in"),
        ("ALTER ROLE pooldeck_auth PASSWORD 'x'", "the password of user 'pooldeck_auth' was refused"),
    ],
)
def test_the_check_tells_what_was_changed_and_a_second_set_up_repairs_it(
    change: str, fault: str, lookup_role: str, cluster: Cluster, postgres: PostgresServer
) -> None:
    with postgres.connect("app") as session:
        session.execute(change)
        found = {one.database: one.fault for one in auth_query.check(cluster)}
        assert fault in found["app"]
        if "CREATEDB" in change:
            session.execute("ALTER ROLE pooldeck_auth NOCREATEDB")
    assert all(one.works for one in auth_query.install(cluster))


def test_a_role_of_somebody_else_is_left_alone(roles: None, cluster: Cluster) -> None:
    with pytest.raises(InvalidValues, match="there is already a role ann, whose password this panel doesn't know"):
        auth_query.install(cluster, "ann")
    with pytest.raises(InvalidValues, match="is the panel's own login"):
        auth_query.install(cluster, cluster.admin_user)


def test_it_stays_as_long_as_a_pool_needs_it(inbound: Pool, cluster: Cluster, postgres: PostgresServer) -> None:
    with pytest.raises(IllegalTransition, match="inbound users of orders are looked up by it"):
        auth_query.uninstall(cluster)
    Pool.objects.all().delete()
    auth_query.uninstall(cluster)
    assert (cluster.auth_role, cluster.password_of(auth_query_lookup.USUAL_ROLE)) == ("", None)
    with postgres.connect("app") as session:
        assert (
            session.execute("SELECT FROM pg_roles WHERE rolname = %s", [auth_query_lookup.USUAL_ROLE]).fetchall() == []
        )
        assert session.execute("SELECT FROM pg_namespace WHERE nspname = 'pooldeck'").fetchall() == []


def test_a_database_without_the_function_is_told_before_anything_is_written(
    lookup_role: str, make_pool: MakePool, pooler: Pooler, postgres: PostgresServer
) -> None:
    with postgres.connect("app") as session:
        session.execute("DROP FUNCTION pooldeck.user_lookup(text)")
    pool = make_pool(user="")
    deployment.apply_pooler(pooler)
    pool.refresh_from_db()
    assert pool.state == PoolState.ROLLED_BACK
    assert "database app of live has no function for pooldeck_auth to look up inbound users with" in pool.state_reason


def test_two_ways_of_looking_up_share_a_pooler_only_where_each_entry_has_its_query(
    inbound: Pool, make_pool: MakePool, pooler: Pooler, cluster: Cluster, version: tuple[int, int]
) -> None:
    other = Cluster(
        name="other", host=cluster.host, port=cluster.port, admin_user=cluster.admin_user, sslmode="disable"
    )
    other.admin_password = cluster.admin_password
    other.save(force_insert=True)
    pool = make_pool("second", cluster=other, user="")
    deployment.apply_pooler(pooler)
    pool.refresh_from_db()
    if version >= database_entries.QUERY_PER_ENTRY:
        assert (pool.state, pool.state_reason) == (PoolState.APPLIED, "")
    else:
        assert pool.state == PoolState.ROLLED_BACK
        assert "pools of inbound users look up secrets differently on live and on other" in pool.state_reason
    inbound.refresh_from_db()
    assert inbound.state == PoolState.APPLIED


def test_setting_it_up_moves_the_pools_there_are_over(
    roles: None, cluster: Cluster, make_pool: MakePool, pooler: Pooler, log_in: LogIn
) -> None:
    pool = make_pool(user="")
    deployment.apply_pooler(pooler)
    assert log_in("orders", "ann", "ann-password") == "ann"
    auth_query.install(cluster)
    assert deployment.apply_pooler(pooler).state == RevisionState.APPLIED
    assert log_in("orders", "ann", "ann-password") == "ann"
    with pytest.raises(psycopg.OperationalError):
        log_in("orders", "gone", "gone-password")
    pool.delete()
    auth_query.uninstall(cluster)


def test_a_looked_up_user_may_become_a_pools_fixed_user(
    inbound: Pool, make_pool: MakePool, pooler: Pooler, log_in: LogIn
) -> None:
    """PgBouncer 1.18 dies at the second login without the detour (put_in_order: found existing elem)."""
    assert log_in("orders", "app", "app-password") == "app"
    make_pool("fixed", user="app")
    assert deployment.apply_pooler(pooler).state == RevisionState.APPLIED
    assert [log_in(name, "app", "app-password") for name in ("orders", "fixed", "orders")] == ["app"] * 3
    inbound.edit(None, user="app", state=PoolState.PENDING)
    assert deployment.apply_pooler(pooler).state == RevisionState.APPLIED
    assert log_in("orders", "app", "app-password") == "app"
    inbound.edit(None, user="", state=PoolState.PENDING)
    assert deployment.apply_pooler(pooler).state == RevisionState.APPLIED
    assert [log_in("orders", who, f"{who}-password") for who in ("app", "ann")] == ["app", "ann"]


def test_a_database_that_is_read_only_by_default_gets_the_function_too(
    cluster: Cluster, roles: None, postgres: PostgresServer
) -> None:
    with postgres.connect() as session:
        session.execute("CREATE DATABASE archive")
        session.execute("ALTER DATABASE archive SET default_transaction_read_only = on")
        try:
            found = {one.database: one.fault for one in auth_query.install(cluster)}
            auth_query.uninstall(cluster)
        finally:
            session.execute("DROP DATABASE archive WITH (FORCE)")
    assert found["archive"] == ""


def test_a_setup_that_failed_half_way_can_be_tried_again(
    cluster: Cluster, roles: None, postgres: PostgresServer
) -> None:
    with postgres.connect() as session:
        session.execute("CREATE DATABASE narrow")
        try:
            with postgres.connect("narrow") as inside:
                inside.execute("CREATE SCHEMA pooldeck")
                inside.execute("CREATE FUNCTION pooldeck.user_lookup(text) RETURNS int LANGUAGE sql AS 'SELECT 1'")
                inside.execute("CREATE VIEW pooldeck.uses_it AS SELECT pooldeck.user_lookup('x')")
                with pytest.raises(IllegalTransition, match="other objects depend on it"):
                    auth_query.install(cluster)
                inside.execute("DROP VIEW pooldeck.uses_it")
            assert all(one.works for one in auth_query.install(cluster))
            auth_query.uninstall(cluster)
        finally:
            session.execute("DROP DATABASE narrow WITH (FORCE)")


def test_a_new_password_of_the_role_that_looks_up_comes_to_the_pooler(
    inbound: Pool, cluster: Cluster, pooler: Pooler, log_in: LogIn, pgbouncer: PgBouncerServer
) -> None:
    password = roles_of.reset_password(cluster, auth_query_lookup.USUAL_ROLE)
    inbound.refresh_from_db()
    assert inbound.state == PoolState.PENDING
    assert deployment.apply_pooler(pooler).state == RevisionState.APPLIED
    assert f'"{auth_query_lookup.USUAL_ROLE}" "{password}"' in (pgbouncer.config_dir / "userlist.txt").read_text()
    assert log_in("orders", "ann", "ann-password") == "ann"
    assert all(one.works for one in auth_query.check(cluster))


def test_a_new_password_of_one_who_was_a_fixed_user_lets_them_in(
    inbound: Pool, cluster: Cluster, pooler: Pooler, log_in: LogIn, postgres: PostgresServer
) -> None:
    inbound.edit(None, user="app", state=PoolState.PENDING)
    deployment.apply_pooler(pooler)
    inbound.edit(None, user="", state=PoolState.PENDING)
    deployment.apply_pooler(pooler)
    password = roles_of.reset_password(cluster, "app")
    try:
        deployment.apply_pooler(pooler)
        assert log_in("orders", "app", password) == "app"
    finally:
        with postgres.connect() as session:
            session.execute("ALTER ROLE app PASSWORD 'app-password'")


def test_each_cluster_is_offered_a_name_of_its_own_for_the_role(lookup_role: str, cluster: Cluster) -> None:
    other = Cluster(name="other", host="localhost", port=cluster.port, admin_user="postgres")
    other.admin_password = "x"
    other.save(force_insert=True)
    assert (auth_query.usual_role(cluster), auth_query.usual_role(other)) == ("pooldeck_auth", "pooldeck_auth_2")
