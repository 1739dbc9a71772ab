"""Changes made by hand below the panel's mark on a real Pgpool-II: adopted where their meaning is clear, else named."""

from collections.abc import Callable

import psycopg
import pytest

from panel.quickstart import account
from panel.quickstart.pgpool_server import PgpoolServer
from pools import deployment
from pools.deployment import adoption, drift
from pools.deployment.adoption import CannotAdopt
from pools.inventory import pooler_settings
from pools.models import Cluster, Pool, Pooler, PoolState, Revision, RevisionState
from pools.poolers.pgpool import pcp
from tests.live.conftest import CHILDREN
from tests.live.pools.deployment.test_pgpool_apply import live, log_in, spec

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("without_trial")]

ByHand = Callable[[str, str, str], None]
REPORTS = "host postgres app 127.0.0.1/32 scram-sha-256"


@pytest.fixture
def pool(cluster: Cluster, pgpool_pooler: Pooler) -> Pool:
    """An applied pool of database `app` and user `app`, beside a setting."""
    values = {"name": "app", "database": "app", "user": "app", "mode": "session", "size": CHILDREN}
    made = Pool.objects.create(pooler=pgpool_pooler, cluster=cluster, **values)
    spec(pgpool_pooler, client_idle_limit=300)
    revision = deployment.apply_pooler(pgpool_pooler)
    assert (revision.state, revision.reason) == (RevisionState.APPLIED, "")
    made.refresh_from_db()
    return made


@pytest.fixture
def by_hand(own_pgpool: PgpoolServer, pgpool_pooler: Pooler) -> ByHand:
    """Replaces a text below the mark, as somebody with an editor does, and reloads."""

    def change(name: str, old: str, new: str) -> None:
        path = own_pgpool.config_dir / name
        above, mark, below = path.read_text().partition("# ---- Pooldeck")
        assert old in below
        account.write_private(path, above + mark + below.replace(old, new, 1))
        pcp.reload_config(pgpool_pooler)

    return change


def drifted(pooler: Pooler) -> list[str]:
    drift.check(pooler)
    pooler.refresh_from_db()
    return [one["where"] for one in pooler.drift]


def test_changed_settings_become_the_panels(
    pool: Pool, pgpool_pooler: Pooler, by_hand: ByHand, worker: None, own_pgpool: PgpoolServer
) -> None:
    by_hand("pgpool.conf", "client_idle_limit = 300", "client_idle_limit = 7min\nlog_connections = on")
    by_hand("pgpool.conf", "backend_weight0 = 1", "backend_weight0 = 3")
    assert "pgpool.conf" in drifted(pgpool_pooler)
    adoption.adopt(pgpool_pooler)
    pgpool_pooler.refresh_from_db()
    assert pgpool_pooler.settings == {"client_idle_limit": 420, "log_connections": 1, "backend_weight0": 3}
    assert (pgpool_pooler.settings_state, pgpool_pooler.settings_reason) == (PoolState.APPLIED, "")
    found = live(pgpool_pooler)
    assert (found["client_idle_limit"], found["log_connections"]) == ("7min", "on")
    assert (drifted(pgpool_pooler), log_in(own_pgpool)) == ([], "app")
    assert Revision.objects.live_on(pgpool_pooler).cause == "manual edits adopted"


def test_a_setting_taken_out_is_taken_away(pool: Pool, pgpool_pooler: Pooler, by_hand: ByHand, worker: None) -> None:
    by_hand("pgpool.conf", "client_idle_limit = 300\n", "")
    adoption.adopt(pgpool_pooler)
    pgpool_pooler.refresh_from_db()
    assert (pgpool_pooler.settings, pgpool_pooler.settings_state) == ({}, PoolState.APPLIED)
    assert live(pgpool_pooler)["client_idle_limit"] == "0"


def test_rules_added_by_hand_become_a_file_that_was_given(
    pool: Pool, pgpool_pooler: Pooler, by_hand: ByHand, worker: None, own_pgpool: PgpoolServer
) -> None:
    with pytest.raises(psycopg.OperationalError):
        log_in(own_pgpool, database="postgres")
    last = 'host "app" "app" ::/0 scram-sha-256\n'
    by_hand("pool_hba.conf", last, f"{last}{REPORTS}\n")
    adoption.adopt(pgpool_pooler)
    pgpool_pooler.refresh_from_db()
    assert (pgpool_pooler.settings_state, pgpool_pooler.settings) == (PoolState.APPLIED, {"client_idle_limit": 300})
    assert pgpool_pooler.given_files.get(setting="pool_hba").content == f"{REPORTS}\n"
    assert (drifted(pgpool_pooler), log_in(own_pgpool, database="postgres"), log_in(own_pgpool)) == ([], "app", "app")
    pool.edit(None, user="", state=PoolState.PENDING)  # a change of a pool alone keeps them
    revision = deployment.apply_pooler(pgpool_pooler)
    assert (revision.state, revision.reason) == (RevisionState.APPLIED, "")
    assert (own_pgpool.config_dir / "pool_hba.conf").read_text().endswith(f"{REPORTS}\n")
    pooler_settings.remove_file(pgpool_pooler, "pool_hba")
    revision = deployment.apply_pooler(Pooler.objects.get())
    assert (revision.state, revision.reason) == (RevisionState.APPLIED, "")
    assert REPORTS not in (own_pgpool.config_dir / "pool_hba.conf").read_text()


def test_a_pool_without_any_rule_left_is_asked_to_leave(
    pool: Pool, pgpool_pooler: Pooler, by_hand: ByHand, worker: None, own_pgpool: PgpoolServer
) -> None:
    places = ("local", 'host "app" "app" 0.0.0.0/0', 'host "app" "app" ::/0')
    by_hand("pool_hba.conf", 'local "app" "app" scram-sha-256\n', "")
    for place in places[1:]:
        by_hand("pool_hba.conf", f"{place} scram-sha-256\n", "")
    adoption.adopt(pgpool_pooler)
    assert not Pool.objects.exists()
    with pytest.raises(psycopg.OperationalError):
        log_in(own_pgpool)


@pytest.mark.parametrize(
    ("name", "old", "new", "why"),
    [
        ("pgpool.conf", "backend_port0 = ", "backend_port0 = 1", "backend_port0: the panel writes it from the cluster"),
        ("pgpool.conf", "enable_pool_hba = on", "enable_pool_hba = off", "enable_pool_hba: the panel writes it"),
        ("pgpool.conf", "client_idle_limit = 300", "client_idle_limit = soon", "not a whole number"),
        ("pgpool.conf", "client_idle_limit = 300", "port = 7000", "port: it depends on the host of the program"),
        ("pgpool.conf", "client_idle_limit = 300", "zork = 1", "zork: the panel does not know this setting"),
        ("pgpool.conf", "client_idle_limit = 300", "= 1", "it is not a line of name = value"),
        ("pool_hba.conf", '"app" "app" ::/0', '"app" "eve" ::/0', "the rules of database app were changed"),
        ("pool_hba.conf", "local all", f"{REPORTS}\nlocal all", "line [0-9]+: the panel's rules come before"),
        (
            "pool_hba.conf",
            "::/0 scram-sha-256\n# pool",
            "::/0 trust\n# pool",
            "the rules that admit the panel itself were changed",
        ),
        ("pool_passwd", "app:TEXT", "eve:TEXTx-secret-word\napp:TEXT", "user eve is not the panel's"),
        ("pool_passwd", "app:TEXT", "app:AES", "the password of app can't be read back"),
        ("pcp.conf", "postgres:", "postgres:0", "it has the panel's own login at the PCP port"),
    ],
)
def test_what_can_not_be_said_is_named_and_nothing_is_changed(
    pool: Pool, pgpool_pooler: Pooler, own_pgpool: PgpoolServer, name: str, old: str, new: str, why: str
) -> None:
    path = own_pgpool.config_dir / name
    above, mark, below = path.read_text().partition("# ---- Pooldeck")
    assert old in below
    account.write_private(path, above + mark + below.replace(old, new, 1))
    with pytest.raises(CannotAdopt, match=why) as refused:
        adoption.adopt(pgpool_pooler)
    assert "secret-word" not in str(refused.value)
    pgpool_pooler.refresh_from_db()
    assert (pgpool_pooler.settings, pgpool_pooler.settings_state) == ({"client_idle_limit": 300}, PoolState.APPLIED)
    assert not pgpool_pooler.given_files.exists()
