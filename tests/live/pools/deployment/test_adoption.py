"""Changes made by hand on a real PgBouncer: blocked, shown, adopted or overwritten."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from django.test import Client
from django.urls import reverse

from core.accounts.models import Team
from panel.quickstart.servers import PgBouncerServer, PostgresServer
from pools import deployment
from pools.deployment import adoption, drift
from pools.deployment.adoption import CannotAdopt
from pools.models import Cluster, Pool, Pooler, PoolState, Revision, RevisionState
from tests.callers import bearer, person
from tests.live.pools.conftest import Live, LogIn, MakePool
from tests.pages import page_of
from tests.pools.records import a_cluster

pytestmark = pytest.mark.django_db(transaction=True)

ByHand = Callable[[str, str | re.Pattern[str], str], Path]
SECRET = re.compile(r'"app" "[^"]+"')  # the verifier in userlist.txt


@pytest.fixture
def orders(make_pool: MakePool, pooler: Pooler) -> Pool:
    """An applied pool beside settings and a limit of a user."""
    pool = make_pool()
    specs = {"settings": {"query_wait_timeout": 33}, "user_settings": {"app": {"pool_mode": "session"}}}
    pooler.edit(None, settings_state=PoolState.PENDING, **specs)
    assert deployment.apply_pooler(pooler).state == RevisionState.APPLIED
    pool.refresh_from_db()
    return pool


@pytest.fixture
def by_hand(pgbouncer: PgBouncerServer) -> ByHand:
    """Replaces a text in a file, as somebody with an editor does, and reloads."""

    def change(name: str, old: str | re.Pattern[str], new: str) -> Path:
        path = pgbouncer.config_dir / name
        text = path.read_text()
        changed = old.sub(new, text) if isinstance(old, re.Pattern) else text.replace(old, new)
        assert changed != text
        path.write_text(changed)
        with pgbouncer.connect() as console:
            console.execute(b"RELOAD")
        return path

    return change


def test_changed_sizes_settings_and_limits_are_adopted(
    orders: Pool, pooler: Pooler, live: Live, by_hand: ByHand, log_in: LogIn, worker: None
) -> None:
    by_hand("pooldeck.ini", "pool_size=3", "pool_size=5")
    by_hand("pooldeck.ini", "pool_mode='session'", "pool_mode='transaction'")
    added = "server_lifetime = 600\nserver_check_query ="
    by_hand("pooldeck_settings.ini", "query_wait_timeout = 33", f"query_wait_timeout = 44\n{added}")
    adoption.adopt(pooler)
    orders.refresh_from_db()
    pooler.refresh_from_db()
    assert (orders.size, orders.state, orders.state_reason) == (5, PoolState.APPLIED, "")
    assert pooler.settings == {"query_wait_timeout": 44, "server_lifetime": 600, "server_check_query": ""}
    assert (pooler.user_settings, pooler.settings_state) == ({"app": {"pool_mode": "transaction"}}, "applied")
    assert (live(), log_in("orders")) == ({"orders": ("app", "app", 5, "transaction", 5)}, "app")
    revision = Revision.objects.live_on(pooler)
    assert revision.cause == "manual edits adopted"
    assert "orders: size 3 → 5" in revision.summary


def test_new_and_vanished_entries_become_pools_and_removals(
    orders: Pool, make_pool: MakePool, pooler: Pooler, cluster: Cluster, live: Live, by_hand: ByHand, worker: None
) -> None:
    make_pool("sales")
    deployment.apply_pooler(pooler)
    entry = f"host={cluster.host} port={cluster.port} dbname=app user=app password='app-password' pool_size=2"
    by_hand("pooldeck.ini", "orders = ", "; orders = ")
    by_hand("pooldeck.ini", "[databases]\n", f"[databases]\nstock = {entry} pool_mode=session max_db_connections=2\n")
    adoption.adopt(pooler)
    assert live() == {"stock": ("app", "app", 2, "session", 2), "sales": ("app", "app", 3, "transaction", 3)}
    made = Pool.objects.get(name="stock")
    assert (made.cluster, made.database, made.user, made.size) == (cluster, "app", "app", 2)
    assert not Pool.objects.filter(pk=orders.pk).exists()


def test_an_entry_that_leads_to_a_cluster_of_another_team_is_not_adopted(
    orders: Pool, pooler: Pooler, by_hand: ByHand
) -> None:
    a_cluster(host="10.0.0.9", port=5432, team=Team.objects.create(name="Payments"))
    entry = "host=10.0.0.9 port=5432 dbname=app user=app pool_size=2 pool_mode=session max_db_connections=2"
    by_hand("pooldeck.ini", "[databases]\n", f"[databases]\nstock = {entry}\n")
    with pytest.raises(CannotAdopt, match=r"stock routes to 10\.0\.0\.9:5432, where no cluster is"):
        adoption.adopt(pooler)
    assert Pool.objects.get() == orders


def test_a_changed_password_is_adopted_where_it_works(
    orders: Pool,
    pooler: Pooler,
    postgres: PostgresServer,
    cluster: Cluster,
    by_hand: ByHand,
    log_in: LogIn,
    worker: None,
) -> None:
    with postgres.connect() as session:
        session.execute("ALTER ROLE app PASSWORD 'another-longer-word'")
    try:
        by_hand("pooldeck.ini", "app-password", "another-longer-word")
        by_hand("userlist.txt", SECRET, '"app" "another-longer-word"')
        adoption.adopt(pooler)
        orders.refresh_from_db()
        assert (orders.state, orders.state_reason) == (PoolState.APPLIED, "")
        assert cluster.password_of("app") == "another-longer-word"
        assert log_in("orders", "app", "another-longer-word") == "app"
    finally:
        with postgres.connect() as session:
            session.execute("ALTER ROLE app PASSWORD 'app-password'")


@pytest.mark.parametrize(
    ("name", "old", "new", "why"),
    [
        ("pooldeck.ini", "host='127.0.0.1'", "host='10.0.0.1'", "line 4: host of pool orders comes from its cluster"),
        ("pooldeck.ini", "pool_size=3", "pool_size=0", "0 is not a pool size"),
        ("pooldeck.ini", "pool_size=3", "pool_size=3 zork=x", "zork is not a setting"),
        (
            "pooldeck.ini",
            "orders = ",
            "stock = host=10.0.0.1 port=5432 pool_size=1 pool_mode=session max_db_connections=1\norders = ",
            "stock routes to 10.0.0.1:5432, where no cluster is",
        ),
        ("pooldeck.ini", "orders = ", "orders : ", "line 4: it is not an entry of name = key=value pairs"),
        ("pooldeck_settings.ini", "query_wait_timeout = 33", "query_wait_timeout = soon", "query_wait_timeout"),
        ("userlist.txt", '"app" ', '"eve" "secret-word"\n"app" ', "user eve is not the panel's"),
        ("pgbouncer.ini", "%include", "; include", "the line that includes pooldeck.ini"),
    ],
)
def test_what_can_not_be_said_is_named_and_nothing_is_changed(
    orders: Pool, pooler: Pooler, by_hand: ByHand, name: str, old: str, new: str, why: str
) -> None:
    by_hand(name, old, new)
    by_hand("pooldeck.ini", "pool_mode=transaction", "pool_mode=statement")
    with pytest.raises(CannotAdopt, match=why) as refused:
        adoption.adopt(pooler)
    assert "secret-word" not in str(refused.value)
    orders.refresh_from_db()
    pooler.refresh_from_db()
    assert (orders.mode, orders.state, pooler.settings) == ("transaction", "applied", {"query_wait_timeout": 33})
    assert Pool.objects.count() == 1


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("pooldeck.ini", "pool_size=3", "pool_size=9"),
        ("pooldeck_settings.ini", "query_wait_timeout = 33", "query_wait_timeout = 44"),
        ("userlist.txt", SECRET, '"app" "other"'),
        ("pgbouncer.ini", "%include", "; include"),
    ],
)
def test_nothing_is_applied_over_a_change_until_it_is_overwritten(
    orders: Pool, make_pool: MakePool, pooler: Pooler, live: Live, by_hand: ByHand, name: str, old: str, new: str
) -> None:
    path = by_hand(name, old, new)
    found = path.read_text()
    fresh = make_pool("fresh")
    assert deployment.apply_pooler(pooler) is None
    fresh.refresh_from_db()
    assert (fresh.state, path.read_text()) == (PoolState.PENDING, found)
    assert f"differ from what was applied ({name}: " in fresh.state_reason
    drift.check(pooler)
    pooler.refresh_from_db()
    assert name in [one["where"] for one in pooler.drift]
    revision = deployment.apply_pooler(pooler, overwrite=True)
    assert (revision.state, revision.cause) == (RevisionState.APPLIED, "manual edits overwritten")
    assert list(live()) == ["fresh", "orders"]
    drift.check(pooler)
    pooler.refresh_from_db()
    assert (pooler.drift, pooler.drift_seen_at) == ([], None)


def test_a_setting_changed_in_the_console_is_seen_and_put_right(
    orders: Pool, pooler: Pooler, pgbouncer: PgBouncerServer
) -> None:
    with pgbouncer.connect() as console:
        console.execute(b"SET query_wait_timeout = '55'")
    drift.check(pooler)
    pooler.refresh_from_db()
    assert pooler.drift == [{"where": "live", "what": "the pooler has query_wait_timeout 55, not 33"}]
    assert (pooler.settings_state, pooler.drift_seen_at is None) == (PoolState.DRIFTED, False)
    deployment.reset_to_pending(pooler)
    assert deployment.apply_pooler(pooler, overwrite=True).state == RevisionState.APPLIED
    drift.check(pooler)
    pooler.refresh_from_db()
    assert (pooler.drift, pooler.settings_state) == ([], PoolState.APPLIED)


def test_the_page_shows_what_was_changed_and_takes_the_choice(
    orders: Pool, pooler: Pooler, by_hand: ByHand, client: Client, worker: None
) -> None:
    client.force_login(person())
    url = reverse("pooler-drift", args=[pooler.pk])
    assert "No drift" in page_of(client.get(url))
    by_hand("pooldeck.ini", "pool_size=3", "pool_size=5")
    drift.check(pooler)
    text = page_of(client.get(url))
    assert "pool_size=5" in text
    assert "app-password" not in text
    assert "the pooler has pool orders with pool_size 5, not 3" in text
    assert client.post(url, {"drift": "adopt"}).status_code == 302
    orders.refresh_from_db()
    assert (orders.size, orders.state) == (5, PoolState.APPLIED)
    by_hand("pooldeck.ini", "pool_size=5", "pool_size=7")
    assert client.post(url, {"drift": "overwrite"}).status_code == 302
    assert "No drift" in page_of(client.get(url))


def test_the_page_says_why_nothing_is_adopted(orders: Pool, pooler: Pooler, by_hand: ByHand, client: Client) -> None:
    client.force_login(person())
    by_hand("pooldeck.ini", "host='127.0.0.1'", "host='10.0.0.1'")
    answer = client.post(reverse("pooler-drift", args=[pooler.pk]), {"drift": "adopt"})
    assert (answer.status_code, "nothing was changed" in page_of(answer)) == (400, True)


def test_the_api_adopts(orders: Pool, pooler: Pooler, by_hand: ByHand, worker: None) -> None:
    url = f"/api/v1/poolers/{pooler.pk}/apply/"
    by_hand("pooldeck.ini", "pool_size=3", "pool_size=5")
    assert bearer("apply").post(url, {"drift": "adopt"}).status_code == 202
    orders.refresh_from_db()
    assert orders.size == 5
    by_hand("pooldeck.ini", "host='127.0.0.1'", "host='10.0.0.1'")
    refused = bearer("apply").post(url, {"drift": "adopt"})
    assert (refused.status_code, list(refused.json())) == (400, ["drift"])
