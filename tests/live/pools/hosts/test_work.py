"""Work on a host by SSH: files, tunnels, logs, and the poolers that run there."""

import os
import stat
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from panel.quickstart import account
from panel.quickstart.servers import PgBouncerServer
from pools.errors import ApplyFailed, HostUnreachable
from pools.hosts import keys, ssh
from pools.hosts.base import HostConnection, HostRefused, LogPosition, UnsafeFolder
from pools.hosts.free_space import DiskFull
from pools.inventory import hosts
from pools.models import Host
from tests.live.pools.hosts.conftest import reachable, registered
from tests.live.sshds import CuttingProxy, SshServer

pytestmark = pytest.mark.django_db
OLD = {"pgbouncer.ini": b"old\n", "pooldeck.ini": b"old\n" * 1000, "userlist.txt": b"\xff\xfe old"}
NEW = {"pgbouncer.ini": b"new\n", "pooldeck.ini": b"new\n" * 20_000, "userlist.txt": None, "more.ini": b"no line end"}
NAMES = sorted(OLD.keys() | NEW.keys())


@pytest.fixture
def connection(host: Host) -> Iterator[HostConnection]:
    """A login to `host`."""
    with ssh.connected(host) as made:
        yield made


@pytest.fixture
def folder() -> Iterator[Path]:
    """A configuration folder of the account that sshd lets in, with old files in it."""
    with reachable() as home:
        made = home / "config"
        account.make_folder(made)
        for name, content in OLD.items():
            write(made / name, content)
        yield made


def write(path: Path, content: bytes) -> None:
    """Write a file of the folder's owner."""
    path.write_bytes(content)
    os.chown(path, path.parent.stat().st_uid, path.parent.stat().st_gid)


def held(contents: dict[str, bytes | None]) -> dict[str, bytes | None]:
    return {name: contents.get(name) for name in NAMES}


def test_files_are_replaced_and_removed_with_the_folders_owner(connection: HostConnection, folder: Path) -> None:
    assert connection.read(str(folder), NAMES) == held(OLD)
    connection.replace(str(folder), NEW)
    assert connection.read(str(folder), NAMES) == held(NEW)
    assert {path.name for path in folder.iterdir()} == {"pgbouncer.ini", "pooldeck.ini", "more.ini"}
    for path in folder.iterdir():
        assert (stat.S_IMODE(path.lstat().st_mode), path.lstat().st_uid) == (0o600, folder.stat().st_uid)
    folder.chmod(0o2750)
    connection.replace(str(folder), {"more.ini": b"for the group"})
    assert stat.S_IMODE((folder / "more.ini").stat().st_mode) == 0o640


def test_links_strangers_and_open_folders_are_refused(connection: HostConnection, folder: Path, tmp_path: Path) -> None:
    precious = tmp_path / "precious"
    precious.write_bytes(b"precious")
    (folder / "more.ini").symlink_to(precious)
    for act in (lambda: connection.read(str(folder), NAMES), lambda: connection.replace(str(folder), NEW)):
        with pytest.raises(UnsafeFolder, match=r"more\.ini is not a regular file"):
            act()
    (folder / "more.ini").unlink()
    assert precious.read_bytes() == b"precious"
    folder.chmod(0o777)
    with pytest.raises(UnsafeFolder, match="writable by everybody"):
        connection.replace(str(folder), NEW)
    folder.chmod(0o700)
    (link := folder.parent / "link").symlink_to(folder)
    with pytest.raises(UnsafeFolder, match="it is a symbolic link"):
        connection.replace(f"{link}/", NEW)
    with pytest.raises(UnsafeFolder, match="No such file or directory"):
        connection.refuse_unsafe(f"{folder}/nowhere")
    with pytest.raises(UnsafeFolder, match=r"belongs to uid 0 of its host"):
        connection.replace("/etc", NEW)
    assert {name: (folder / name).read_bytes() for name in OLD} == OLD


def test_a_connection_cut_at_any_byte_leaves_all_old_files_or_all_new_ones(own_sshd: SshServer, folder: Path) -> None:
    proxy = CuttingProxy(own_sshd.port)
    host = registered(own_sshd)
    hosts.change(host, {"port": proxy.port})
    seen = set()
    with ssh.connected(host) as connection:
        connection.replace(str(folder), NEW)
        whole = proxy.carried
        connection.replace(str(folder), OLD | {"more.ini": None})
        login = 6_000  # a cut before it only prevents the login
    for limit in (*range(login, 14_000, 1_600), *range(14_000, whole, 24_000), 10 * whole):
        proxy.limit = limit
        try:
            with ssh.connected(host) as connection:
                connection.replace(str(folder), NEW)
                outcome = "done"
        except (HostUnreachable, ApplyFailed) as error:
            outcome = type(error).__name__
        proxy.limit = None
        with ssh.connected(host) as connection:
            found = connection.read(str(folder), NAMES)
            assert found in (held(OLD), held(NEW))
            assert outcome != "done" or found == held(NEW)
            seen.add((outcome, "new" if found == held(NEW) else "old"))
            connection.replace(str(folder), OLD | {"more.ini": None})
        assert {path.name for path in folder.iterdir()} == OLD.keys()
    proxy.close()
    assert {("HostUnreachable", "old"), ("done", "new")} <= seen


def test_a_full_disk_changes_nothing(connection: HostConnection, folder: Path) -> None:
    mounted = folder.parent / "tiny"
    mounted.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=128k,mode=0700", "tmpfs", mounted], check=False).returncode:
        pytest.skip("this account can't mount")
    try:
        account.make_folder(mounted)
        connection.replace(str(mounted), {"pgbouncer.ini": b"old", "pooldeck.ini": b"old"})
        sizes = r"tiny needs 391 kB for its new files, and its disk has 120 kB free: .*; its files are unchanged"
        with pytest.raises(DiskFull, match=sizes):
            connection.replace(str(mounted), {"pgbouncer.ini": b"new", "pooldeck.ini": b"x" * 200_000})
        assert {path.name: path.read_bytes() for path in mounted.iterdir()} == {
            "pgbouncer.ini": b"old",
            "pooldeck.ini": b"old",
        }
        (mounted / "filler").write_bytes(b"x" * 100_000)
        connection.replace(str(mounted), {"pgbouncer.ini": b"old", "pooldeck.ini": b"old"})
        with pytest.raises(ApplyFailed, match="could not be written: No space left on device; its files are unchanged"):
            connection.replace(str(mounted), {f"{number}.ini": b"x" * 1_800 for number in range(5)})
        assert {path.name for path in mounted.iterdir()} == {"pgbouncer.ini", "pooldeck.ini", "filler"}
    finally:
        subprocess.run(["umount", mounted], check=True)


def test_other_files_and_folders_are_read(connection: HostConnection, folder: Path) -> None:
    write(folder / "odd name\n", b"")
    (folder / "link.ini").symlink_to("pgbouncer.ini")
    assert connection.read_file(f"{folder}/link.ini") == b"old\n"
    assert connection.read_file(f"{folder}/nowhere") is None
    found = {one.name: one for one in connection.list_folder(str(folder))}
    assert found.keys() == OLD.keys() | {"odd name\n", "link.ini"}
    assert (found["pgbouncer.ini"].size, found["pgbouncer.ini"].is_file) == (4, True)
    assert not found["link.ini"].is_file
    assert connection.list_folder(f"{folder}/nowhere") == []


def test_the_end_of_a_log_is_read_over_a_rotation(connection: HostConnection, folder: Path) -> None:
    log = folder / "pgbouncer.log"
    assert connection.tail(str(log), 100) is None
    write(log, b"0123456789")
    assert connection.tail(str(log), 4) == b"6789"
    log.rename(folder / "pgbouncer.log.1")
    write(log, b"ab")
    assert connection.tail(str(log), 6) == b"6789ab"
    with pytest.raises(HostRefused, match="it is not a regular file"):
        connection.tail(str(folder), 6)


def test_a_log_is_read_on_from_a_position_over_rotations(connection: HostConnection, folder: Path) -> None:
    log = folder / "pgbouncer.log"
    assert connection.read_after(str(log), None, 100) is None
    write(log, b"before\n")
    end = connection.read_after(str(log), None, 100)
    assert end == (LogPosition(log.stat().st_ino, 7), b"", 0, False)
    assert connection.read_after(str(log), end.position, 100) == end
    with log.open("ab") as opened:
        opened.write(b"one\n" * 40_000)
    part = connection.read_after(str(log), end.position, 200_000)
    assert (part.content, part.skipped, part.position) == (b"one\n" * 40_000, 0, end.position)
    part = connection.read_after(str(log), end.position._replace(offset=140_003), 10)
    assert (part.content, part.skipped) == (b"e\none\none\n"[-10:], 160_007 - 140_003 - 10)

    log.rename(folder / "pgbouncer.log.1")
    write(log, b"new\n")
    rest = connection.read_after(str(log), end.position._replace(offset=160_003), 100)
    assert (rest.content, rest.is_rotated, rest.position.inode) == (b"one\n", True, end.position.inode)
    new = connection.read_after(str(log), rest.read_to(4), 100)
    assert new == (LogPosition(log.stat().st_ino, 0), b"new\n", 0, False)

    log.write_bytes(b"cut\n"[:3])  # in place, as copytruncate does
    assert connection.read_after(str(log), new.read_to(4), 100).content == b"cut"
    with pytest.raises(HostRefused, match="it is not a regular file"):
        connection.read_after(str(folder), None, 6)


def test_a_log_is_followed_and_nothing_stays_behind(connection: HostConnection, folder: Path) -> None:
    log = folder / "pgbouncer.log"
    write(log, b"before\n")

    def add() -> None:
        time.sleep(1)
        with log.open("a") as file:
            file.write("first\nsecond\n")

    threading.Thread(target=add).start()
    with connection.follow(str(log)) as lines:
        assert [next(lines), next(lines)] == [b"first\n", b"second\n"]
    assert not is_running(f"tail -n 0 -F {log}", within_s=5)


def is_running(command: str, within_s: float) -> bool:
    """Whether it still runs after that time."""
    until = time.monotonic() + within_s
    while time.monotonic() < until:
        if subprocess.run(["pgrep", "-f", command], capture_output=True, check=False).returncode:
            return False
        time.sleep(0.1)
    return True


def test_a_tunnel_leads_to_a_console_and_is_closed(host: Host, sshd: SshServer, own_bouncer: PgBouncerServer) -> None:
    host.found = [{"ports": [own_bouncer.port]}]
    sshd.let_in(keys.authorized_keys_line(host))
    with ssh.connected(host) as connection:
        with connection.tunnel("127.0.0.1", own_bouncer.port) as (at, port):
            assert version(at, port, own_bouncer).startswith("PgBouncer")
            assert stat.S_IMODE(Path(at).stat().st_mode) == 0o700
        assert not Path(at).exists()
        with connection.tunnel("127.0.0.1", sshd.port) as (at, port), pytest.raises(psycopg.OperationalError):
            version(at, port, own_bouncer)  # to no other port does the line let tunnels lead


def version(host: str, port: int, server: PgBouncerServer) -> str:
    login = {"user": server.admin_user, "password": server.admin_password, "dbname": "pgbouncer"}
    with psycopg.connect(
        host=host, port=port, autocommit=True, cursor_factory=psycopg.ClientCursor, **login
    ) as console:
        return console.execute("SHOW VERSION").fetchone()[0]


def test_a_running_pgbouncer_is_found(host: Host, own_bouncer: PgBouncerServer) -> None:
    found = [one for one in hosts.discover(host) if one["ports"] == [own_bouncer.port]]
    main_file = f"{own_bouncer.config_dir}/pgbouncer.ini"
    assert found == [
        {
            "kind": "pgbouncer",
            "main_file": main_file,
            "ports": [own_bouncer.port],
            "addresses": ["127.0.0.1"],
            "socket_folders": [str(own_bouncer.socket_folder)],
            "control_sockets": [],
            "processes": [{"pid": own_bouncer.process.pid, "user": host.user, "main_file": main_file}],
            "version": found[0]["version"],
            "unit": "",
        }
    ]
    assert found[0]["version"].startswith("PgBouncer 1.")
    host.refresh_from_db()
    assert [one for one in host.found if one["ports"] == [own_bouncer.port]] == found
