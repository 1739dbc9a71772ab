"""Who may log in to which pool of a real PgBouncer, beside all that its operator lets in."""

from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from pytest_django import Settings

from panel.quickstart.servers import PgBouncerServer, PostgresServer
from pools import deployment
from pools.deployment import drift, rollback
from pools.inventory import pool_access
from pools.models import Cluster, Pool, Pooler, PoolState, RevisionState
from pools.poolers import KINDS
from pools.poolers.pgbouncer import access_rules, hba
from tests import callers
from tests.live.pools.conftest import LogIn, MakePool, state_of
from tests.live.pools.poolers.pgbouncer.conftest import Config
from tests.live.pools.poolers.pgbouncer.ldap_server import LdapServer

pytestmark = pytest.mark.django_db(transaction=True)
REFUSED = "login rejected"
TENANT = ("tenant", "tenant-password")


@pytest.fixture(autouse=True)
def tenant(postgres: PostgresServer, pgbouncer: PgBouncerServer) -> Iterator[None]:
    """A role that the operator's part of userlist.txt knows, and an entry of the operator's that it uses."""
    with postgres.connect() as session:
        session.execute("DROP ROLE IF EXISTS tenant")
        session.execute("CREATE ROLE tenant LOGIN PASSWORD 'tenant-password'")
        folder = Path(pgbouncer.config_dir)
        ini, users = folder / "pgbouncer.ini", folder / "userlist.txt"
        mine = f"mine = host={postgres.host} port={postgres.port} dbname=app user=app password=app-password"
        ini.write_text(ini.read_text().replace("[databases]", f"[databases]\n{mine}"))
        users.write_text(users.read_text() + '"tenant" "tenant-password"\n')
        reload(pgbouncer)
        yield
        session.execute("DROP ROLE tenant")


def reload(pgbouncer: PgBouncerServer) -> None:
    with pgbouncer.connect() as console:
        console.execute(b"RELOAD")


def set_auth(pgbouncer: PgBouncerServer, auth_type: str, rules: str = "") -> Path:
    """Have the operator choose a way to log in, and reload."""
    folder = Path(pgbouncer.config_dir)
    ini, hba = folder / "pgbouncer.ini", folder / "operators_hba.conf"
    hba.write_text(rules)
    hba.chmod(0o644)
    named = f"\nauth_hba_file = {hba}" if rules else ""
    ini.write_text(ini.read_text().replace("auth_type = scram-sha-256", f"auth_type = {auth_type}{named}"))
    reload(pgbouncer)
    return hba


def outcome(log_in: LogIn, *client: str) -> str:
    """The role that a client ends up as, else the message."""
    try:
        return log_in(*client)
    except psycopg.OperationalError as error:
        return str(error).rpartition("FATAL: ")[2].strip()


def test_a_pool_lets_in_its_own_user_and_nobody_else(
    orders: Pool, pooler: Pooler, log_in: LogIn, config: Config, cluster: Cluster
) -> None:
    assert log_in("orders") == "app"
    assert outcome(log_in, "orders", *TENANT) == REFUSED
    assert outcome(log_in, "orders", pooler.admin_user, "console-password") == REFUSED
    assert outcome(log_in, "orders", cluster.admin_user, cluster.admin_password) == REFUSED
    assert outcome(log_in, "mine", *TENANT) == "app"  # the operator's own entry, as before
    steps = {one["step"]: one["detail"] for one in pooler.revisions.first().steps}
    assert steps["stranger refused"] == "pooldeck at orders, by a rule"
    assert (config()["auth_type"], Path(config()["auth_hba_file"]).name) == ("hba", "pooldeck_access.conf")


def test_a_role_of_another_pool_does_not_become_a_superuser(
    orders: Pool, make_pool: MakePool, pooler: Pooler, cluster: Cluster, log_in: LogIn
) -> None:
    strong = make_pool("admins", user=cluster.admin_user)
    deployment.apply_pooler(pooler)
    assert state_of(strong) == (PoolState.APPLIED, "")
    assert outcome(log_in, "admins", "app", "app-password") == REFUSED
    assert outcome(log_in, "admins", cluster.admin_user, cluster.admin_password) == cluster.admin_user


def test_users_named_in_the_pool_get_in_and_work_as_its_user(
    make_pool: MakePool, pooler: Pooler, log_in: LogIn
) -> None:
    pool = make_pool(allowed_users="tenant")
    deployment.apply_pooler(pooler)
    assert state_of(pool) == (PoolState.APPLIED, "")
    assert log_in("orders", *TENANT) == log_in("orders") == "app"
    pool.edit(None, allowed_users="", state=PoolState.PENDING)
    deployment.apply_pooler(pooler)
    assert outcome(log_in, "orders", *TENANT) == REFUSED


def test_a_pool_of_the_inbound_user_can_be_kept_for_some(
    make_pool: MakePool, pooler: Pooler, log_in: LogIn, cluster: Cluster
) -> None:
    pool = make_pool(user="", allowed_users="tenant")
    deployment.apply_pooler(pooler)
    assert state_of(pool) == (PoolState.APPLIED, "")
    assert log_in("orders", *TENANT) == "tenant"
    assert outcome(log_in, "orders") == REFUSED


@pytest.mark.parametrize("auth_type", ["md5", "scram-sha-256", "plain", "trust"])
def test_the_operators_clients_log_in_as_before_by_each_auth_type(
    auth_type: str,
    make_pool: MakePool,
    pooler: Pooler,
    pgbouncer: PgBouncerServer,
    log_in: LogIn,
    settings: Settings,
) -> None:
    settings.CLEARTEXT_PASSWORDS = auth_type == "plain"  # else the panel itself refuses to log in
    set_auth(pgbouncer, auth_type)
    clients = [("mine", *TENANT), ("mine", "tenant", "wrong"), ("mine", "nobody", "x"), ("nowhere", *TENANT)]
    before = [outcome(log_in, *client) for client in clients]
    pool = make_pool()
    deployment.apply_pooler(pooler)
    assert state_of(pool) == (PoolState.APPLIED, "")
    assert [outcome(log_in, *client) for client in clients] == before
    assert (outcome(log_in, "orders"), outcome(log_in, "orders", *TENANT)) == ("app", REFUSED)


RULES = """
# the operator's
local all all scram-sha-256
host  mine tenant 127.0.0.0/8 md5
host  mine all 0.0.0.0/0 reject
host  orders "other" 0.0.0.0/0 trust
host  broken line
host  all all 127.0.0.1/32 scram-sha-256 # comment
"""


def test_the_operators_rules_are_taken_along(
    make_pool: MakePool, pooler: Pooler, pgbouncer: PgBouncerServer, log_in: LogIn
) -> None:
    hba = set_auth(pgbouncer, "hba", RULES)
    clients = [("mine", *TENANT), ("mine", "app", "app-password"), ("orders", "nobody", "x")]
    before = [outcome(log_in, *client) for client in clients[:2]]
    assert before == ["app", REFUSED]
    pool = make_pool()
    deployment.apply_pooler(pooler)
    assert state_of(pool) == (PoolState.APPLIED, "")
    assert [outcome(log_in, *client) for client in clients] == [*before, REFUSED]
    assert (outcome(log_in, "orders"), outcome(log_in, "orders", *TENANT)) == ("app", REFUSED)
    hba.write_text(RULES.replace("127.0.0.0/8", "10.0.0.0/8"))
    texts = {path.name: path.read_text() for path in Path(pgbouncer.config_dir).iterdir() if path.is_file()}
    waiting = "; ".join(KINDS["pgbouncer"].changes(pooler, texts))
    assert "operators_hba.conf changed, and wait for the next apply" in waiting
    pool.edit(None, size=4, state=PoolState.PENDING)
    deployment.apply_pooler(pooler)
    assert outcome(log_in, "mine", *TENANT) == REFUSED


LISTED = """
local all all scram-sha-256
host mine @blocked 127.0.0.0/8 reject
host mine,@databases @names 127.0.0.0/8 md5
host mine all 0.0.0.0/0 reject
host all all 127.0.0.1/32 scram-sha-256
"""


def test_lists_of_names_in_the_operators_rules_are_taken_along(
    make_pool: MakePool, pooler: Pooler, pgbouncer: PgBouncerServer, log_in: LogIn, config: Config
) -> None:
    folder = Path(pgbouncer.config_dir)
    for name, text in {"blocked": "nobody\n\ntenant\n", "names": "tenant\n", "databases": "orders\n"}.items():
        (folder / name).write_text(text)
        (folder / name).chmod(0o644)
    set_auth(pgbouncer, "hba", LISTED)
    clients = [("mine", *TENANT), ("mine", "app", "app-password")]
    before = [outcome(log_in, *client) for client in clients]
    assert before == ["app", REFUSED]
    pool = make_pool(allowed_users="tenant")
    deployment.apply_pooler(pooler)
    assert (state_of(pool), Path(config()["auth_hba_file"]).name) == ((PoolState.APPLIED, ""), "pooldeck_access.conf")
    assert pool_access.obstacle(pooler) == ""
    assert [outcome(log_in, *client) for client in clients] == before
    assert [outcome(log_in, "orders", *who) for who in (TENANT, ("pooldeck", "console-password"))] == ["app", REFUSED]
    (folder / "names").write_text("nobody\n")
    texts = {path.name: path.read_text() for path in folder.iterdir() if path.is_file()}
    assert "operators_hba.conf changed, and wait for the next apply" in "; ".join(
        KINDS["pgbouncer"].changes(pooler, texts)
    )
    pool.edit(None, size=4, state=PoolState.PENDING)
    deployment.apply_pooler(pooler)
    assert outcome(log_in, "mine", *TENANT) == REFUSED


def test_rules_ask_the_ldap_server_that_the_operator_asks(
    make_pool: MakePool,
    pooler: Pooler,
    pgbouncer: PgBouncerServer,
    log_in: LogIn,
    config: Config,
    settings: Settings,
    version: tuple[int, int],
) -> None:
    if version < hba.LDAP_SINCE:
        pytest.skip("PgBouncer knows no LDAP before 1.25")
    settings.CLEARTEXT_PASSWORDS = True  # LDAP is asked with the password itself
    with LdapServer({"tenant": "by-ldap", "app": "app-password", "pooldeck": "console-password"}) as ldap:
        options = f'ldapserver=127.0.0.1 ldapport={ldap.port} ldapprefix="uid=" ldapsuffix=",dc=x"'
        set_auth(pgbouncer, f"ldap\nauth_ldap_options = {options}")
        clients = [("mine", "tenant", "by-ldap"), ("mine", *TENANT)]
        before = [outcome(log_in, *client) for client in clients]
        assert before[0] == "app" != before[1]
        pool = make_pool()
        deployment.apply_pooler(pooler)
        assert (state_of(pool), config()["auth_type"]) == ((PoolState.APPLIED, ""), "hba")
        assert [outcome(log_in, *client) for client in clients] == before
        assert (outcome(log_in, "orders"), outcome(log_in, "orders", "tenant", "by-ldap")) == ("app", REFUSED)


def test_what_rules_can_not_carry_is_left_open_and_said(
    make_pool: MakePool, pooler: Pooler, pgbouncer: PgBouncerServer, log_in: LogIn, config: Config
) -> None:
    set_auth(pgbouncer, "any")
    pool, inbound = make_pool(), make_pool("inbound", user="")
    deployment.apply_pooler(pooler)
    assert state_of(inbound) == (
        PoolState.ROLLED_BACK,
        "the pooler's auth_type is any, under which clients have no name, so the pool needs a fixed user: give it one, "
        "or change auth_type",
    )
    pool.edit(None, size=4, state=PoolState.PENDING)
    revision = deployment.apply_pooler(pooler)
    assert state_of(pool) == (PoolState.APPLIED, "")
    assert config()["auth_type"] == "any"
    noted = [one["detail"] for one in revision.steps if one["step"] == "noted"]
    assert "stay open to every user that PgBouncer knows: auth_type any can't be combined" in noted[0]
    found = callers.bearer("read").get(f"/api/v1/poolers/{pooler.pk}/access/").data
    assert found["obstacle"].startswith("auth_type any can't be combined with rules")


def test_pools_of_before_are_restricted_once_that_is_confirmed_and_opened_by_a_rollback(
    make_pool: MakePool, pooler: Pooler, log_in: LogIn, config: Config
) -> None:
    make_pool(allowed_users="*")
    first = deployment.apply_pooler(pooler)
    assert (log_in("orders", *TENANT), config()["auth_type"]) == ("app", "scram-sha-256")
    token, address = callers.bearer("read", "apply"), f"/api/v1/poolers/{pooler.pk}/"
    with psycopg.connect(
        host=pooler.host, port=pooler.port, dbname="orders", user="tenant", password="tenant-password", autocommit=True
    ):
        found = token.get(f"{address}access/").data["open_pools"]
    assert [(one["name"], one["user"], "tenant" in one["refused"], one["connected"]) for one in found] == [
        ("orders", "app", True, ["tenant"])
    ]
    refused = token.post(f"{address}restrict-pools/", {})
    assert (refused.status_code, "orders would refuse" in refused.data["confirm"][0]) == (400, True)
    assert outcome(log_in, "orders", *TENANT) == "app"
    assert token.post(f"{address}restrict-pools/", {"confirm": pooler.name}).status_code == 202
    assert deployment.apply_pooler(pooler).state == RevisionState.APPLIED
    assert (outcome(log_in, "orders"), outcome(log_in, "orders", *TENANT)) == ("app", REFUSED)
    assert pool_access.review(pooler) == []
    rollback.roll_back(pooler, first)
    assert deployment.apply_pooler(pooler).state == RevisionState.APPLIED
    assert (log_in("orders", *TENANT), config()["auth_type"]) == ("app", "scram-sha-256")
    assert not (Path(pooler.config_dir) / "pooldeck_access.conf").exists()


def test_with_its_last_pool_the_operators_way_to_log_in_comes_back(
    orders: Pool, pooler: Pooler, config: Config, log_in: LogIn
) -> None:
    orders.edit(None, removal_requested_at=orders.created_at, state=PoolState.PENDING)
    assert deployment.apply_pooler(pooler).state == RevisionState.APPLIED
    assert (config()["auth_type"], config()["auth_hba_file"]) == ("scram-sha-256", "")
    assert not (Path(pooler.config_dir) / "pooldeck_access.conf").exists()
    assert log_in("mine", *TENANT) == "app"


def test_a_pool_that_does_not_refuse_a_stranger_is_rolled_back(
    make_pool: MakePool, pooler: Pooler, config: Config, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(access_rules, "_refusing", lambda _doors: iter(()))
    pool = make_pool()
    deployment.apply_pooler(pooler)
    state, reason = state_of(pool)
    refusal = "must refuse pooldeck, which PgBouncer knows, and did not"
    assert (state, refusal in reason) == (PoolState.ROLLED_BACK, True)
    assert config()["auth_type"] == "scram-sha-256"


def test_strangers_are_refused_at_the_unix_socket_too(
    orders: Pool, pooler: Pooler, config: Config, log_in: LogIn
) -> None:
    if not (folder := config()["unix_socket_dir"]):
        pytest.skip("this PgBouncer has no socket")
    address = {"host": folder, "port": pooler.port, "dbname": "orders"}
    with pytest.raises(psycopg.OperationalError, match=REFUSED):
        psycopg.connect(**address, user="tenant", password="tenant-password")
    psycopg.connect(**address, user="app", password="app-password").close()


@pytest.mark.parametrize("leaves", [False, True])
def test_a_way_to_log_in_that_is_set_in_an_included_file(
    leaves: bool, make_pool: MakePool, pooler: Pooler, pgbouncer: PgBouncerServer, log_in: LogIn, config: Config
) -> None:
    folder, ini = Path(pgbouncer.config_dir), Path(pgbouncer.config_dir, "pgbouncer.ini")
    (folder / "own.ini").write_text("verbose = 0\nauth_type = md5\n" + "[databases]\n" * leaves)
    (folder / "own.ini").chmod(0o644)
    ini.write_text(ini.read_text().replace("auth_type = scram-sha-256\n", "") + f"%include {folder}/own.ini\n")
    reload(pgbouncer)
    pool = make_pool()
    deployment.apply_pooler(pooler)
    assert (state_of(pool), config()["auth_type"]) == ((PoolState.APPLIED, ""), "md5" if leaves else "hba")
    said = "line 2 of own.ini sets auth_type to md5 after the panel's settings are read" if leaves else ""
    assert pool_access.obstacle(pooler)[: len(said) or None] == said
    assert outcome(log_in, "mine", *TENANT) == "app"
    assert outcome(log_in, "orders", *TENANT) == ("app" if leaves else REFUSED)


def test_rules_that_are_switched_off_at_the_console_are_drift(
    orders: Pool, pooler: Pooler, pgbouncer: PgBouncerServer
) -> None:
    with pgbouncer.connect() as console:
        console.execute(b"SET auth_type = 'md5'")
    drift.check(pooler)
    pooler.refresh_from_db()
    assert [one["what"] for one in pooler.drift] == ["the pooler has auth_type md5, not hba"]
