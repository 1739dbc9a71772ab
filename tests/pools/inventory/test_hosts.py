"""Checking hosts; with a real sshd: tests/live/pools/hosts."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import pytest

from pools.hosts import ssh
from pools.hosts.base import CompletedCommand, HostRefused
from pools.hosts.worker import WorkerConnection
from pools.inventory import hosts
from pools.models import HostState
from tests.pools.hosts.fakes import HOST_KEY, a_host

pytestmark = pytest.mark.django_db
INSTALLED = "".join(f"{name}\t/usr/bin/{name}\t1.0\n" for name in ("bwrap", *hosts.NEEDED))


class HangingSandbox(WorkerConnection):
    """A host whose bubblewrap never ends."""

    def run(self, argv: Sequence[str], **_: Any) -> CompletedCommand:
        if argv == hosts.SANDBOX_TRIAL:
            raise HostRefused("bwrap did not end on host db-1 within 30 s, and was ended")
        return CompletedCommand(0, INSTALLED.encode(), b"")


def test_a_sandbox_that_hangs_is_a_fault_of_the_sandbox_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    @contextmanager
    def connected(_host: object) -> Iterator[WorkerConnection]:
        yield HangingSandbox()

    monkeypatch.setattr(ssh, "connected", connected)
    host = a_host(host_key=HOST_KEY)
    hosts.check(host)
    host.refresh_from_db()
    assert (host.state, host.error) == (HostState.ONLINE, "")
    assert host.programs["bwrap"]["fault"] == "bwrap did not end on host db-1 within 30 s, and was ended"
