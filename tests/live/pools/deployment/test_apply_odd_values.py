"""Whatever the panel accepts, a real PgBouncer reads as it was meant: names, passwords, settings."""

from collections.abc import Iterator

import psycopg
import pytest
from django.utils import timezone
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from psycopg import sql

from panel.quickstart.servers import PgBouncerServer, PostgresServer
from pools import deployment
from pools.models import Cluster, Pool, Pooler, PoolState
from pools.models import identifiers as identifier_rules
from tests.live.pools.conftest import Live, LogIn, MakePool
from tests.live.pools.poolers.pgbouncer.drawn import TAKEN

pytestmark = pytest.mark.django_db(transaction=True)

characters = st.characters(exclude_characters="\0\r\n\ufeff", exclude_categories=["Cs"])
identifiers = st.text(characters, min_size=1, max_size=20).filter(
    lambda name: not identifier_rules.identifier_problem(name) and not name.startswith("pg_") and name not in TAKEN
)
passwords = st.text(characters, min_size=1, max_size=40).filter(lambda one: not identifier_rules.password_problem(one))
pool_names = st.from_regex(r"[A-Za-z0-9_.-]{1,63}", fullmatch=True).filter(
    lambda one: not identifier_rules.pool_name_problem(one)
)


def make_role(postgres: PostgresServer, cluster: Cluster, role: str, password: str) -> None:
    with postgres.connect() as session:
        session.execute(sql.SQL("DROP ROLE IF EXISTS {}").format(sql.Identifier(role)))
        make = sql.SQL("CREATE ROLE {} LOGIN PASSWORD {}")
        session.execute(make.format(sql.Identifier(role), sql.Literal(password)))
    known, _ = cluster.role_passwords.get_or_create(role=role)
    known.password = password
    known.save()


def drop_role(postgres: PostgresServer, role: str) -> None:
    with postgres.connect() as session:
        session.execute(sql.SQL("DROP ROLE {}").format(sql.Identifier(role)))


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(name=pool_names, role=identifiers, password=passwords)
@example(name="-", role='a"b', password='p"w1')
@example(name=".", role="it's", password="it''s 'quoted'")
@example(name="0", role="a b;c#d", password="; comment # and % and \\ and =")
@example(name="x" * 63, role="é" * 31, password=" spaces at both ends ")
@example(name="pgbouncer.ini", role="%include", password="'")
@example(name="_", role="user", password="md5" + "g" * 32)
@example(name="long", role="long", password="p" * 1000)
def test_any_name_role_and_password_that_is_accepted_lets_its_user_through(
    name: str,
    role: str,
    password: str,
    make_pool: MakePool,
    pooler: Pooler,
    cluster: Cluster,
    postgres: PostgresServer,
    live: Live,
    log_in: LogIn,
) -> None:
    make_role(postgres, cluster, role, password)
    try:
        pool = make_pool(name, user=role)
        deployment.apply_pooler(pooler)
        pool.refresh_from_db()
        assert (pool.state, pool.state_reason) == (PoolState.APPLIED, "")
        assert live() == {name: ("app", role, 3, "transaction", 3)}
        assert log_in(name, role, password) == role
        Pool.objects.update(removal_requested_at=timezone.now())
        deployment.apply_pooler(pooler)
        assert live() == {}
    finally:
        Pool.objects.all().delete()
        pooler.revisions.all().delete()
        drop_role(postgres, role)


ODD_DATABASES = ['a"b', "it's", "a b=c", "postgresql://x", "host=evil", "ünï", "-i", "%include x"]


@pytest.fixture
def database(request: pytest.FixtureRequest, postgres: PostgresServer) -> Iterator[str]:
    """A database of the name the test gives; the server is other tests' too."""
    name = sql.Identifier(request.param)
    with postgres.connect() as session:
        session.execute(sql.SQL("CREATE DATABASE {}").format(name))
        yield request.param
        session.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(name))


@pytest.mark.parametrize("database", ODD_DATABASES, indirect=True)
def test_any_database_name_is_reached(database: str, make_pool: MakePool, pooler: Pooler) -> None:
    make_pool(database=database)
    deployment.apply_pooler(pooler)
    address = {"host": pooler.host, "port": pooler.port, "user": "app", "password": "app-password"}
    with psycopg.connect(dbname="orders", autocommit=True, **address) as client:
        assert client.execute(b"SELECT current_database()").fetchone() == (database,)


@pytest.mark.parametrize(
    ("password", "problem"),
    [
        ("md5" + "0" * 32, "looks like a stored hash"),
        ("SCRAM-SHA-256$4096:c2FsdA==$a:b", "looks like a stored hash"),
        ('x"\n"evil" "pw', "contains a line break"),
        ("\ufeffx", "a byte order mark"),
        ("p" * 1025, "longer than the 1024 bytes"),
    ],
)
def test_a_password_that_pgbouncer_would_misread_is_refused(
    password: str, problem: str, make_pool: MakePool, pooler: Pooler, cluster: Cluster, live: Live
) -> None:
    known = cluster.role_passwords.get()
    known.password = password
    known.save()
    pool = make_pool()
    deployment.apply_pooler(pooler)
    pool.refresh_from_db()
    assert (pool.state, live()) == (PoolState.ROLLED_BACK, {})
    assert problem in pool.state_reason
    assert password not in pool.state_reason


def let_in_by_password(pgbouncer: PgBouncerServer, password: str) -> None:
    """Have the console know its user by the password itself."""
    doubled = password.replace('"', '""')
    (pgbouncer.config_dir / "userlist.txt").write_text(f'"{pgbouncer.admin_user}" "{doubled}"\n')
    with pgbouncer.connect() as console:
        console.execute(b"RELOAD")


def test_a_console_admin_that_is_also_a_pools_user_keeps_one_password(
    make_pool: MakePool,
    pooler: Pooler,
    cluster: Cluster,
    postgres: PostgresServer,
    pgbouncer: PgBouncerServer,
    log_in: LogIn,
) -> None:
    let_in_by_password(pgbouncer, pooler.admin_password)
    make_role(postgres, cluster, pooler.admin_user, pooler.admin_password)
    make_pool(user=pooler.admin_user)
    deployment.apply_pooler(pooler)
    assert log_in("orders", pooler.admin_user, pooler.admin_password) == pooler.admin_user


@pytest.mark.parametrize("password", ['con"sole', "it's ; # odd"])
def test_the_consoles_own_password_may_be_odd(
    password: str, make_pool: MakePool, pooler: Pooler, log_in: LogIn, pgbouncer: PgBouncerServer
) -> None:
    let_in_by_password(pgbouncer, password)
    pooler.admin_password = password
    pooler.save()
    make_pool()
    deployment.apply_pooler(pooler)
    assert log_in("orders") == "app"
