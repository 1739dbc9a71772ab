"""Limits of users on a real PgBouncer, and what a reload alone would not undo."""

from collections.abc import Callable

import psycopg
import pytest

from core.lib.private_text import for_admins
from panel.quickstart.servers import PgBouncerServer
from pools import deployment
from pools.models import Pooler, PoolState
from pools.poolers.pgbouncer import global_settings
from pools.poolers.settings_schema import Version
from tests.live.pools.conftest import LogIn, MakePool

pytestmark = pytest.mark.django_db(transaction=True)

Spec = Callable[..., Pooler]


def outcome(pooler: Pooler) -> tuple[str, str]:
    pooler.refresh_from_db()
    return pooler.settings_state, for_admins(pooler.settings_reason)


def mode_of(user: str, pgbouncer: PgBouncerServer) -> str | None:
    with pgbouncer.connect() as console:
        cursor = console.execute(b"SHOW USERS")
        columns = [column.name for column in cursor.description]
        return next(row["pool_mode"] for one in cursor if (row := dict(zip(columns, one, strict=True)))["name"] == user)


def test_a_users_mode_is_live_and_gone_again(pooler: Pooler, spec: Spec, pgbouncer: PgBouncerServer) -> None:
    spec(user_settings={"ann": {"pool_mode": "statement", "max_user_connections": 2}})
    deployment.apply_pooler(pooler)
    assert (outcome(pooler), mode_of("ann", pgbouncer)) == ((PoolState.APPLIED, ""), "statement")
    spec(user_settings={})
    deployment.apply_pooler(pooler)
    assert (outcome(pooler), mode_of("ann", pgbouncer)) == ((PoolState.APPLIED, ""), None)
    assert "\nann =\n" in (pgbouncer.config_dir / "pooldeck.ini").read_text()


def test_a_users_limit_holds_and_is_lifted(
    pooler: Pooler, spec: Spec, make_pool: MakePool, log_in: LogIn, version: Version
) -> None:
    make_pool(size=3, user="app" if version >= global_settings.LIMITS_FIXED_USERS else "")
    spec(user_settings={"app": {"max_user_connections": 1}}, settings={"query_wait_timeout": 1})
    deployment.apply_pooler(pooler)
    assert outcome(pooler) == (PoolState.APPLIED, "")
    address = {"host": pooler.host, "port": pooler.port, "dbname": "orders", "user": "app", "password": "app-password"}
    with psycopg.connect(**address) as holding:
        holding.execute("SELECT 1")  # a transaction: keeps its server
        with pytest.raises(psycopg.OperationalError, match="query_wait_timeout"):
            log_in("orders")
        spec(user_settings={})
        deployment.apply_pooler(pooler)
        assert log_in("orders") == "app"


@pytest.mark.parametrize("fixed", [True, False])
def test_a_release_that_does_not_hold_fixed_users_is_named(
    fixed: bool, pooler: Pooler, spec: Spec, make_pool: MakePool, version: Version
) -> None:
    make_pool(user="app" if fixed else "")
    spec(user_settings={"app": {"max_user_connections": 1}})
    revision = deployment.apply_pooler(pooler)
    notes = [step["detail"] for step in revision.steps if step["step"] == "noted"]
    expected = "PgBouncer 1.18 was seen not to hold a pool's fixed user, as app, to max_user_connections; 1.24 does"
    assert notes == ([expected] if fixed and version < global_settings.LIMITS_FIXED_USERS else [])


def test_an_operators_own_entry_is_left_to_them(pooler: Pooler, spec: Spec, pgbouncer: PgBouncerServer) -> None:
    ini = pgbouncer.config_dir / "pgbouncer.ini"
    ini.write_text(ini.read_text() + "[users]\nann = pool_mode=session\n")
    spec(user_settings={"ann": {"pool_mode": "statement"}})
    deployment.apply_pooler(pooler)
    assert outcome(pooler) == ("rolled_back", "pgbouncer.ini already has limits for ann: change them there")


@pytest.mark.parametrize("user", ["a b", "é", "x" * 64, "it's"])
def test_a_name_that_its_section_can_not_carry_is_refused(user: str, pooler: Pooler, spec: Spec) -> None:
    spec(user_settings={user: {"pool_mode": "session"}})
    deployment.apply_pooler(pooler)
    state, reason = outcome(pooler)
    assert (state, f"user {user!r} can't have limits" in reason) == (PoolState.ROLLED_BACK, True)
