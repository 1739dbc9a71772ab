"""The configuration of ssh, and what its errors mean."""

import os
import socket
from collections.abc import Callable
from pathlib import Path

import pytest
from cryptography.fernet import Fernet

from core.installation import pausing
from core.lib import addresses
from panel import celery
from pools import tasks
from pools.errors import HostUnreachable
from pools.hosts import ssh_client
from pools.hosts.ssh_client import Hop
from pools.models import Host
from tests.pools.hosts.fakes import a_host

KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJl"


def hop(name: str, **fields: object) -> Hop:
    values = {"alias": f"host-{name}", "name": name, "address": "10.0.0.1", "port": 22, "user": "postgres"}
    return Hop(**values | {"host_key": KEY, "private_key": "PRIVATE"} | fields)


@pytest.mark.parametrize(
    ("words", "kind", "message"),
    [
        ("Host key for host-b has changed\nHost key verification failed.", ssh_client.KeyNotConfirmed, "b has another"),
        ("No ED25519 host key is known for host-a and\nHost key verification failed.\nConnection closed",
         ssh_client.KeyNotConfirmed, "a has another"),
        ("postgres@10.0.0.2: Permission denied (publickey).", HostUnreachable, "host b does not let the panel in"),
        ("ssh: connect to host 10.0.0.2 port 22: Connection refused", HostUnreachable, "port 22: Connection refused"),
        ("", HostUnreachable, "no reason"),
    ],
)  # fmt: skip
def test_errors_of_ssh_name_the_host_and_the_remedy(words: str, kind: type[Exception], message: str) -> None:
    found = ssh_client._fault([hop("a"), hop("b", address="10.0.0.2")], words)
    assert (type(found), message in str(found)) == (kind, True)


@pytest.fixture
def left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, Path, Path]:
    """The folders with keys of a process that is gone, of this one, and of nobody knows whom."""
    monkeypatch.setattr(ssh_client.tempfile, "tempdir", str(tmp_path))
    dead, alive, strange = (tmp_path / f"{ssh_client.PREFIX}{word}-x" for word in ("999999999", str(os.getpid()), "x"))
    for one in (dead, alive, strange):
        one.mkdir()
        (one / "host-a").write_text("PRIVATE")
    return dead, alive, strange


def log_in() -> None:
    with ssh_client._private_folder() as folder:
        assert folder.stat().st_mode & 0o077 == 0


@pytest.mark.django_db
@pytest.mark.parametrize("clean", [log_in, tasks.check_hosts, celery.remove_left_keys])
def test_folders_of_killed_processes_are_removed_and_others_stay(
    left: tuple[Path, Path, Path], clean: Callable[[], None]
) -> None:
    clean()
    assert [one.exists() for one in left] == [False, True, True]


@pytest.mark.django_db
def test_a_paused_panel_logs_in_nowhere() -> None:
    pausing.pause("it may be a copy")
    with pytest.raises(HostUnreachable, match="the panel is paused"), ssh_client.logged_in([hop("a")]):
        pass


@pytest.mark.django_db
@pytest.mark.parametrize(("address", "reason"), [("169.254.169.254", "metadata"), ("0.0.0.0", "not the address")])
def test_addresses_that_no_host_may_have_are_refused_at_each_login(address: str, reason: str) -> None:
    with pytest.raises(HostUnreachable, match=reason), ssh_client.logged_in([hop("a", address=address)]):
        pass


@pytest.mark.django_db
def test_the_hops_lead_over_the_hosts_before() -> None:
    first = Host.objects.create(name="first", address="10.0.0.1", user="a", host_key=KEY)
    last = Host.objects.create(name="last", address="10.0.0.2", user="b", jump=first)
    assert [one.name for one in ssh_client.hops_to(last)] == ["first", "last"]


@pytest.mark.django_db
@pytest.mark.parametrize("broken", ["first", "last"])
def test_a_host_whose_stored_key_no_key_opens_is_out_of_reach_and_the_remedy_is_named(broken: str) -> None:
    first = a_host("first")
    last = a_host("last", jump=first)
    lost = {"first": first, "last": last}[broken]
    lost.sealed_private_key = Fernet(Fernet.generate_key()).encrypt(b"[]").decode()
    with pytest.raises(HostUnreachable) as refused:
        ssh_client.hops_to(last)
    assert str(refused.value) == (
        f"the key by which the panel logs in to host {broken} can't be decrypted (no key of POOLDECK_KEYS decrypts the "
        f"secret of host:{lost.pk}): append the missing key to POOLDECK_KEYS, or register the host anew"
    )


def resolving_to(monkeypatch: pytest.MonkeyPatch, *answers: list[str]) -> None:
    """Let a name server give these answers about `.example` one after the other; asked once more, it fails the test."""
    given, real = iter(answers), addresses.resolve

    def answer(host: str, port: int) -> list[str]:
        return next(given) if host.endswith(".example") else real(host, port)

    monkeypatch.setattr(addresses, "resolve", answer)


@pytest.mark.django_db
def test_ssh_connects_to_the_address_that_was_judged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    resolving_to(monkeypatch, ["10.0.0.7"])
    ssh_client._write_configuration(tmp_path, ssh_client._judged([hop("a", address="db.example")]))
    assert "    HostName 10.0.0.7\n" in (tmp_path / "config").read_text()


@pytest.mark.django_db
def test_a_host_behind_another_is_resolved_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    resolving_to(monkeypatch, ["10.0.0.7"], ["10.0.0.8"])
    hops = [hop("a", address="jump.example"), hop("b", address="db.example")]
    ssh_client._write_configuration(tmp_path, ssh_client._judged(hops))
    names = [line.split()[1] for line in (tmp_path / "config").read_text().splitlines() if "HostName" in line]
    assert names == ["10.0.0.7", "db.example"]


@pytest.mark.django_db
def test_of_several_addresses_the_first_is_taken_at_which_something_listens(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        resolving_to(monkeypatch, ["127.0.0.9", "127.0.0.1", "127.0.0.8"], ["127.0.0.9", "127.0.0.8"])
        here = hop("a", address="db.example", port=listener.getsockname()[1])
        assert [ssh_client._judged([here])[0].judged for _ in range(2)] == ["127.0.0.1", "127.0.0.8"]


@pytest.mark.django_db
def test_a_host_with_one_forbidden_address_is_not_connected_to(monkeypatch: pytest.MonkeyPatch) -> None:
    resolving_to(monkeypatch, ["10.0.0.7", "169.254.169.254"])
    with pytest.raises(HostUnreachable, match=r"resolves to 169\.254\.169\.254"):
        ssh_client._judged([hop("a", address="db.example")])
