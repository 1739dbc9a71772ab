"""Refusals whose cause passes: what was refused goes live at the next beat after it has, and is not repeated before."""

import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from django.core.cache import cache
from django.utils import timezone

from panel.quickstart.servers import PgBouncerServer, PostgresServer
from pools import deployment, tasks
from pools.deployment import circumstances, retries
from pools.models import Cluster, Pool, Pooler, PoolState
from tests.live.pools.conftest import LogIn, MakePool, state_of

pytestmark = pytest.mark.django_db(transaction=True)

Alter = Callable[..., None]


@pytest.fixture
def alter(postgres: PostgresServer) -> Iterator[Alter]:
    """Runs statements as somebody with psql would; the database and the role `late` are gone afterwards."""

    def run(*statements: str, database: str = "postgres") -> None:
        with postgres.connect(database) as session:
            for statement in statements:
                session.execute(statement)

    yield run
    Pool.objects.all().delete()
    run("DROP DATABASE IF EXISTS late WITH (FORCE)", "DROP ROLE IF EXISTS late")


@pytest.fixture
def late(make_pool: MakePool, cluster: Cluster, alter: Alter) -> Pool:
    """A pool of the role and the database `late`."""
    alter("CREATE ROLE late LOGIN PASSWORD 'known'", "CREATE DATABASE late OWNER late")
    cluster.keep_password("late", "known")
    return make_pool("late", database="late", user="late")


def refused(pooler: Pooler, pool: Pool) -> str:
    """Apply, and beat twice, which changes nothing; return why it was refused."""
    deployment.apply_pooler(pooler)
    number = pooler.revisions.count()
    assert (_beat(pooler), _beat(pooler)) == (number, number)
    state, reason = state_of(pool)
    assert state == PoolState.ROLLED_BACK, reason
    return reason


def _beat(pooler: Pooler) -> int:
    """Do what beat does every five seconds; the number of revisions."""
    tasks.apply_what_waits()
    return pooler.revisions.count()


SERVER_SAYS_NO = {
    "no role": (
        ["DROP DATABASE late", "DROP ROLE late"],
        ["CREATE ROLE late LOGIN PASSWORD 'known'", "CREATE DATABASE late OWNER late"],
    ),
    "no database": (["DROP DATABASE late"], ["CREATE DATABASE late OWNER late"]),
    "database shut": (["ALTER DATABASE late ALLOW_CONNECTIONS false"], ["ALTER DATABASE late ALLOW_CONNECTIONS true"]),
    "no LOGIN": (["ALTER ROLE late NOLOGIN"], ["ALTER ROLE late LOGIN"]),
    "no CONNECT": (["REVOKE CONNECT ON DATABASE late FROM PUBLIC, late"], ["GRANT CONNECT ON DATABASE late TO late"]),
    "limit": (["ALTER ROLE late CONNECTION LIMIT 0"], ["ALTER ROLE late CONNECTION LIMIT -1"]),
    "expired": (["ALTER ROLE late VALID UNTIL '2001-01-01'"], ["ALTER ROLE late VALID UNTIL 'infinity'"]),
    "password": (["ALTER ROLE late PASSWORD 'other'"], ["ALTER ROLE late PASSWORD 'known'"]),
}


@pytest.mark.parametrize("case", SERVER_SAYS_NO)
def test_what_a_server_has_against_a_login_is_waited_for_without_logins_that_fail(
    late: Pool, pooler: Pooler, alter: Alter, log_in: LogIn, case: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    changed, mended = SERVER_SAYS_NO[case]
    alter(*changed)
    # This simulates a time later than ten minutes after the refusal.
    monkeypatch.setattr(retries, "_may_log_in", lambda _: False)
    refused(pooler, late)
    alter(*mended)
    _beat(pooler)
    assert (state_of(late), log_in("late", "late", "known")) == ((PoolState.APPLIED, ""), "late")


def test_a_rule_of_the_clusters_pg_hba_conf_is_waited_for(
    late: Pool, pooler: Pooler, postgres: PostgresServer, alter: Alter, log_in: LogIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    rules = postgres.cluster_folder / "pg_hba.conf"
    before = rules.read_text()
    monkeypatch.setattr(retries, "_may_log_in", lambda _: False)
    try:
        rules.write_text(f"host all late all reject\n{before}")
        alter("SELECT pg_reload_conf(), pg_sleep(0.2)")
        assert "pg_hba.conf" in refused(pooler, late)
    finally:
        rules.write_text(before)
        alter("SELECT pg_reload_conf(), pg_sleep(0.2)")
    _beat(pooler)
    assert (state_of(late), log_in("late", "late", "known")) == ((PoolState.APPLIED, ""), "late")


def test_a_password_that_the_panel_may_not_compare_is_tried_by_logins_often_first_then_seldom(
    late: Pool, pooler: Pooler, cluster: Cluster, alter: Alter, monkeypatch: pytest.MonkeyPatch
) -> None:
    alter("CREATE ROLE plain LOGIN PASSWORD 'plain'", "ALTER ROLE late PASSWORD 'other'")
    cluster.admin_user = "plain"
    cluster.admin_password = "plain"
    cluster.save()
    tried: list[object] = []
    outcome = circumstances._outcome
    monkeypatch.setattr(circumstances, "_outcome", lambda login: tried.append(login) or outcome(login))
    try:
        assert "password of user 'late' was refused" in refused(pooler, late)
        assert len(tried) == 3
        pooler.revisions.update(finished_at=timezone.now() - retries.OFTEN_FOR)
        cache.clear()
        _beat(pooler), _beat(pooler), _beat(pooler)
        assert len(tried) == 4
        cache.clear()
        alter("ALTER ROLE late PASSWORD 'known'")
        _beat(pooler)
        assert state_of(late) == (PoolState.APPLIED, "")
    finally:
        alter("DROP ROLE plain")


def test_the_look_up_of_inbound_users_is_waited_for(
    late: Pool, lookup_role: str, pooler: Pooler, alter: Alter, make_pool: MakePool
) -> None:
    late.delete()
    inbound = make_pool("inbound", database="late", user="")
    alter("ALTER FUNCTION pooldeck.user_lookup(text) RENAME TO user_lookup_old", database="late")
    assert "no function" in refused(pooler, inbound)
    alter("ALTER FUNCTION pooldeck.user_lookup_old(text) RENAME TO user_lookup", database="late")
    _beat(pooler)
    assert state_of(inbound) == (PoolState.APPLIED, "")


BROKEN = "max_client_conn = many\n"


def test_a_broken_line_of_the_operators_is_waited_for(
    make_pool: MakePool, pooler: Pooler, pgbouncer: PgBouncerServer, log_in: LogIn
) -> None:
    make_pool()
    deployment.apply_pooler(pooler)
    ini = pgbouncer.config_dir / "pgbouncer.ini"
    ini.write_text(f"{ini.read_text()}\n{BROKEN}")
    fresh = make_pool("fresh")
    refused(pooler, fresh)
    ini.write_text(ini.read_text().replace(f"\n{BROKEN}", ""))
    _beat(pooler)
    assert (state_of(fresh), log_in("fresh")) == ((PoolState.APPLIED, ""), "app")


@pytest.mark.parametrize("is_relative", [False, True])
def test_a_file_that_the_operator_includes_from_elsewhere_is_waited_for(
    make_pool: MakePool, pooler: Pooler, pgbouncer: PgBouncerServer, log_in: LogIn, is_relative: bool
) -> None:
    elsewhere = pgbouncer.home / "elsewhere"
    elsewhere.mkdir(mode=0o755)
    first, second = elsewhere / "first", elsewhere / "second"  # no ending tells that they are of a configuration
    first.write_text(f"%include {second}\n")
    ini = pgbouncer.config_dir / "pgbouncer.ini"
    path = os.path.relpath(first, pgbouncer.working_folder) if is_relative else first
    ini.write_text(f"{ini.read_text()}\n%include {path}\n")
    orders = make_pool()
    refused(pooler, orders)  # the second file is missing
    second.write_text(BROKEN)
    deployment.reset_to_pending(pooler)
    refused(pooler, orders)
    second.write_text("max_client_conn = 300\n")
    for path in (elsewhere, first, second):
        path.chmod(0o755)
        shutil.chown(path, pgbouncer.config_dir.stat().st_uid)
    _beat(pooler)
    assert (state_of(orders), log_in("orders")) == ((PoolState.APPLIED, ""), "app")


@contextmanager
def small_disk(folder: Path) -> Iterator[None]:
    """A file system of half a megabyte with the folder's files in its place."""
    kept, owner = {path.name: path.read_bytes() for path in folder.iterdir()}, folder.stat()
    size = f"size=512k,mode=0700,uid={owner.st_uid},gid={owner.st_gid}"
    made = subprocess.run(["mount", "-t", "tmpfs", "-o", size, "none", folder], capture_output=True, check=False)
    if made.returncode:
        pytest.skip("no file system can be mounted here")
    try:
        for name, content in kept.items():
            (folder / name).write_bytes(content)
            (folder / name).chmod(0o600)
            os.chown(folder / name, owner.st_uid, owner.st_gid)
        yield
    finally:
        subprocess.run(["umount", folder], check=True)


def _fill(file: Path) -> None:
    with file.open("wb", buffering=0) as opened, suppress(OSError):
        while opened.write(bytes(4096)):
            pass


def test_a_full_disk_is_waited_for(
    make_pool: MakePool, pooler: Pooler, pgbouncer: PgBouncerServer, log_in: LogIn
) -> None:
    folder = pgbouncer.config_dir
    with small_disk(folder):
        make_pool()
        deployment.apply_pooler(pooler)
        _fill(folder / "full")
        fresh = make_pool("fresh")
        assert "its disk has 0 kB free" in refused(pooler, fresh)
        (folder / "full").unlink()
        _beat(pooler)
        assert (state_of(fresh), log_in("fresh")) == ((PoolState.APPLIED, ""), "app")
