"""Pools after something was changed behind the panel: failing with the reason, and applied again once it is mended."""

from collections.abc import Callable, Iterator

import psycopg
import pytest

from panel.quickstart.servers import PostgresServer
from pools import deployment, tasks
from pools.models import Cluster, Pool, Pooler, PoolState
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
        "cluster live has no database shop any more",
    ),
    "database renamed": (
        "ALTER DATABASE shop RENAME TO shop_old",
        "ALTER DATABASE shop_old RENAME TO shop",
        "cluster live has no database shop any more",
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
        "cluster live has no role shopper any more",
    ),
    "NOLOGIN": (
        "ALTER ROLE shopper NOLOGIN",
        "ALTER ROLE shopper LOGIN",
        "role shopper may not log in any more",
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
