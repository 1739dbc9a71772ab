"""Logins to hosts that a process keeps: what is left of them in the process."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import SimpleNamespace

import pytest

from pools.errors import HostUnreachable
from pools.hosts import kept
from pools.models import Host
from tests.pools.hosts.fakes import a_host

pytestmark = pytest.mark.django_db


@pytest.fixture
def host(monkeypatch: pytest.MonkeyPatch) -> Iterator[Host]:
    """A host that lets everybody in; afterwards neither a login nor a timer is left."""

    @contextmanager
    def logged_in(_hops: object) -> Iterator[SimpleNamespace]:
        yield SimpleNamespace(is_alive=True)

    monkeypatch.setattr(kept, "logged_in", logged_in)
    yield a_host()
    kept.close_all()
    for timer in timers():
        timer.cancel()
    kept._idle_timers.clear()


def timers() -> list[threading.Timer]:
    return [
        one for one in threading.enumerate() if isinstance(one, threading.Timer) and one.function == kept._close_idle
    ]


def lose_a_login(host: Host) -> None:
    with suppress(HostUnreachable), kept.connected(host):
        raise HostUnreachable("the connection was lost")


def test_logins_that_are_lost_and_made_again_leave_one_timer(host: Host) -> None:
    for _ in range(10):
        lose_a_login(host)
    with kept.connected(host):
        assert len(timers()) == 1


def test_an_idle_login_ends_and_its_timer_with_it(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept, "IDLE_S", 0.05)
    with kept.connected(host):
        pass
    while running := timers():
        running[0].join(10)
    assert kept._kept == {}


def test_a_login_after_all_have_ended_is_looked_at_again(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept, "IDLE_S", 0.05)
    for _ in range(2):
        with kept.connected(host):
            assert len(timers()) == 1
        while running := timers():
            running[0].join(10)
    assert kept._kept == {}
