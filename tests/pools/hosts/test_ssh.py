"""What a login tells of addresses that no tunnel leads to."""

import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from pools.hosts.base import ABSENT, CompletedCommand, HostRefused
from pools.hosts.keys import socket_path
from pools.hosts.ssh import PROHIBITED, SshConnection


@pytest.mark.parametrize(
    ("exit_code", "reason"),
    [
        (0, PROHIBITED),
        (ABSENT, "No such file or directory"),
        (1, "Permission denied"),
        (126, "Permission denied"),
        (137, "Permission denied"),
    ],
)
def test_a_socket_that_is_not_opened_has_a_reason_whatever_its_test_ended_with(
    monkeypatch: pytest.MonkeyPatch, exit_code: int, reason: str
) -> None:
    monkeypatch.setattr(SshConnection, "run", lambda *_: CompletedCommand(exit_code, b"", b""))
    client: Any = SimpleNamespace()
    assert SshConnection(client)._socket_refusal("/run/p/.s.PGSQL.6432") == reason


def test_a_shell_that_greets_is_named_where_the_account_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SshConnection, "run", lambda *_: CompletedCommand(0, b"Welcome!\n1000\n", b""))
    client: Any = SimpleNamespace()
    with pytest.raises(HostRefused, match=r"the answer of id -u on the host can't be read: Welcome! 1000; where"):
        _ = SshConnection(client).uid


MINE, ANOTHERS = "connect failed: Connection refused", "administratively prohibited: open failed"


@pytest.fixture
def refusals(tmp_path: Path) -> Iterator[list[list[str]]]:
    """What ssh logs while it refuses each connection to a tunnel, one after the other."""
    logged: list[list[str]] = []
    log = tmp_path / "log"
    log.touch()
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(socket_path(str(tmp_path), 6432))
        listener.listen()
        listener.settimeout(5)

        def refuse() -> None:
            while True:
                try:
                    connection, _address = listener.accept()
                except OSError:
                    return
                with connection, log.open("a") as file:
                    file.writelines(f"channel 3: open failed: {words}\n" for words in logged.pop(0))

        thread = threading.Thread(target=refuse)
        thread.start()
        yield logged
        listener.shutdown(socket.SHUT_RDWR)
        thread.join()


@pytest.mark.parametrize(
    ("logged", "reason"),
    [([[MINE]], MINE), ([[MINE, ANOTHERS], [MINE]], MINE), ([[MINE, ANOTHERS]] * 3, "")],
    ids=["alone", "beside another once", "beside another for good"],
)
def test_the_refusal_of_another_tunnel_is_not_taken_for_this_ones(
    refusals: list[list[str]], tmp_path: Path, logged: list[list[str]], reason: str
) -> None:
    refusals.extend(logged)
    client: Any = SimpleNamespace(log=tmp_path / "log")
    assert SshConnection(client).refusal_of((str(tmp_path), 6432), "127.0.0.1", 6432) == reason
