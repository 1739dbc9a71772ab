"""SCRAM verifiers in userlist.txt, on each release at hand: no pool becomes unreachable by them."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest

from panel.quickstart.servers import PgBouncerServer, PostgresServer, binary, version_of
from pools import deployment, tasks
from pools.clusters import health_check
from pools.deployment import rollback
from pools.models import Cluster, Pool, Pooler, PoolState, RevisionState
from pools.poolers.pgbouncer import preflight, render, userlist
from pools.provisioning import roles
from tests.callers import person
from tests.live.pools.conftest import LogIn, MakePool, in_folder, state_of

pytestmark = pytest.mark.django_db(transaction=True)

UNSTABLE = os.environ.get("POOLDECK_TEST_UNSTABLE", "")
Secret = Callable[[], str]


@pytest.fixture(params=["installed", "Debian 13's", "Debian unstable's"])
def program(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    if request.param == "installed":
        path = binary("pgbouncer")
    elif request.param == "Debian 13's":
        path = str(request.getfixturevalue("trixie_pgbouncer"))
    elif UNSTABLE:
        path = str(in_folder(UNSTABLE))
    else:
        pytest.skip("POOLDECK_TEST_UNSTABLE names no folder of a Debian unstable with pgbouncer")
    monkeypatch.setattr(preflight, "SEARCH_PATH", f"{Path(path).parent}:{preflight.SEARCH_PATH}")
    return path


@pytest.fixture
def keeps_clear(program: str) -> bool:
    """Whether this release is given the password in clear, for it keeps what it makes of it."""
    return version_of(program) >= userlist.KEEPS_KEYS


@pytest.fixture
def app(cluster: Cluster, postgres: PostgresServer) -> Iterator[str]:
    """The name of a role of the test's own, whose password the panel made."""
    with postgres.connect() as session:
        session.execute("CREATE ROLE shopper LOGIN PASSWORD 'first-password'")
        session.execute("GRANT ALL ON DATABASE app TO shopper")
    cluster.keep_password("shopper", "first-password")
    yield "shopper"
    with postgres.connect() as session:
        session.execute("REVOKE ALL ON DATABASE app FROM shopper")
        session.execute("DROP ROLE shopper")


@pytest.fixture
def shop(app: str, make_pool: MakePool, pooler: Pooler) -> Pool:
    """An applied pool of that role."""
    made = make_pool("shop", user=app)
    assert deployment.apply_pooler(pooler).state == RevisionState.APPLIED
    made.refresh_from_db()
    return made


@pytest.fixture
def secret(pgbouncer: PgBouncerServer) -> Secret:
    """Reads what userlist.txt has of the role."""
    return lambda: render.users((pgbouncer.config_dir / "userlist.txt").read_text())["shopper"]


def stored(postgres: PostgresServer) -> str:
    with postgres.connect() as session:
        return session.execute("SELECT rolpassword FROM pg_authid WHERE rolname = 'shopper'").fetchone()[0]


def enter(log_in: LogIn, password: str = "first-password") -> str:
    """Twice: the first login of a verifier leaves its keys, the next ones use them."""
    log_in("shop", "shopper", password)
    return log_in("shop", "shopper", password)


def fresh_servers(pgbouncer: PgBouncerServer) -> None:
    with pgbouncer.connect() as console:
        console.execute(b"RECONNECT")


def test_the_servers_own_verifier_stands_in_for_the_password(
    shop: Pool, postgres: PostgresServer, secret: Secret, log_in: LogIn, keeps_clear: bool
) -> None:
    assert secret() == ("first-password" if keeps_clear else stored(postgres))
    assert enter(log_in) == "shopper"


def test_a_password_reset_by_the_panel_leaves_the_pool_reachable_also_for_clients_that_are_there(
    shop: Pool, pooler: Pooler, cluster: Cluster, postgres: PostgresServer, secret: Secret, log_in: LogIn,
    keeps_clear: bool, pgbouncer: PgBouncerServer,
) -> None:  # fmt: skip
    enter(log_in)
    address = {"host": pooler.host, "port": pooler.port, "dbname": "shop", "user": "shopper"}
    with psycopg.connect(password="first-password", autocommit=True, **address) as client:
        client.execute(b"SELECT 1")
        password = roles.reset_password(cluster, "shopper")
        deployment.apply_pooler(pooler)
        assert state_of(shop) == (PoolState.APPLIED, "")
        assert secret() == (password if keeps_clear else stored(postgres))
        fresh_servers(pgbouncer)
        assert enter(log_in, password) == "shopper"
        assert client.execute(b"SELECT 2").fetchone() == (2,)


def test_a_password_set_anew_at_the_server_is_found_by_the_next_check(
    shop: Pool, pooler: Pooler, cluster: Cluster, postgres: PostgresServer, secret: Secret, log_in: LogIn,
    keeps_clear: bool, pgbouncer: PgBouncerServer,
) -> None:  # fmt: skip
    enter(log_in)
    health_check.check_cluster(cluster)
    with postgres.connect() as session:
        session.execute("ALTER ROLE shopper PASSWORD 'first-password'")  # the same, with another salt
    fresh_servers(pgbouncer)
    tasks.check_everything()
    assert state_of(shop) == (
        (PoolState.APPLIED, "")
        if keeps_clear
        else (PoolState.PENDING, "the password of shopper was changed on the server")
    )
    deployment.apply_pooler(pooler)
    assert state_of(shop) == (PoolState.APPLIED, "")
    assert secret() == ("first-password" if keeps_clear else stored(postgres))
    assert enter(log_in) == "shopper"


def test_another_password_at_the_server_is_said_and_the_pool_opens_once_it_is_given(
    shop: Pool, pooler: Pooler, cluster: Cluster, postgres: PostgresServer, log_in: LogIn, pgbouncer: PgBouncerServer
) -> None:
    enter(log_in)
    health_check.check_cluster(cluster)
    with postgres.connect() as session:
        session.execute("ALTER ROLE shopper PASSWORD 'second-password'")
    fresh_servers(pgbouncer)
    tasks.check_everything()
    deployment.apply_pooler(pooler)
    state, reason = state_of(shop)
    assert (state, "the password of user 'shopper' was refused" in reason) == (PoolState.FAILING, True)
    cluster.keep_password("shopper", "second-password")
    shop.edit(None, state=PoolState.PENDING, state_reason="")
    deployment.apply_pooler(pooler)
    assert state_of(shop) == (PoolState.APPLIED, "")
    assert enter(log_in, "second-password") == "shopper"


def test_a_reload_a_kill_and_a_restart_leave_the_pool_reachable(
    shop: Pool, pgbouncer: PgBouncerServer, log_in: LogIn
) -> None:
    enter(log_in)
    with pgbouncer.connect() as console:
        for command in (b"RELOAD", b"RECONNECT", b"KILL shop", b"RESUME shop"):
            console.execute(command)
    assert enter(log_in) == "shopper"
    pgbouncer.stop()
    pgbouncer.start()
    assert enter(log_in) == "shopper"


def test_another_role_of_the_pool_brings_its_own_verifier(
    shop: Pool, pooler: Pooler, postgres: PostgresServer, cluster: Cluster, log_in: LogIn
) -> None:
    enter(log_in)
    shop.edit(None, user="app", state=PoolState.PENDING)
    deployment.apply_pooler(pooler)
    assert state_of(shop) == (PoolState.APPLIED, "")
    assert log_in("shop") == "app"


def test_a_rename_of_the_role_keeps_its_verifier(
    shop: Pool, pooler: Pooler, postgres: PostgresServer, cluster: Cluster, log_in: LogIn
) -> None:
    enter(log_in)
    with postgres.connect() as session:
        session.execute("ALTER ROLE shopper RENAME TO buyer")
    try:
        cluster.keep_password("buyer", "first-password")
        shop.edit(None, user="buyer", state=PoolState.PENDING)
        deployment.apply_pooler(pooler)
        assert state_of(shop) == (PoolState.APPLIED, "")
        assert log_in("shop", "buyer", "first-password") == "buyer"
    finally:
        with postgres.connect() as session:
            session.execute("ALTER ROLE buyer RENAME TO shopper")


def test_an_installation_of_before_moves_over_with_the_next_apply_and_back(
    app: str, make_pool: MakePool, pooler: Pooler, postgres: PostgresServer, secret: Secret, log_in: LogIn,
    keeps_clear: bool, monkeypatch: pytest.MonkeyPatch, pgbouncer: PgBouncerServer,
) -> None:  # fmt: skip
    monkeypatch.setattr(userlist, "verifiers_are_of_use", lambda *_: False)
    pool = make_pool("shop", user=app)
    deployment.apply_pooler(pooler)
    assert (secret(), enter(log_in)) == ("first-password", "shopper")
    monkeypatch.undo()
    pool.refresh_from_db()
    pool.edit(None, size=4, state=PoolState.PENDING)
    deployment.apply_pooler(pooler)
    assert secret() == ("first-password" if keeps_clear else stored(postgres))
    assert enter(log_in) == "shopper"
    rollback.roll_back(pooler, pooler.revisions.get(number=1), person())
    deployment.apply_pooler(pooler)
    fresh_servers(pgbouncer)
    assert state_of(pool) == (PoolState.APPLIED, "")
    assert enter(log_in) == "shopper"


def test_a_role_that_was_a_verifier_and_becomes_clear_with_another_password_opens(
    shop: Pool, pooler: Pooler, cluster: Cluster, log_in: LogIn, monkeypatch: pytest.MonkeyPatch,
    pgbouncer: PgBouncerServer,
) -> None:  # fmt: skip
    enter(log_in)
    password = roles.reset_password(cluster, "shopper")
    monkeypatch.setattr(userlist, "_ask", lambda cluster, names: dict.fromkeys(names, (None, "it may not be read")))
    deployment.apply_pooler(pooler)
    assert state_of(shop) == (PoolState.APPLIED, "")
    fresh_servers(pgbouncer)
    assert enter(log_in, password) == "shopper"
