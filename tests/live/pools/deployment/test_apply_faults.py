"""A full disk, another owner, a torn file, two workers: what is shown is what is live."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.db import connection

from panel.quickstart import account
from panel.quickstart.servers import PgBouncerServer, free_port
from pools import deployment, tasks
from pools.models import Pool, Pooler, PoolState, RevisionState
from tests.live.pools.conftest import Live, LogIn, MakePool, state_of

pytestmark = pytest.mark.django_db(transaction=True)


class TinyPgBouncer(PgBouncerServer):
    """One whose configuration lies on a file system of 96 kB."""

    def prepare(self) -> None:
        """Mount before anything is written."""
        account.make_folder(self.home)
        account.make_folder(self.config_dir)
        if not self.config_dir.is_mount():
            owner = self.config_dir.stat()
            options = f"size=96k,mode=0700,uid={owner.st_uid},gid={owner.st_gid}"
            subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", self.config_dir], check=True)
        super().prepare()


@pytest.fixture
def tiny(pooler: Pooler, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Puts `pooler` onto a PgBouncer whose disk is tiny; its folder."""
    if os.geteuid() != 0:
        pytest.skip("this account can't mount")
    server = TinyPgBouncer(tmp_path_factory.mktemp("tiny"), free_port(), pooler.admin_user, pooler.admin_password)
    password = pooler.admin_password
    pooler.port, pooler.config_dir = server.port, str(server.config_dir)
    pooler.admin_password = password
    pooler.save()
    try:
        with server:
            yield server.config_dir
    finally:
        subprocess.run(["umount", "--lazy", server.config_dir], check=False)


def test_a_full_disk_leaves_the_old_configuration_live(
    make_pool: MakePool, pooler: Pooler, tiny: Path, log_in: LogIn
) -> None:
    orders = make_pool()
    assert deployment.apply_pooler(pooler).state == RevisionState.APPLIED
    before = {path.name: path.read_bytes() for path in tiny.iterdir()}
    filler = tiny / "filler"
    with pytest.raises(OSError, match="No space left"):
        filler.write_bytes(b"x" * 200_000)
    full = make_pool("full", size=9)
    revision = deployment.apply_pooler(pooler)
    assert (revision.state, state_of(full)[0]) == (RevisionState.ROLLED_BACK, PoolState.ROLLED_BACK)
    assert "kB for its new files, and its disk has 0 kB free" in revision.reason
    tasks.apply_what_waits()
    assert pooler.revisions.count() == 2  # the same refusal is not repeated while the disk is full
    filler.unlink()
    assert {path.name: path.read_bytes() for path in tiny.iterdir()} == before
    assert (state_of(orders), log_in("orders")) == ((PoolState.APPLIED, ""), "app")
    tasks.apply_what_waits()  # Beat does this every 5 s.
    assert (state_of(full), log_in("full")) == ((PoolState.APPLIED, ""), "app")


def test_a_file_of_another_owner_is_replaced_by_one_of_the_folders(
    make_pool: MakePool, pooler: Pooler, pgbouncer: PgBouncerServer, log_in: LogIn
) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can give files away")
    make_pool()
    deployment.apply_pooler(pooler)
    for name in ("pooldeck.ini", "userlist.txt"):
        os.chown(pgbouncer.config_dir / name, 0, 0)  # PgBouncer could not read it at its next reload
    make_pool("fresh")
    assert deployment.apply_pooler(pooler).state == RevisionState.APPLIED
    owner = pgbouncer.config_dir.stat().st_uid
    assert (pgbouncer.config_dir / "pooldeck.ini").stat().st_uid == owner
    assert log_in("fresh") == "app"


def test_a_folder_of_another_owner_is_refused_and_nothing_is_lost(
    make_pool: MakePool, pooler: Pooler, pgbouncer: PgBouncerServer, live: Live, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_pool()
    deployment.apply_pooler(pooler)
    before, fresh = live(), make_pool("fresh")
    monkeypatch.setattr(os, "geteuid", lambda: pgbouncer.config_dir.stat().st_uid + 1)
    revision = deployment.apply_pooler(pooler)
    monkeypatch.undo()
    assert (revision.state, state_of(fresh)[0], live()) == (RevisionState.ROLLED_BACK, PoolState.ROLLED_BACK, before)
    assert "give it to uid" in revision.reason


def test_a_userlist_torn_in_the_panels_part_is_drift_and_put_right_by_overwriting(
    make_pool: MakePool, pooler: Pooler, pgbouncer: PgBouncerServer, log_in: LogIn
) -> None:
    make_pool()
    deployment.apply_pooler(pooler)
    userlist = pgbouncer.config_dir / "userlist.txt"
    userlist.write_text(userlist.read_text()[:-12])
    fresh = make_pool("fresh")
    assert deployment.apply_pooler(pooler) is None
    assert "userlist.txt: it was edited by hand" in state_of(fresh)[1]
    assert deployment.apply_pooler(pooler, overwrite=True).state == RevisionState.APPLIED
    assert (log_in("orders"), log_in("fresh")) == ("app", "app")


def test_two_processes_at_once_make_one_revision(make_pool: MakePool, pooler: Pooler, live: Live) -> None:
    for number in range(3):
        make_pool(f"pool{number}")
    connection.close()  # each process opens its own
    children = [_apply_elsewhere(pooler) for _ in range(3)]
    assert [os.waitpid(child, 0)[1] for child in children] == [0, 0, 0]
    assert (pooler.revisions.count(), len(live())) == (1, 3)
    assert set(Pool.objects.values_list("state", flat=True)) == {PoolState.APPLIED}


def _apply_elsewhere(pooler: Pooler) -> int:
    child = os.fork()
    if child == 0:
        status = 1
        try:
            deployment.apply_pooler(pooler)
            status = 0
        finally:
            os._exit(status)
    return child
