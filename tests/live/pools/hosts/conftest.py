"""Hosts that are really reached by SSH, on the loopback address.

Their folders lie where the account can enter them by itself: a session of sshd has no capability to pass others.
"""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from panel.quickstart import account
from panel.quickstart.servers import PgBouncerServer, free_port
from pools.hosts import keys
from pools.inventory import hosts
from pools.models import Host
from tests.live.sshds import SshServer


@contextmanager
def reachable() -> Iterator[Path]:
    """A folder of the account's."""
    with tempfile.TemporaryDirectory(prefix="pooldeck-test-") as name:
        account.make_folder(Path(name))
        yield Path(name)


@pytest.fixture(scope="session")
def sshd() -> Iterator[SshServer]:
    """An sshd of the servers' account."""
    with reachable() as home, SshServer(home, free_port()) as server:
        yield server


@pytest.fixture
def own_sshd() -> Iterator[SshServer]:
    """An sshd of the test's own."""
    with reachable() as home, SshServer(home, free_port()) as server:
        yield server


@pytest.fixture
def own_bouncer() -> Iterator[PgBouncerServer]:
    """A PgBouncer of the same account."""
    with reachable() as home, PgBouncerServer(home, free_port(), "pooldeck", "console-password") as server:
        yield server


def registered(server: SshServer, name: str = "db-1", **fields: object) -> Host:
    """A host whose key was compared, and whose account lets the panel in."""
    values = {"name": name, "address": "127.0.0.1", "port": server.port, "user": server.user} | fields
    host = hosts.register(values)
    server.let_in(keys.authorized_keys_line(host))
    return hosts.confirm_host_key(host, keys.fingerprint(server.host_key))


@pytest.fixture
def host(sshd: SshServer, db: None) -> Host:
    """`sshd` as the panel knows it."""
    return registered(sshd)
