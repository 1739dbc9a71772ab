"""Keys of SSH."""

import shutil
import subprocess
from pathlib import Path

import pytest

from pools.hosts import keys
from pools.models import Host, Pooler, PoolerKind


@pytest.mark.skipif(shutil.which("ssh-keygen") is None, reason="openssh-client is not installed")
def test_openssh_reads_the_keys_and_shows_the_same_fingerprint(tmp_path: Path) -> None:
    private, public = keys.new_pair()
    (tmp_path / "key").touch(mode=0o600)
    (tmp_path / "key").write_text(private)
    printed = subprocess.run(["ssh-keygen", "-lf", tmp_path / "key"], capture_output=True, text=True, check=True).stdout
    assert printed.split()[1] == keys.fingerprint(public)
    derived = subprocess.run(["ssh-keygen", "-yf", tmp_path / "key"], capture_output=True, text=True, check=True).stdout
    assert derived.split()[:2] == public.split()
    assert (keys.type_of(public), keys.type_of(""), keys.fingerprint("")) == ("ssh-ed25519", "", "")


@pytest.mark.django_db
def test_the_line_opens_the_ports_of_the_poolers_and_of_hosts_behind() -> None:
    host = Host.objects.create(name="outer", address="10.0.0.1", user="postgres", public_key="ssh-ed25519 AAAA")
    assert keys.authorized_keys_line(host).startswith(
        'restrict,port-forwarding,permitopen="localhost:6432",permitopen="127.0.0.1:6432",permitopen="[::1]:6432" ssh-'
    )
    host.found = [{"ports": [6433], "socket_folders": ["/run/pgb", '/a"b'], "control_sockets": ["/run/admin.sock"]}]
    Host.objects.create(name="inner", address="fd00::5", port=2222, user="postgres", jump=host)
    line = keys.authorized_keys_line(host)
    assert ('permitopen="127.0.0.1:6433"' in line, "6432" in line) == (True, False)
    assert 'permitopen="[fd00::5]:2222"' in line
    assert 'permitopen="[/run/admin.sock]:*",permitopen="[/run/pgb/.s.PGSQL.6433]:*"' in line
    assert "/a" not in line.replace("/admin", "")  # it would end its quotes
    assert line.endswith(f" ssh-ed25519 AAAA pooldeck-{host.pk}")


@pytest.mark.django_db
def test_the_line_opens_both_sockets_of_a_pgpool() -> None:
    host = Host.objects.create(name="outer", address="10.0.0.1", user="postgres", public_key="ssh-ed25519 AAAA")
    address = {"host": "/run/postgresql", "port": 9999, "pcp_port": 9898, "kind": PoolerKind.PGPOOL}
    Pooler.objects.create(name="edge", delivery="ssh", ssh_host=host, **address)
    line = keys.authorized_keys_line(host)
    assert [f'permitopen="[/run/postgresql/.s.PGSQL.{port}]:*"' in line for port in (9999, 9898)] == [True, True]


@pytest.mark.django_db
def test_the_private_key_is_sealed_for_its_host_alone() -> None:
    host, other = Host(name="a"), Host(name="b")
    host.private_key = "PRIVATE"
    assert ("PRIVATE" in host.sealed_private_key, host.private_key) == (False, "PRIVATE")
    other.sealed_private_key = host.sealed_private_key
    with pytest.raises(Exception, match="belongs to"):
        _ = other.private_key
