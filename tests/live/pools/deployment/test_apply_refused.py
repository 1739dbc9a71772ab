"""What an apply writes nothing for: folders, files and names of somebody else."""

from pathlib import Path

import pytest

from panel.quickstart.servers import PgBouncerServer
from pools import deployment
from pools.deployment import live_files
from pools.models import Cluster, Pool, Pooler, PoolState, RevisionState
from tests.live.pools.conftest import Live, LogIn, MakePool, state_of

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_broken_line_above_ours_in_userlist_is_refused_before_a_reload_blanks_all_passwords(
    orders: Pool, make_pool: MakePool, pooler: Pooler, pgbouncer: PgBouncerServer, log_in: LogIn
) -> None:
    userlist = pgbouncer.config_dir / "userlist.txt"
    userlist.write_text('"torn" "no end\n' + userlist.read_text())
    fresh = make_pool("fresh")
    deployment.apply_pooler(pooler)
    assert state_of(fresh)[0] == PoolState.ROLLED_BACK
    assert "userlist.txt is broken at line 1" in fresh.state_reason
    assert log_in("orders") == "app"


def test_a_symbolic_link_in_a_files_place_is_refused(
    make_pool: MakePool, pooler: Pooler, pgbouncer: PgBouncerServer, tmp_path: Path, live: Live
) -> None:
    victim = tmp_path / "victim"
    victim.write_text("precious")
    (pgbouncer.config_dir / "pooldeck.ini").symlink_to(victim)
    pool = make_pool()
    deployment.apply_pooler(pooler)
    assert state_of(pool)[0] == PoolState.ROLLED_BACK
    assert "pooldeck.ini is a symbolic link to" in pool.state_reason
    assert (victim.read_text(), live()) == ("precious", {})


def test_a_folder_open_to_everybody_is_refused(make_pool: MakePool, pooler: Pooler, pgbouncer: PgBouncerServer) -> None:
    pgbouncer.config_dir.chmod(0o777)
    pool = make_pool()
    deployment.apply_pooler(pooler)
    assert state_of(pool)[0] == PoolState.ROLLED_BACK
    assert "is writable by everybody: chmod o-w it" in pool.state_reason


def test_a_folder_that_is_not_the_poolers_is_refused(make_pool: MakePool, pooler: Pooler, tmp_path: Path) -> None:
    pooler.edit(None, config_dir=str(tmp_path))
    pool = make_pool()
    deployment.apply_pooler(pooler)
    assert state_of(pool)[0] == PoolState.ROLLED_BACK
    assert f"config_dir {tmp_path} must have pgbouncer.ini" in pool.state_reason
    assert list(tmp_path.iterdir()) == []


def test_a_name_that_the_operator_uses_is_refused(
    make_pool: MakePool, pooler: Pooler, pgbouncer: PgBouncerServer
) -> None:
    ini = pgbouncer.config_dir / "pgbouncer.ini"
    ini.write_text(ini.read_text().replace("[databases]", "[databases]\norders = host=127.0.0.1"))
    pool = make_pool()
    deployment.apply_pooler(pooler)
    reason = "pgbouncer.ini already has an entry orders: give the pool another name"
    assert state_of(pool) == (PoolState.ROLLED_BACK, reason)


def test_a_live_name_of_a_rolled_back_rename_is_not_given_twice(
    orders: Pool, make_pool: MakePool, pooler: Pooler, live: Live
) -> None:
    orders.edit(None, name="sales", database="nowhere", state=PoolState.PENDING)
    deployment.apply_pooler(pooler)
    taken = make_pool("orders", size=9)
    deployment.apply_pooler(pooler)
    reason = "orders is still the live name of another pool: change that one first"
    assert state_of(taken) == (PoolState.ROLLED_BACK, reason)
    assert live() == {"orders": ("app", "app", 3, "transaction", 3)}


def test_one_user_name_with_two_passwords_is_refused(
    orders: Pool, make_pool: MakePool, pooler: Pooler, cluster: Cluster, log_in: LogIn
) -> None:
    other = Cluster(name="other", host=cluster.host, port=cluster.port, admin_user="postgres")
    other.admin_password = cluster.admin_password
    other.save()
    role = other.role_passwords.model(cluster=other, role="app")
    role.password = "another-password"
    role.save()
    pool = make_pool("second", cluster=other)
    deployment.apply_pooler(pooler)
    assert state_of(pool)[0] == PoolState.ROLLED_BACK
    assert "already keeps another password for app" in pool.state_reason
    assert log_in("orders") == "app"


def test_files_changed_by_hand_keep_wishes_waiting_until_told_to_overwrite(
    orders: Pool, make_pool: MakePool, pooler: Pooler, pgbouncer: PgBouncerServer, live: Live
) -> None:
    ini = pgbouncer.config_dir / "pooldeck.ini"
    ini.write_text(ini.read_text().replace("pool_size=3", "pool_size=4"))
    fresh = make_pool("fresh")
    assert deployment.apply_pooler(pooler) is None
    assert state_of(fresh)[0] == PoolState.PENDING
    assert "(pooldeck.ini: it was edited by hand)" in fresh.state_reason
    assert live_files.live_files(pooler)["state"] == "drifted"
    assert deployment.apply_pooler(pooler, overwrite=True).state == RevisionState.APPLIED
    assert live()["orders"] == ("app", "app", 3, "transaction", 3)
    assert live_files.live_files(pooler)["state"] == "in sync"


def test_the_shown_files_hold_no_password(orders: Pool, pooler: Pooler) -> None:
    found = live_files.live_files(pooler)
    shown = "".join(file["content"] for file in found["files"])
    assert (found["state"], found["revision"]) == ("in sync", 1)
    assert '"app" "••••"' in shown
    assert "password=••••" in shown
    assert not any(secret in shown for secret in ("app-password", "console-password"))


def test_pools_of_another_panel_in_the_folder_are_not_swept_away(
    make_pool: MakePool, pooler: Pooler, pgbouncer: PgBouncerServer, live: Live
) -> None:
    deployment.apply_pooler(make_pool("theirs").pooler)
    Pool.objects.all().delete()
    pooler.revisions.all().delete()
    pool = make_pool("ours")
    deployment.apply_pooler(pooler)
    assert state_of(pool)[0] == PoolState.ROLLED_BACK
    assert "pools that this panel doesn't know: theirs" in pool.state_reason
    assert list(live()) == ["theirs"]
