"""A host that answers without any ssh: the login is the process boundary."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from pools.errors import HostUnreachable
from pools.hosts import keys, ssh, ssh_client
from pools.hosts.worker import WorkerConnection
from pools.models import Host

HOST_KEY = keys.new_pair()[1]


def a_host(name: str = "db-1", **fields: object) -> Host:
    """A host as a registration leaves it, its key not confirmed."""
    host = Host(**{"name": name, "address": "10.9.8.7", "user": "postgres", "offered_host_key": HOST_KEY} | fields)
    host.private_key, host.public_key = keys.new_pair()
    host.save(force_insert=True)
    return host


@pytest.fixture
def answers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every host has `HOST_KEY`, and lets the panel in to this machine."""

    @contextmanager
    def connected(host: Host) -> Iterator[WorkerConnection]:
        if host.host_key != HOST_KEY:
            raise ssh_client.KeyNotConfirmed("it has another key", ssh_client.alias_of(host))
        yield WorkerConnection()

    monkeypatch.setattr(ssh, "connected", connected)
    monkeypatch.setattr(ssh_client, "offered_key", lambda hops: HOST_KEY)


@pytest.fixture
def is_down(monkeypatch: pytest.MonkeyPatch) -> None:
    """No host answers."""

    def refuse(hops: object) -> str:
        raise HostUnreachable("host db-1 can't be reached by SSH: Connection refused")

    monkeypatch.setattr(ssh_client, "offered_key", refuse)
    monkeypatch.setattr(ssh_client, "logged_in", refuse)
    monkeypatch.setattr(ssh, "logged_in", refuse)
