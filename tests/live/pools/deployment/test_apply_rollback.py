"""What an apply does when something is wrong: the old configuration stays live, and the reason is said."""

import signal
from pathlib import Path

import psycopg
import pytest
from django.utils import timezone

from core.lib.private_text import for_admins
from panel.quickstart.servers import PgBouncerServer, PostgresServer
from pools import deployment
from pools.deployment import attempt
from pools.hosts import atomic_write
from pools.models import Cluster, Pool, Pooler, PoolerState, PoolState, RevisionState
from pools.poolers.faults import Rejected
from pools.poolers.pgbouncer import console, preflight, verify
from pools.poolers.pgbouncer.config_builder import ConfigBuilder
from tests.live.pools.conftest import ConfigBytes, Live, LogIn, MakePool, state_of

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_missing_database_is_found_before_anything_is_written(
    orders: Pool, make_pool: MakePool, pooler: Pooler, config_bytes: ConfigBytes, log_in: LogIn
) -> None:
    before, bad = config_bytes(), make_pool("bad", database="nowhere")
    revision = deployment.apply_pooler(pooler)
    state, reason = state_of(bad)
    assert (state, revision.state) == (PoolState.ROLLED_BACK, RevisionState.ROLLED_BACK)
    assert reason.startswith("pool bad was not tried: ")
    assert "nowhere" in reason
    assert config_bytes() == before
    assert (state_of(orders), log_in("orders")) == ((PoolState.APPLIED, ""), "app")


def test_a_wrong_server_password_is_found_before_anything_is_written(
    make_pool: MakePool, pooler: Pooler, cluster: Cluster, config_bytes: ConfigBytes
) -> None:
    known = cluster.role_passwords.get()
    known.password = "not-the-password"
    known.save()
    before, bad = config_bytes(), make_pool()
    deployment.apply_pooler(pooler)
    state, reason = state_of(bad)
    assert (state, config_bytes()) == (PoolState.ROLLED_BACK, before)
    assert "not-the-password" not in reason


def test_a_bad_pool_does_not_keep_a_good_one_from_going_live(
    make_pool: MakePool, pooler: Pooler, live: Live, log_in: LogIn
) -> None:
    bad, good = make_pool("bad", database="nowhere"), make_pool("good")
    revision = deployment.apply_pooler(pooler)
    assert (state_of(bad)[0], state_of(good)) == (PoolState.ROLLED_BACK, (PoolState.APPLIED, ""))
    assert (revision.state, list(live()), log_in("good")) == (RevisionState.APPLIED, ["good"], "app")


def test_many_bad_pools_are_told_apart_one_by_one(make_pool: MakePool, pooler: Pooler, live: Live) -> None:
    bad, good = [make_pool(f"bad{number}", database=f"nowhere{number}") for number in range(8)], make_pool("good")
    deployment.apply_pooler(pooler)
    assert [f"nowhere{number}" in state_of(pool)[1] for number, pool in enumerate(bad)] == [True] * 8
    assert (state_of(good), list(live())) == ((PoolState.APPLIED, ""), ["good"])


def test_a_cluster_that_is_down_is_tried_once_for_all_its_pools(
    orders: Pool, make_pool: MakePool, pooler: Pooler
) -> None:
    down = Cluster(name="down", host="127.0.0.1", port=1, admin_user="postgres")
    down.admin_password = "x"
    down.save()
    made = [make_pool(f"pool{number}", user="", cluster=down, database=f"db{number}") for number in range(3)]
    revision = deployment.apply_pooler(pooler)
    assert [state_of(pool) for pool in made] == [(PoolState.PENDING, for_admins(revision.reason))] * 3
    assert for_admins(revision.reason).startswith(
        "cluster down does not answer: connection refused: nothing listens at 127.0.0.1:"
    )
    assert pooler.revisions.count() == 2  # One of them is for `orders`.


def test_a_rolled_back_edit_keeps_what_is_live_through_later_applies(
    orders: Pool, make_pool: MakePool, pooler: Pooler, live: Live
) -> None:
    orders.edit(None, database="nowhere", size=9, state=PoolState.PENDING)
    deployment.apply_pooler(pooler)
    make_pool("later")
    deployment.apply_pooler(pooler)
    assert state_of(orders)[0] == PoolState.ROLLED_BACK
    assert live() == {"orders": ("app", "app", 3, "transaction", 3), "later": ("app", "app", 3, "transaction", 3)}


def test_a_rolled_back_pool_goes_live_once_it_is_right_and_tried_again(
    make_pool: MakePool, pooler: Pooler, postgres: PostgresServer
) -> None:
    pool = make_pool(database="later")
    deployment.apply_pooler(pooler)
    with postgres.connect() as session:
        session.execute("CREATE DATABASE later OWNER app")
    deployment.reset_to_pending(pooler)
    assert deployment.apply_pooler(pooler).state == RevisionState.APPLIED
    assert state_of(pool) == (PoolState.APPLIED, "")


BROKEN = ["zork = 1", "pool_mode = zork", "pool_mode", "%include /nowhere.ini"]


def break_pgbouncer_ini(server: PgBouncerServer, line: str) -> str:
    """Put a broken line at the top, which a RELOAD would follow into compile-time defaults; the sound text."""
    ini = server.config_dir / "pgbouncer.ini"
    sound = ini.read_text()
    ini.write_text(f"[pgbouncer]\n{line}\n{sound}")
    return sound


@pytest.mark.parametrize("line", BROKEN)
def test_a_broken_pgbouncer_ini_is_found_before_a_reload_follows_it(
    line: str, orders: Pool, make_pool: MakePool, pooler: Pooler, pgbouncer: PgBouncerServer, live: Live, log_in: LogIn
) -> None:
    break_pgbouncer_ini(pgbouncer, line)
    fresh = make_pool("fresh")
    revision = deployment.apply_pooler(pooler)
    assert state_of(fresh) == (PoolState.ROLLED_BACK, revision.reason)
    assert revision.reason.startswith("PgBouncer would not start on these files, so they were not written: ERROR ")
    assert (list(live()), log_in("orders"), state_of(orders)) == (["orders"], "app", (PoolState.APPLIED, ""))


def test_no_password_leaves_the_folder_for_a_preflight(
    make_pool: MakePool, pooler: Pooler, monkeypatch: pytest.MonkeyPatch
) -> None:
    names, seen, run = set(), [], preflight._run

    def look_then_run(argv: list[str], folder: Path, *values: object) -> str:
        names.update(path.name for path in folder.iterdir())
        seen.extend(path.read_text() for path in folder.iterdir())
        return run(argv, folder, *values)

    monkeypatch.setattr(preflight, "_run", look_then_run)
    make_pool()
    assert deployment.apply_pooler(pooler).state == RevisionState.APPLIED
    assert names == {"pgbouncer.ini", "pooldeck.ini", "pooldeck_access.conf", "pooldeck_settings.ini", "userlist.txt"}
    assert not any(secret in text for text in seen for secret in ("app-password", "console-password"))


@pytest.mark.parametrize("line", BROKEN)
def test_without_a_program_for_the_preflight_the_failed_reload_is_seen_and_said(
    line: str,
    orders: Pool,
    make_pool: MakePool,
    pooler: Pooler,
    pgbouncer: PgBouncerServer,
    monkeypatch: pytest.MonkeyPatch,
    log_in: LogIn,
) -> None:
    monkeypatch.setattr(preflight, "find", lambda *_: None)
    sound = break_pgbouncer_ini(pgbouncer, line)
    fresh = make_pool("fresh")
    deployment.apply_pooler(pooler)
    state, reason = state_of(fresh)
    assert (state, state_of(orders)) == (PoolState.FAILED, (PoolState.APPLIED, ""))
    assert "the old configuration could not be verified" in reason
    (pgbouncer.config_dir / "pgbouncer.ini").write_text(sound)
    pgbouncer.kill(signal.SIGHUP)
    pgbouncer.wait_until_ready()
    assert log_in("orders") == "app"
    deployment.reset_to_pending(pooler)
    deployment.apply_pooler(pooler)
    assert (state_of(fresh), log_in("fresh")) == ((PoolState.APPLIED, ""), "app")


def test_a_login_that_the_pooler_refuses_rolls_back(
    orders: Pool, make_pool: MakePool, pooler: Pooler, pgbouncer: PgBouncerServer, live: Live, log_in: LogIn
) -> None:
    hba = pgbouncer.config_dir / "hba.conf"
    hba.write_text("host pgbouncer,orders all 127.0.0.1/32 scram-sha-256\n")
    ini = pgbouncer.config_dir / "pgbouncer.ini"
    ini.write_text(ini.read_text().replace("auth_type = scram-sha-256", f"auth_type = hba\nauth_hba_file = {hba}"))
    hba.chmod(0o644)
    fresh = make_pool("fresh")
    revision = deployment.apply_pooler(pooler)
    assert state_of(fresh)[0] == PoolState.ROLLED_BACK
    assert "a login through pool fresh as app failed" in revision.reason
    assert (list(live()), log_in("orders")) == (["orders"], "app")


def test_a_lockout_of_the_console_is_undone_over_the_session_at_hand(
    orders: Pool, make_pool: MakePool, pooler: Pooler, log_in: LogIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    written = atomic_write.replace

    def torn(folder: str, contents: dict[str, bytes | None], of_new: atomic_write.Access | None = None) -> None:
        written(folder, contents, of_new)
        if b"fresh" in (contents["pooldeck.ini"] or b""):
            (Path(folder) / "userlist.txt").write_bytes(b'"torn')

    monkeypatch.setattr(atomic_write, "replace", torn)
    fresh = make_pool("fresh")
    revision = deployment.apply_pooler(pooler)
    assert (state_of(fresh)[0], revision.state) == (PoolState.ROLLED_BACK, RevisionState.ROLLED_BACK)
    assert "the console refused its admin" in revision.reason
    assert console.show(pooler, "version")
    assert log_in("orders") == "app"


def test_a_removal_that_fails_is_no_longer_wished(
    orders: Pool, pooler: Pooler, monkeypatch: pytest.MonkeyPatch, live: Live
) -> None:
    Pool.objects.filter(pk=orders.pk).update(removal_requested_at=timezone.now())
    monkeypatch.setattr(console, "reload", lambda connection: None)  # a pooler that never reads its files
    deployment.apply_pooler(pooler)
    assert state_of(orders) == (PoolState.ROLLED_BACK, "after RELOAD the pooler still has pool orders")
    assert (orders.removal_requested_at, list(live())) == (None, ["orders"])


def test_a_pool_can_shrink_while_its_cluster_takes_no_more_logins(
    make_pool: MakePool, pooler: Pooler, postgres: PostgresServer, live: Live
) -> None:
    pool = make_pool(size=3)
    deployment.apply_pooler(pooler)  # keeps one connection
    with postgres.connect() as session:
        session.execute("ALTER ROLE app CONNECTION LIMIT 1")
    try:
        pool.edit(None, size=2, state=PoolState.PENDING)
        revision = deployment.apply_pooler(pooler)
    finally:
        with postgres.connect() as session:
            session.execute("ALTER ROLE app CONNECTION LIMIT -1")
    assert (state_of(pool)[0], live()["orders"][2]) == (PoolState.APPLIED, 2), revision.reason


def test_a_changed_admin_password_is_tried_before_an_inbound_pool_depends_on_it(
    make_pool: MakePool, pooler: Pooler, cluster: Cluster, config_bytes: ConfigBytes
) -> None:
    pool = make_pool(user="")
    deployment.apply_pooler(pooler)
    before = config_bytes()
    cluster.admin_password = "not-the-password"
    cluster.save()
    Pool.objects.update(state=PoolState.PENDING)
    deployment.apply_pooler(pooler)
    assert (state_of(pool)[0], config_bytes()) == (PoolState.ROLLED_BACK, before)


def test_pools_wait_for_a_pooler_that_is_down_and_are_applied_when_it_is_back(
    make_pool: MakePool, pooler: Pooler, pgbouncer: PgBouncerServer, log_in: LogIn
) -> None:
    pgbouncer.stop()
    pool = make_pool()
    assert deployment.apply_pooler(pooler) is None
    state, reason = state_of(pool)
    assert state == PoolState.PENDING
    assert for_admins(reason).startswith("pooler live-pgbouncer can't be reached: ")
    pooler.refresh_from_db()
    assert (pooler.state, for_admins(pooler.error), pooler.apply_token) == (
        PoolerState.UNREACHABLE,
        reason,
        None,
    )
    assert deployment.waiting_poolers() == []  # asked a moment ago
    pgbouncer.start()
    Pooler.objects.update(checked_at=timezone.now() - attempt.RETRY_UNREACHABLE_AFTER)
    assert deployment.waiting_poolers() == [pooler]
    deployment.apply_pooler(pooler)
    assert (state_of(pool), log_in("orders")) == ((PoolState.APPLIED, ""), "app")


def test_a_pooler_that_dies_midway_finds_the_old_files_and_its_pools_wait(
    orders: Pool,
    make_pool: MakePool,
    pooler: Pooler,
    pgbouncer: PgBouncerServer,
    config_bytes: ConfigBytes,
    monkeypatch: pytest.MonkeyPatch,
    log_in: LogIn,
) -> None:
    before, reload = config_bytes(), console.reload

    def die_then_reload(connection: console.Console) -> None:
        pgbouncer.stop()
        reload(connection)

    fresh = make_pool("fresh")
    with monkeypatch.context() as patch:
        patch.setattr(console, "reload", die_then_reload)
        assert deployment.apply_pooler(pooler) is None
    assert (state_of(fresh)[0], config_bytes()) == (PoolState.PENDING, before)
    assert pooler.revisions.first().state == RevisionState.FAILED
    pgbouncer.start()
    deployment.apply_pooler(pooler)
    assert (state_of(fresh), log_in("fresh"), log_in("orders")) == ((PoolState.APPLIED, ""), "app", "app")


@pytest.mark.parametrize(("owner", "name"), [(ConfigBuilder, "_moved"), (preflight, "start"), (verify, "log_in")])
def test_a_fault_of_the_panels_own_is_rolled_back_and_not_tried_for_ever(
    owner: object,
    name: str,
    orders: Pool,
    make_pool: MakePool,
    pooler: Pooler,
    monkeypatch: pytest.MonkeyPatch,
    live: Live,
    log_in: LogIn,
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError("app-password")

    monkeypatch.setattr(owner, name, broken)
    fresh = make_pool("fresh")
    deployment.apply_pooler(pooler)
    reason = "the apply failed with ZeroDivisionError: see the worker's log"
    assert state_of(fresh) == (PoolState.ROLLED_BACK, reason)
    assert (list(live()), log_in("orders")) == (["orders"], "app")
    assert deployment.waiting_poolers() == []


def test_nobody_can_still_log_in_to_a_rolled_back_new_pool(
    make_pool: MakePool, pooler: Pooler, monkeypatch: pytest.MonkeyPatch, log_in: LogIn
) -> None:
    monkeypatch.setattr(verify, "read_back", refuse_entries)
    make_pool()
    deployment.apply_pooler(pooler)
    with pytest.raises(psycopg.OperationalError):
        log_in("orders")


def refuse_entries(rows: object, entries: list[object], gone: object) -> None:
    if entries:
        raise Rejected("not as wanted")
