"""A host whose shell and tools are busybox's alone; Debian's has no flock, which Alpine's has."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from panel.quickstart import account
from panel.quickstart.servers import binary, free_port
from pools.hosts import base, ssh
from pools.hosts.base import HostConnection
from pools.inventory import hosts
from pools.models import Host, HostState
from tests.live.pools.hosts.conftest import reachable
from tests.live.pools.hosts.test_work import (
    connection,
    folder,
    test_a_full_disk_changes_nothing,
    test_a_log_is_followed_and_nothing_stays_behind,
    test_a_log_is_read_on_from_a_position_over_rotations,
    test_a_running_pgbouncer_is_found,
    test_files_are_replaced_and_removed_with_the_folders_owner,
    test_links_strangers_and_open_folders_are_refused,
    test_other_files_and_folders_are_read,
)

__all__ = [
    "connection",
    "folder",
    "test_a_full_disk_changes_nothing",
    "test_a_log_is_followed_and_nothing_stays_behind",
    "test_a_log_is_read_on_from_a_position_over_rotations",
    "test_a_running_pgbouncer_is_found",
    "test_files_are_replaced_and_removed_with_the_folders_owner",
    "test_links_strangers_and_open_folders_are_refused",
    "test_other_files_and_folders_are_read",
]
BUSYBOX = shutil.which("busybox") or ""
pytestmark = [
    pytest.mark.django_db,
    pytest.mark.skipif(not BUSYBOX, reason="busybox-static is not installed"),
]


@pytest.fixture(autouse=True)
def programs(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The only programs that commands there find: busybox's, flock and PgBouncer."""
    with reachable() as home:
        made = home / "bin"
        account.make_folder(made)
        subprocess.run([BUSYBOX, "--install", "-s", made], check=True)
        for name in ("flock", "pgbouncer"):
            (made / name).symlink_to(binary(name))
        monkeypatch.setattr(ssh, "PATH", str(made))
        monkeypatch.setattr(base, "PATH", str(made))
        yield made


def test_the_shell_there_is_busyboxs(connection: HostConnection) -> None:
    assert connection.run(["sh", "-c", "readlink /proc/$$/exe"]).stdout.decode().strip() == os.path.realpath(BUSYBOX)


def test_the_host_is_online_with_its_programs(host: Host) -> None:
    hosts.check(host)
    assert (host.state, host.error) == (HostState.ONLINE, "")
    assert set(host.programs) == {"pgbouncer"}


def test_a_missing_flock_is_named(host: Host, programs: Path) -> None:
    (programs / "flock").unlink()
    hosts.check(host)
    assert (host.state, host.error) == (HostState.ONLINE, "flock: not installed there, so nothing can be written")


def test_a_trial_instance_starts_there(connection: HostConnection, programs: Path) -> None:
    settings = f"listen_addr = 127.0.0.1\nlisten_port = {free_port()}\nunix_socket_dir =\n"
    main, folder = f"[databases]\n[pgbouncer]\n{settings}".encode(), f"/tmp/.pooldeck-preflight-busybox-{os.getpid()}"
    words = ["5", "process up", "INT", "1", "pgbouncer.ini", str(len(main)), "@/pgbouncer.ini"]
    tried = connection.script("trial.sh", str(programs / "pgbouncer"), "/tmp", folder, *words, stdin=main)
    assert (tried.exit_code, "process up" in tried.stdout.decode()) == (0, True), tried
    assert not Path(folder).exists()
