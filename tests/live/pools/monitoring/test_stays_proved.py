"""Pools after something was changed behind the panel: failing with the reason, and applied again once it is mended."""

import time
from collections.abc import Callable, Iterator

import psycopg
import pytest
from django.utils import timezone
from psycopg import sql

from panel.quickstart.servers import PgBouncerServer, PostgresServer
from pools import deployment, tasks
from pools.models import Cluster, ClusterState, ClusterStatus, Mode, Pool, Pooler, PoolState
from pools.monitoring import metric_values, pool_logins
from tests.live.conftest import CHILDREN
from tests.live.pools.conftest import state_of
from tests.live.standbys import until

pytestmark = pytest.mark.django_db(transaction=True)

Alter = Callable[..., None]
GOES_BACK_WITHIN_S = 25  # PgBouncer tries a server that refused a login after server_login_retry, 15 s


@pytest.fixture
def alter(postgres: PostgresServer) -> Iterator[Alter]:
    """Runs statements as somebody with psql would, and ends the sessions in the database `shop` before each."""

    def run(*statements: str) -> None:
        with postgres.connect() as session:
            for statement in statements:
                session.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = 'shop'")
                session.execute(statement)

    yield run
    run("DROP DATABASE IF EXISTS shop WITH (FORCE)", "DROP DATABASE IF EXISTS shop_old WITH (FORCE)")
    run("DROP ROLE IF EXISTS shopper", "DROP ROLE IF EXISTS shopper_old")


@pytest.fixture
def shop(pooler: Pooler, cluster: Cluster, alter: Alter) -> Pool:
    """An applied pool of the role `shopper` in the database `shop`, used once."""
    alter("CREATE ROLE shopper LOGIN PASSWORD 'first'", "CREATE DATABASE shop OWNER shopper")
    cluster.keep_password("shopper", "first")
    pool = Pool.objects.create(name="shop", pooler=pooler, cluster=cluster, database="shop", user="shopper", size=3)
    deployment.apply_pooler(pooler)
    tasks.check_everything()
    assert state_of(pool) == (PoolState.APPLIED, "")
    enter(pool)
    return pool


def enter(pool: Pool, password: str = "first") -> None:
    address = {"host": pool.pooler.host, "port": pool.pooler.port, "dbname": pool.name, "connect_timeout": 5}
    with psycopg.connect(user=pool.login, password=password, autocommit=True, **address) as session:
        session.execute(b"SELECT 1")


def goes_back(pool: Pool) -> bool:
    """Do what beat does every few seconds."""
    tasks.prove_pools()
    tasks.apply_what_waits()
    return state_of(pool) == (PoolState.APPLIED, "")


BEHIND_THE_PANEL = {
    "database dropped": (
        "DROP DATABASE shop",
        "CREATE DATABASE shop OWNER shopper",
        "cluster live no longer has a database shop",
    ),
    "database renamed": (
        "ALTER DATABASE shop RENAME TO shop_old",
        "ALTER DATABASE shop_old RENAME TO shop",
        "cluster live no longer has a database shop",
    ),
    "database shut": (
        "ALTER DATABASE shop ALLOW_CONNECTIONS false",
        "ALTER DATABASE shop ALLOW_CONNECTIONS true",
        "database shop takes no connections",
    ),
    "database limited": (
        "ALTER DATABASE shop CONNECTION LIMIT 1",
        "ALTER DATABASE shop CONNECTION LIMIT -1",
        "database shop takes 1 connections at once and the pool opens up to 3",
    ),
    "role renamed": (
        "ALTER ROLE shopper RENAME TO shopper_old",
        "ALTER ROLE shopper_old RENAME TO shopper",
        "cluster live no longer has a role shopper",
    ),
    "NOLOGIN": (
        "ALTER ROLE shopper NOLOGIN",
        "ALTER ROLE shopper LOGIN",
        "role shopper may no longer log in",
    ),
    "password expired": (
        "ALTER ROLE shopper VALID UNTIL '2001-01-01'",
        "ALTER ROLE shopper VALID UNTIL 'infinity'",
        "the password of role shopper has expired",
    ),
    "role limited": (
        "ALTER ROLE shopper CONNECTION LIMIT 0",
        "ALTER ROLE shopper CONNECTION LIMIT -1",
        "role shopper may have 0 connections at once and the pool opens up to 3",
    ),
    "password changed": (
        "ALTER ROLE shopper PASSWORD 'second'",
        "ALTER ROLE shopper PASSWORD 'first'",
        "the password of user 'shopper' was refused",
    ),
}


@pytest.mark.parametrize("case", BEHIND_THE_PANEL)
def test_what_is_changed_behind_the_panel_is_said_at_the_next_check_and_mended_by_itself(
    shop: Pool, alter: Alter, case: str
) -> None:
    changed, mended, reason = BEHIND_THE_PANEL[case]
    alter(changed)
    tasks.check_everything()
    state, said = state_of(shop)
    assert (state, said[: len(reason)]) == (PoolState.FAILING, reason)
    alter(mended)
    assert until(lambda: goes_back(shop), GOES_BACK_WITHIN_S)
    enter(shop)


@pytest.mark.parametrize("setting", ["statement_timeout", "idle_session_timeout"])
def test_a_cluster_whose_every_session_fails_is_not_online_and_its_pools_and_events_say_why(
    shop: Pool, alter: Alter, setting: str
) -> None:
    alter(f"ALTER SYSTEM SET {setting} = '1ms'", "SELECT pg_reload_conf()")
    time.sleep(0.5)  # Each process has to read it first.
    try:
        tasks.check_everything()
        status = ClusterStatus.objects.get()
        assert (status.state, status.error == "") == (ClusterState.UNREACHABLE, False)
        assert state_of(shop)[0] == PoolState.FAILING
        assert any(value.kind == "cluster_down" and value.value for value in metric_values.all_values({}))
    finally:
        _reset(shop.cluster, setting)
    assert until(lambda: goes_back(shop), GOES_BACK_WITHIN_S)


def _reset(cluster: Cluster, setting: str) -> None:
    options = f"-c {setting}=0"
    words = {"host": cluster.host, "port": cluster.port, "user": cluster.admin_user, "password": cluster.admin_password}
    with psycopg.connect(dbname="postgres", autocommit=True, options=options, **words) as session:
        session.execute(sql.SQL("ALTER SYSTEM RESET {}").format(sql.Identifier(setting)))
        session.execute("SELECT pg_reload_conf()")


def test_a_role_that_may_not_connect_any_more_is_found_by_the_next_login_through_the_pool(
    shop: Pool, alter: Alter
) -> None:
    alter("REVOKE CONNECT ON DATABASE shop FROM PUBLIC, shopper")
    tasks.check_everything()
    assert state_of(shop) == (PoolState.APPLIED, "")  # The catalog does not show it.
    Pool.objects.update(proved_at=timezone.now() - pool_logins.EVERY_IDLE)
    tasks.prove_pools()
    address = f"{shop.cluster.host}:{shop.cluster.port}"
    reason = f"user 'shopper' may not connect to database 'shop' at {address}: GRANT CONNECT to it or choose another"
    assert state_of(shop) == (PoolState.FAILING, reason)
    alter("GRANT CONNECT ON DATABASE shop TO shopper")
    assert until(lambda: goes_back(shop), GOES_BACK_WITHIN_S)


def test_a_pool_that_is_full_or_paused_is_not_failing(shop: Pool, pgbouncer: PgBouncerServer) -> None:
    with pgbouncer.connect() as console:
        console.execute(b"PAUSE shop")
        Pool.objects.update(proved_at=None)
        tasks.prove_pools()
        console.execute(b"RESUME shop")
    assert state_of(shop) == (PoolState.APPLIED, "")
    shop.refresh_from_db()
    assert shop.proved_at is not None


def test_inbound_users_need_their_look_up(
    shop: Pool, lookup_role: str, pooler: Pooler, cluster: Cluster, postgres: PostgresServer
) -> None:
    inbound = Pool.objects.create(name="inbound", pooler=pooler, cluster=cluster, database="shop", user="", size=3)
    deployment.apply_pooler(pooler)
    assert state_of(inbound) == (PoolState.APPLIED, "")
    with postgres.connect("shop") as session:
        session.execute("ALTER FUNCTION pooldeck.user_lookup(text) RENAME TO user_lookup_old")
    Pool.objects.filter(pk=inbound.pk).update(proved_at=None)
    assert until(lambda: [tasks.prove_pools()] and state_of(inbound)[0] == PoolState.FAILING)
    assert "has no function to look up inbound users with in database shop" in state_of(inbound)[1]
    with postgres.connect("shop") as session:
        session.execute("ALTER FUNCTION pooldeck.user_lookup_old(text) RENAME TO user_lookup")
    assert until(lambda: goes_back(inbound), GOES_BACK_WITHIN_S)


@pytest.mark.parametrize("pgpool_binary", ["installed"], indirect=True)
def test_a_pool_of_pgpool_fails_and_goes_back(
    pgpool_pooler: Pooler, cluster: Cluster, alter: Alter, without_trial: None
) -> None:
    _fails_and_goes_back(_a_pool_of("shop", pgpool_pooler, cluster, alter, size=CHILDREN), alter)


def test_a_pool_of_haproxy_fails_and_goes_back(haproxy_pooler: Pooler, cluster: Cluster, alter: Alter) -> None:
    _fails_and_goes_back(_a_pool_of("shop", haproxy_pooler, cluster, alter, size=100), alter)


def _a_pool_of(name: str, pooler: Pooler, cluster: Cluster, alter: Alter, size: int) -> Pool:
    alter("CREATE ROLE shopper LOGIN PASSWORD 'first'", "CREATE DATABASE shop OWNER shopper")
    cluster.keep_password("shopper", "first")
    values = {"database": "shop", "user": "shopper", "mode": Mode.SESSION, "size": size}
    pool = Pool.objects.create(name=name, pooler=pooler, cluster=cluster, **values)
    deployment.apply_pooler(pooler)
    tasks.check_everything()
    assert state_of(pool) == (PoolState.APPLIED, "")
    return pool


def _fails_and_goes_back(pool: Pool, alter: Alter) -> None:
    alter("ALTER ROLE shopper NOLOGIN")
    tasks.check_everything()
    assert state_of(pool)[0] == PoolState.FAILING
    alter("ALTER ROLE shopper LOGIN", "REVOKE CONNECT ON DATABASE shop FROM PUBLIC, shopper")
    tasks.prove_pools()
    state, reason = state_of(pool)
    assert (state, "may not connect to database 'shop'" in reason) == (PoolState.FAILING, True)
    alter("GRANT CONNECT ON DATABASE shop TO shopper")
    assert until(lambda: goes_back(pool), GOES_BACK_WITHIN_S)
