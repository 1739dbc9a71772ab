"""Ports are kept where they can be, and never shared."""

import socket
import sys
from pathlib import Path

import pytest

from panel.quickstart import ports, tls
from panel.quickstart.panel_programs import Web, print_address, take_port
from panel.quickstart.programs import ProgramFailed
from panel.quickstart.progress import Steps


@pytest.fixture
def taken() -> socket.socket:
    listener = socket.create_server((ports.LOOPBACK, 0))
    with listener:
        yield listener


def test_a_taken_port_is_not_free(taken: socket.socket) -> None:
    assert not ports.is_free(taken.getsockname()[1])


def test_a_kept_port_that_is_free_is_kept() -> None:
    port = ports.free_port()
    assert ports.same_or_free_port(port) == port


def test_a_kept_port_that_stays_taken_is_given_up(taken: socket.socket, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ports, "FREE_WITHIN_S", 0.2)
    assert ports.same_or_free_port(taken.getsockname()[1]) != taken.getsockname()[1]


def test_a_port_is_not_returned_twice_before_its_server_can_listen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ports, "HIGHEST", ports.LOWEST + 70)
    found = [ports.free_port() for _ in range(40)]
    assert len(set(found)) == 40


def test_free_ports_lie_below_those_of_outgoing_connections() -> None:
    lowest = int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])
    assert lowest >= ports.HIGHEST


def test_a_port_that_was_asked_for_and_is_taken_is_refused_with_its_number(taken: socket.socket) -> None:
    port = taken.getsockname()[1]
    with pytest.raises(ProgramFailed, match=f"port {port} of 127.0.0.1 is taken"):
        take_port(port, Steps())


def test_a_taken_default_port_is_replaced_and_that_is_said(
    taken: socket.socket, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    usual = taken.getsockname()[1]
    monkeypatch.setattr("panel.quickstart.panel_programs.DEFAULT_PORT", usual)
    with take_port(None, Steps()) as listener:
        port = listener.getsockname()[1]
    assert port != usual
    assert f"port {usual} is taken: using port {port}" in capsys.readouterr().out


def test_nobody_gets_a_port_that_was_taken_for_the_panel() -> None:
    with take_port(ports.free_port(), Steps()) as listener:
        port = listener.getsockname()[1]
        with pytest.raises(OSError, match="in use"):
            socket.create_server((ports.LOOPBACK, port))


def test_the_panel_is_handed_the_listener_and_whoever_calls_while_it_is_started_again_waits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The real process gets it, twice: a Python that accepts one connection in uvicorn's place."""
    listener = take_port(ports.free_port(), Steps())
    web = Web(tmp_path, listener.getsockname()[1], listener)
    number = listener.fileno()
    accept = f"import socket; socket.socket(fileno={number}).accept()[0].sendall(b'served')"
    monkeypatch.setattr(Web, "argv", [sys.executable, "-c", accept])
    try:
        for _ in range(2):
            with socket.create_connection((ports.LOOPBACK, web.port), timeout=10) as client:
                web.spawn()
                assert client.recv(10) == b"served"
            web.stop()
    finally:
        web.given_up()
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection((ports.LOOPBACK, web.port), timeout=10)


def test_the_panel_listens_by_what_it_was_handed(tmp_path: Path) -> None:
    web = Web(tmp_path, 8000)
    assert web.argv[5:7] == ["--port", "8000"]
    web.handed_over = (7,)
    assert web.argv[3:5] == ["--fd", "7"]
    assert "--port" not in web.argv


def test_with_a_certificate_the_panel_serves_https(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = tls.ensure(tmp_path / "tls")
    web = Web(tmp_path, 8123, tls=files)
    assert web.url == "https://127.0.0.1:8123"
    assert web.argv[-4:] == ["--certificate", str(files.certificate), "--key", str(files.key)]
    for name in ("POOLDECK_PUBLIC_URL", "POOLDECK_HTTPS"):
        monkeypatch.setenv(name, "")
    print_address(8123, is_https=True)
    assert (web.environment["POOLDECK_PUBLIC_URL"], web.environment["POOLDECK_HTTPS"]) == (web.url, "true")


@pytest.mark.parametrize(
    ("reported", "described"), [("", "http://127.0.0.1:8123"), ("https://deck.example", "https://deck.example")]
)
def test_the_panel_knows_its_address_unless_another_was_given(
    reported: str, described: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("POOLDECK_PUBLIC_URL", reported)
    print_address(8123)
    assert Web(tmp_path, 8123).environment["POOLDECK_PUBLIC_URL"] == described
