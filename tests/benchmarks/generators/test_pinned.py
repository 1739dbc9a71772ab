"""The address that a load program is given for a name, so that the name is resolved once."""

import socket
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from benchmarks.engines.process_environment import libpq_environment
from benchmarks.errors import Refused
from benchmarks.generators import machines
from benchmarks.processes.machines import ThisMachine
from core.lib import addresses
from pools.clusters.endpoints import Endpoint

HERE = ThisMachine()


@pytest.fixture
def port() -> Iterator[int]:
    """A port that takes connections at 127.0.0.1 alone."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


def resolving_to(monkeypatch: pytest.MonkeyPatch, *found: str) -> None:
    monkeypatch.setattr(addresses, "resolve", lambda host, port: list(found))


def test_a_load_program_connects_to_the_address_that_was_judged(monkeypatch: pytest.MonkeyPatch) -> None:
    resolving_to(monkeypatch, "10.0.0.7")
    endpoint = machines.pinned(HERE, Endpoint("db.example.com", 5432, "bench", "app"))
    resolving_to(monkeypatch, "169.254.169.254")
    environment = libpq_environment(Path("/run/of-its-own"), "pooldeck-abc-1", endpoint)
    assert (endpoint.host, environment["PGHOSTADDR"]) == ("db.example.com", "10.0.0.7")


def test_of_several_addresses_the_first_that_answers_is_taken(monkeypatch: pytest.MonkeyPatch, port: int) -> None:
    resolving_to(monkeypatch, "127.0.0.9", "127.0.0.1")
    assert machines.pinned(HERE, Endpoint("db.example.com", port, "bench", "app")).hostaddr == "127.0.0.1"


def test_a_name_that_leads_to_a_forbidden_address_starts_no_load(monkeypatch: pytest.MonkeyPatch) -> None:
    resolving_to(monkeypatch, "169.254.169.254")
    with pytest.raises(Refused, match="cloud's metadata service"):
        machines.pinned(HERE, Endpoint("db.example.com", 5432, "bench", "app"))


@pytest.mark.parametrize("host", ["10.0.0.1", "::1", "localhost", "/var/run/postgresql"])
def test_what_is_no_name_is_given_as_it_is(host: str) -> None:
    endpoint = Endpoint(host, 5432, "bench", "app")
    assert machines.pinned(HERE, endpoint) is endpoint
    assert "PGHOSTADDR" not in libpq_environment(Path("/run/of-its-own"), "pooldeck-abc-1", endpoint)


def test_an_unknown_name_and_a_host_by_ssh_resolve_it_themselves(monkeypatch: pytest.MonkeyPatch) -> None:
    endpoint = Endpoint("db.example.com", 5432, "bench", "app")
    far: Any = SimpleNamespace()
    assert machines.pinned(far, endpoint) is endpoint

    def unknown(host: str, port: int) -> list[str]:
        raise OSError("Name or service not known")

    monkeypatch.setattr(addresses, "resolve", unknown)
    assert machines.pinned(HERE, endpoint) is endpoint
