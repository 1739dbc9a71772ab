"""Ports are kept where they can be, and never shared."""

import socket
from pathlib import Path

import pytest

from panel.quickstart import ports
from panel.quickstart.panel_programs import DEFAULT_PORT, choose_port
from panel.quickstart.programs import ProgramFailed
from panel.quickstart.steps import Steps


@pytest.fixture
def taken() -> socket.socket:
    listener = socket.create_server((ports.LOOPBACK, 0))
    with listener:
        yield listener


def test_a_taken_port_is_not_free(taken: socket.socket) -> None:
    assert not ports.is_free(taken.getsockname()[1])


def test_a_kept_port_that_is_free_is_kept() -> None:
    port = ports.free_port()
    assert ports.kept_or_free(port) == port


def test_a_kept_port_that_stays_taken_is_given_up(taken: socket.socket, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ports, "FREE_WITHIN_S", 0.2)
    assert ports.kept_or_free(taken.getsockname()[1]) != taken.getsockname()[1]


def test_free_ports_lie_below_those_of_outgoing_connections() -> None:
    lowest = int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])
    assert lowest >= ports.HIGHEST


def test_a_port_that_was_asked_for_and_is_taken_is_refused_with_its_number(taken: socket.socket) -> None:
    port = taken.getsockname()[1]
    with pytest.raises(ProgramFailed, match=f"port {port} of 127.0.0.1 is taken"):
        choose_port(port, Steps())


def test_a_taken_default_port_is_replaced_and_that_is_said(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("panel.quickstart.panel_programs.is_free", lambda port: False)
    port = choose_port(None, Steps())
    assert port != DEFAULT_PORT
    assert f"port {DEFAULT_PORT} is taken, so the panel goes to {port}" in capsys.readouterr().out
