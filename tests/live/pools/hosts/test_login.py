"""Logins to hosts: who the host is, whom it lets in, and what is left of the key."""

import gc
import os
import tempfile
from pathlib import Path

import pytest

from pools.errors import HostUnreachable, InvalidValues
from pools.hosts import kept, keys, ssh, ssh_client
from pools.inventory import hosts
from pools.models import Host, HostState
from tests.live.pools.hosts.conftest import registered
from tests.live.sshds import CuttingProxy, SshServer

pytestmark = pytest.mark.django_db


def left_over() -> list[Path]:
    return list(Path(tempfile.gettempdir()).glob(f"{ssh_client.PREFIX}{os.getpid()}-*"))


def test_a_new_host_shows_its_key_and_nothing_is_logged_in_to(own_sshd: SshServer) -> None:
    host = hosts.register({"name": "db-1", "address": "127.0.0.1", "port": own_sshd.port, "user": own_sshd.user})
    assert (host.state, host.host_key, host.offered_host_key) == (HostState.UNCONFIRMED, "", own_sshd.host_key)
    own_sshd.let_in(keys.authorized_keys_line(host))
    with pytest.raises(ssh_client.KeyNotConfirmed, match="is not confirmed"), ssh.connected(host):
        pass
    with pytest.raises(InvalidValues, match="is not the fingerprint of the key that the host offers"):
        hosts.confirm_host_key(host, "SHA256:another")
    hosts.confirm_host_key(host, keys.fingerprint(own_sshd.host_key))
    assert (host.state, host.error, host.host_key) == (HostState.ONLINE, "", own_sshd.host_key)
    assert {"pgbouncer", "pgbench"} <= host.programs.keys()
    assert host.programs["pgbouncer"]["version"].startswith("PgBouncer 1.")
    assert left_over() == []


def test_a_host_with_another_key_is_refused_and_the_key_is_shown(own_sshd: SshServer) -> None:
    host = registered(own_sshd)
    pinned = host.host_key
    own_sshd.stop()
    own_sshd.make_host_key()
    own_sshd.start()
    hosts.check(host)
    assert (host.state, host.host_key, host.offered_host_key) == (HostState.UNREACHABLE, pinned, own_sshd.host_key)
    assert f"has another key than the confirmed one ({keys.fingerprint(pinned)})" in host.error
    hosts.confirm_host_key(host, keys.fingerprint(own_sshd.host_key))
    assert (host.state, host.offered_host_key) == (HostState.ONLINE, "")


def test_a_host_that_lets_nobody_in_names_the_remedy(own_sshd: SshServer) -> None:
    host = registered(own_sshd)
    own_sshd.let_in("")
    hosts.check(host)
    assert host.state == HostState.UNREACHABLE
    assert host.error.endswith("put the panel's line into the authorized_keys file of that account")
    assert left_over() == []


def test_a_host_that_is_not_there_says_why(own_sshd: SshServer) -> None:
    host = registered(own_sshd)
    own_sshd.stop()
    hosts.check(host)
    assert (host.state, host.error.rpartition(": ")[2]) == (HostState.UNREACHABLE, "Connection refused")


def test_the_key_is_gone_once_the_login_is_made(host: Host) -> None:
    with ssh.connected(host) as connection:
        names = {path.name for path in connection.client.folder.iterdir()}
        assert names == {"config", "known_hosts", "errors", "master"}
        for path in connection.client.folder.iterdir():
            assert path.is_socket() or "PRIVATE KEY" not in path.read_text()
        assert connection.run(["id", "-un"]).stdout.decode().strip() == host.user


def test_a_host_behind_another_is_reached_through_it(own_sshd: SshServer, sshd: SshServer) -> None:
    inner = hosts.register({"name": "inner", "address": "127.0.0.1", "port": own_sshd.port, "user": own_sshd.user})
    outer = registered(sshd, "outer")
    hosts.change(inner, {"jump": outer})
    assert "leads" not in inner.error
    sshd.let_in(keys.authorized_keys_line(outer))  # The line names the inner host now.
    own_sshd.let_in(keys.authorized_keys_line(inner))
    hosts.check(inner)
    hosts.confirm_host_key(inner, keys.fingerprint(own_sshd.host_key))
    assert (inner.state, inner.error) == (HostState.ONLINE, "")
    sshd.let_in("restrict " + outer.public_key)
    hosts.check(inner)
    assert inner.state == HostState.UNREACHABLE


def test_a_connection_that_is_cut_is_an_error_and_never_an_empty_answer(own_sshd: SshServer) -> None:
    proxy = CuttingProxy(own_sshd.port)
    host = registered(own_sshd)
    hosts.change(host, {"port": proxy.port})
    with ssh.connected(host) as connection:
        assert connection.run(["echo", "there"]).stdout == b"there\n"
        proxy.limit = 0
        with pytest.raises(HostUnreachable, match="the connection to host db-1 was lost"):
            connection.run(["sleep", "5"])
        proxy.limit = None
        with pytest.raises(HostUnreachable):  # nor does it log in anew by itself
            connection.run(["echo", "there"])
    proxy.close()


def test_a_forked_process_logs_in_by_itself_and_leaves_its_parents_login_alone(host: Host) -> None:
    with kept.connected(host) as own:
        folder = own.client.folder
    child = os.fork()
    if child == 0:
        status = 1
        try:
            with kept.connected(host) as other:
                status = int(other.client.folder == folder)
            gc.collect()
        finally:
            os._exit(status)
    assert os.waitpid(child, 0)[1] == 0
    with kept.connected(host) as still:
        assert (still is own, still.run(["echo", "there"]).stdout) == (True, b"there\n")
    kept.close_all()
    assert not folder.exists()


def test_programs_get_a_clean_environment_and_their_stdin(host: Host) -> None:
    with ssh.connected(host) as connection:
        found = connection.run(["env"], environment={"PGAPPNAME": "a b'c"}).stdout.decode().splitlines()
        assert {line.partition("=")[0] for line in found} == {"PATH", "LC_ALL", "PGAPPNAME"}
        assert "PGAPPNAME=a b'c" in found
        assert connection.run(["cat"], stdin=b"\0\xff" * 50_000).stdout == b"\0\xff" * 50_000
        failed = connection.run(["sh", "-c", "echo why >&2; exit 3"])
        assert (failed.exit_code, failed.words) == (3, "why")
