"""The life of pools on a real PgBouncer before a real PostgreSQL: made, changed, removed."""

import re
import stat

import psycopg
import pytest
from django.utils import timezone

from panel.quickstart.servers import PgBouncerServer, PostgresServer
from pools import deployment
from pools.models import Cluster, Pool, Pooler, PoolerState, PoolState, RevisionState
from pools.poolers.pgbouncer import console
from tests.live.pools.conftest import Live, LogIn, MakePool

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_new_pool_goes_live_and_lets_its_user_through(
    make_pool: MakePool, pooler: Pooler, live: Live, log_in: LogIn
) -> None:
    pool = make_pool()
    revision = deployment.apply_pooler(pooler)
    pool.refresh_from_db()
    assert (revision.state, revision.reason) == (RevisionState.APPLIED, "")
    assert (pool.state, pool.state_reason) == (PoolState.APPLIED, "")
    assert live() == {"orders": ("app", "app", 3, "transaction", 3)}
    assert log_in("orders") == "app"
    steps = [step["step"] for step in revision.steps]
    assert steps == [
        "rendered",
        "preflight passed",
        "writing",
        "reloaded",
        "read back",
        "logged in",
        "stranger refused",
    ]


def test_the_pooler_is_marked_online_with_its_version(orders: Pool) -> None:
    assert (orders.pooler.state, orders.pooler.server_version[:10]) == (PoolerState.ONLINE, "PgBouncer ")


def test_the_files_are_private_and_belong_to_the_folders_owner(orders: Pool, pgbouncer: PgBouncerServer) -> None:
    owner = pgbouncer.config_dir.stat().st_uid
    found = {path.name: path.stat() for path in pgbouncer.config_dir.iterdir()}
    assert set(found) == {
        "pgbouncer.ini",
        "userlist.txt",
        "pooldeck.ini",
        "pooldeck_settings.ini",
        "pooldeck_access.conf",
    }
    assert {(stat.S_IMODE(one.st_mode), one.st_uid) for one in found.values()} == {(0o600, owner)}


def test_nothing_is_done_when_nothing_waits(orders: Pool, pooler: Pooler) -> None:
    assert deployment.apply_pooler(pooler) is None
    assert pooler.revisions.count() == 1


def test_size_and_mode_change_in_place_while_a_client_stays(
    orders: Pool, pooler: Pooler, live: Live, log_in: LogIn
) -> None:
    address = {"host": pooler.host, "port": pooler.port, "user": "app", "password": "app-password"}
    with psycopg.connect(dbname="orders", autocommit=True, **address) as client:
        client.execute(b"SELECT 1")
        orders.edit(None, size=7, mode="session", state=PoolState.PENDING)
        deployment.apply_pooler(pooler)
        assert client.execute(b"SELECT 2").fetchone() == (2,)
    orders.refresh_from_db()
    assert (orders.state, live()) == (PoolState.APPLIED, {"orders": ("app", "app", 7, "session", 7)})


@pytest.mark.parametrize(
    ("changed", "asked"), [({"size": 7}, 1), ({"name": "renamed"}, 4), ({"user": ""}, 3), ({"user": "postgres"}, 3)]
)
def test_the_entries_are_listed_before_a_reload_only_where_users_may_be_found_otherwise(
    orders: Pool,
    pooler: Pooler,
    cluster: Cluster,
    monkeypatch: pytest.MonkeyPatch,
    changed: dict[str, object],
    asked: int,
) -> None:
    words: list[str] = []
    show = console.table
    monkeypatch.setattr(console, "table", lambda connection, word: words.append(word) or show(connection, word))
    orders.edit(None, state=PoolState.PENDING, **changed)
    assert deployment.apply_pooler(pooler).state == RevisionState.APPLIED
    assert words.count("databases") == asked


def test_files_edited_by_hand_have_the_entries_listed_before_a_reload(
    orders: Pool, pooler: Pooler, pgbouncer: PgBouncerServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    ini = pgbouncer.config_dir / "pooldeck.ini"
    ini.write_text(ini.read_text().replace("pool_size=3", "pool_size=4"))
    words: list[str] = []
    show = console.table
    monkeypatch.setattr(console, "table", lambda connection, word: words.append(word) or show(connection, word))
    orders.edit(None, size=7, state=PoolState.PENDING)
    assert deployment.apply_pooler(pooler, overwrite=True).state == RevisionState.APPLIED
    assert words.count("databases") == 3


def test_a_pool_that_is_full_can_be_changed(orders: Pool, pooler: Pooler, live: Live) -> None:
    address = {"host": pooler.host, "port": pooler.port, "user": "app", "password": "app-password"}
    busy = [psycopg.connect(dbname="orders", **address) for _ in range(3)]
    for client in busy:
        client.execute(b"SELECT 1")  # inside a transaction: keeps its server
    orders.edit(None, size=2, state=PoolState.PENDING)
    revision = deployment.apply_pooler(pooler)
    for client in busy:
        client.close()
    orders.refresh_from_db()
    assert (orders.state, live()) == (PoolState.APPLIED, {"orders": ("app", "app", 2, "transaction", 2)})
    assert "connections are all in use: its query waits" in revision.steps[-2]["detail"]


@pytest.mark.parametrize(
    ("verb", "how"), [("DISABLE", "was only read back: it is disabled"), ("PAUSE", ", which is paused")]
)
def test_a_pool_that_was_shut_at_the_console_can_be_changed(
    verb: str, how: str, orders: Pool, pooler: Pooler, pgbouncer: PgBouncerServer, live: Live
) -> None:
    with pgbouncer.connect() as console:
        console.execute(f"{verb} orders".encode())
    orders.edit(None, size=2, state=PoolState.PENDING)
    revision = deployment.apply_pooler(pooler)
    orders.refresh_from_db()
    assert (orders.state, orders.state_reason) == (PoolState.APPLIED, "")
    assert live() == {"orders": ("app", "app", 2, "transaction", 2)}
    tried = next(one for one in revision.steps if one["step"] in ("logged in", "not logged in"))
    assert how in tried["detail"].partition("orders")[2]
    assert (tried["step"] == "not logged in") == (verb == "DISABLE")


def test_a_renamed_pool_leaves_its_old_name(orders: Pool, pooler: Pooler, live: Live) -> None:
    orders.edit(None, name="sales", state=PoolState.PENDING)
    deployment.apply_pooler(pooler)
    assert live() == {"sales": ("app", "app", 3, "transaction", 3)}


def test_a_fixed_user_gives_way_to_the_inbound_user(orders: Pool, pooler: Pooler, live: Live, log_in: LogIn) -> None:
    orders.edit(None, user="", state=PoolState.PENDING)
    deployment.apply_pooler(pooler)
    orders.refresh_from_db()
    assert (orders.state, orders.state_reason) == (PoolState.APPLIED, "")
    assert live() == {"orders": ("app", None, 3, "transaction", 3)}
    assert log_in("orders") == "app"


def test_the_inbound_user_gives_way_to_a_fixed_one(
    make_pool: MakePool, pooler: Pooler, cluster: Cluster, live: Live, log_in: LogIn
) -> None:
    pool = make_pool(user="")
    deployment.apply_pooler(pooler)
    pool.edit(None, user="app", state=PoolState.PENDING)
    deployment.apply_pooler(pooler)
    assert live() == {"orders": ("app", "app", 3, "transaction", 3)}
    assert log_in("orders") == "app"
    with pytest.raises(psycopg.OperationalError, match="login rejected"):
        log_in("orders", cluster.admin_user, cluster.admin_password)  # no longer in userlist.txt, and not its user


@pytest.mark.parametrize("size", [1, 3])
def test_any_role_logs_in_to_an_inbound_pool_as_itself(
    size: int, make_pool: MakePool, pooler: Pooler, postgres: PostgresServer, log_in: LogIn
) -> None:
    make_pool(user="", size=size)
    assert deployment.apply_pooler(pooler).state == RevisionState.APPLIED
    with postgres.connect() as session:
        session.execute("DROP ROLE IF EXISTS reader")
        session.execute("CREATE ROLE reader LOGIN PASSWORD 'reader-password'")
    assert log_in("orders", "reader", "reader-password") == "reader"
    with pytest.raises(psycopg.OperationalError, match="SASL authentication failed"):
        log_in("orders", "reader", "wrong")


def test_a_removed_pool_goes_and_the_others_stay(
    orders: Pool, make_pool: MakePool, pooler: Pooler, live: Live, log_in: LogIn
) -> None:
    make_pool("stays")
    deployment.apply_pooler(pooler)
    Pool.objects.filter(pk=orders.pk).update(removal_requested_at=timezone.now())
    deployment.apply_pooler(pooler)
    assert list(live()) == ["stays"]
    assert list(Pool.objects.values_list("name", flat=True)) == ["stays"]
    assert log_in("stays") == "app"
    with pytest.raises(psycopg.OperationalError, match="no such database"):
        log_in("orders")


def test_a_pool_is_removed_with_a_client_in_it(orders: Pool, pooler: Pooler, live: Live) -> None:
    address = {"host": pooler.host, "port": pooler.port, "user": "app", "password": "app-password"}
    client = psycopg.connect(dbname="orders", **address)
    client.execute(b"SELECT 1")
    Pool.objects.filter(pk=orders.pk).update(removal_requested_at=timezone.now())
    revision = deployment.apply_pooler(pooler)
    client.close()
    assert (revision.state, live(), Pool.objects.count()) == (RevisionState.APPLIED, {}, 0)


def test_a_name_can_be_given_anew_while_its_old_pool_leaves(
    orders: Pool, make_pool: MakePool, pooler: Pooler, live: Live
) -> None:
    Pool.objects.filter(pk=orders.pk).update(removal_requested_at=timezone.now())
    fresh = make_pool(user="", size=5)
    deployment.apply_pooler(pooler)
    assert list(Pool.objects.values_list("pk", "state")) == [(fresh.pk, PoolState.APPLIED)]
    assert live() == {"orders": ("app", None, 5, "transaction", 5)}


def test_the_operators_own_entries_and_users_are_kept(
    make_pool: MakePool, pooler: Pooler, pgbouncer: PgBouncerServer, postgres: PostgresServer, live: Live, log_in: LogIn
) -> None:
    ini, userlist = pgbouncer.config_dir / "pgbouncer.ini", pgbouncer.config_dir / "userlist.txt"
    own = (
        f"[databases]\nmine = host={postgres.host} port={postgres.port} dbname=postgres user=app password=app-password"
    )
    ini.write_text(ini.read_text().replace("[databases]", own))
    userlist.write_text(userlist.read_text() + '"someone" "some-password"\n')
    with pgbouncer.connect() as console:
        console.execute(b"RELOAD")
    make_pool()
    deployment.apply_pooler(pooler)
    assert list(live()) == ["mine", "orders"]
    assert log_in("mine", "someone", "some-password") == "app"
    assert ini.read_text().count("%include") == 2


def test_per_pool_settings_go_live(make_pool: MakePool, pooler: Pooler, pgbouncer: PgBouncerServer) -> None:
    make_pool(settings={"min_pool_size": 1, "reserve_pool": 2, "timezone": "Europe/Berlin"})
    assert deployment.apply_pooler(pooler).state == RevisionState.APPLIED
    entry = (pgbouncer.config_dir / "pooldeck.ini").read_text().splitlines()[-1]
    assert re.search(r"min_pool_size='1' reserve_pool(_size)?='2' timezone='Europe/Berlin'$", entry)


def test_many_pools_go_live_at_once(make_pool: MakePool, pooler: Pooler, live: Live) -> None:
    for number in range(30):
        make_pool(f"pool{number}", size=1)
    assert deployment.apply_pooler(pooler).state == RevisionState.APPLIED
    assert len(live()) == 30


def test_the_admin_of_an_inbound_pool_may_stand_in_the_operators_part(
    make_pool: MakePool, pooler: Pooler, cluster: Cluster, pgbouncer: PgBouncerServer, log_in: LogIn
) -> None:
    userlist = pgbouncer.config_dir / "userlist.txt"
    userlist.write_text(userlist.read_text() + f'"{cluster.admin_user}" "{cluster.admin_password}"\n')
    make_pool(user="")
    assert deployment.apply_pooler(pooler).state == RevisionState.APPLIED
    make_pool("second")
    revision = deployment.apply_pooler(pooler)
    assert (revision.state, revision.reason) == (RevisionState.APPLIED, "")
    assert (log_in("orders"), log_in("second")) == ("app", "app")
