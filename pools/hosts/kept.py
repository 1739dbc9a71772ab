"""Logins to hosts that a process keeps, for the next command and for tunnels: one for each host, until nobody used it.

A login that was lost is forgotten, and the next use makes a new one; so does a change of the host's record.
"""

import atexit
import os
import threading
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from uuid import UUID

from pools.errors import HostUnreachable, OutcomeUnknown
from pools.hosts.ssh import PROHIBITED, SshConnection
from pools.hosts.ssh_client import Hop, hops_to, logged_in
from pools.models import Host

IDLE_S = 300.0
SLOW_S, REFUSED_FOR_S = 2.0, 5.0  # a host that did not answer at once is not asked again for as long
RENEWED_EVERY_S, SOCKETS_RENEWED_EVERY_S, RETIRED_S = 5.0, 20.0, 60.0
_guard = threading.Lock()
_host_locks: dict[UUID, threading.Lock] = defaultdict(threading.Lock)  # one login to a host at a time
_kept: dict[UUID, "_Login"] = {}
_of_parent: list["_Login"] = []
_refused: dict[UUID, tuple[float, Sequence[Hop], HostUnreachable]] = {}
_renewed_at: dict[UUID, float] = {}
_idle_timers: list[threading.Timer] = []  # the one that runs while a login is kept


class _Login:
    """One login of this process, with the tunnels that go through it."""

    def __init__(self, hops: Sequence[Hop]) -> None:
        self.hops = list(hops)
        self.stack = ExitStack()
        self.connection = SshConnection(self.stack.enter_context(logged_in(hops)))
        self.tunnels: dict[tuple[str, int], tuple[str, int]] = {}
        self.users, self.used_at, self.made_at = 0, time.monotonic(), time.monotonic()
        self.is_lost = False

    def serves(self, hops: Sequence[Hop]) -> bool:
        """Return whether it is still there, and made as the records say now."""
        return self.hops == list(hops) and not self.is_lost and self.connection.client.is_alive

    def close(self) -> None:
        """Log out and remove the folder with the control socket."""
        self.stack.close()


@contextmanager
def connected(host: Host) -> Iterator[SshConnection]:
    """Give the login to a host that this process keeps. Raises `HostUnreachable`, and forgets a login that was lost."""
    with _in_use(host) as login:
        yield login.connection


def tunnel(host: Host, address: str, port: int) -> tuple[str, int]:
    """Return libpq's host and port that lead to an address of the host, for as long as the login is kept."""
    with _in_use(host) as login, _host_locks[host.pk]:
        if (address, port) not in login.tunnels:
            login.tunnels[address, port] = login.stack.enter_context(login.connection.tunnel(address, port))
        return login.tunnels[address, port]


def refusal(host: Host, address: str, port: int, since: float) -> tuple[str, bool]:
    """Return why a tunnel leads nowhere, in ssh's words, empty where it does; and whether a new login may change that.

    What a login may do is decided when it is made, and the line in authorized_keys may have been replaced: of a login
    that is older than `since` (of the monotonic clock), the next use makes a new one, but not each time: a socket may
    be asked for in vain for ever, where another way leads to the pooler.
    """
    at = tunnel(host, address, port)
    with _in_use(host) as login:
        words, now = login.connection.refusal_of(at, address, port), time.monotonic()
        every_s = SOCKETS_RENEWED_EVERY_S if address.startswith("/") else RENEWED_EVERY_S
        is_old = login.made_at < since and now - _renewed_at.get(host.pk, -every_s) >= every_s
        if is_renewed := PROHIBITED in words and is_old:
            _renewed_at[host.pk] = now
            _retire(host.pk, login)
    return words, is_renewed


def close_all() -> None:
    """Log out of all hosts."""
    with _guard:
        logins = list(_kept.values())
        _kept.clear()
        _refused.clear()
        _renewed_at.clear()
    for login in logins:
        login.close()


def _reset_after_fork() -> None:
    """Leave the logins of the process that this one was forked from alone, and the locks that it may have held."""
    global _guard
    _guard = threading.Lock()
    # A login that nobody refers to is closed, and its folder removed; so the parent's are referred to here.
    _of_parent.extend(_kept.values())
    for kept in (_kept, _host_locks, _refused, _renewed_at):
        kept.clear()
    _idle_timers.clear()  # of its threads a process takes none to its child


atexit.register(close_all)
os.register_at_fork(after_in_child=_reset_after_fork)


@contextmanager
def _in_use(host: Host) -> Iterator[_Login]:
    login = _current_login(host)
    try:
        yield login
    except OutcomeUnknown:
        raise
    except HostUnreachable:
        login.is_lost = True
        raise
    finally:
        _release(host, login)


def _current_login(host: Host) -> _Login:
    hops = hops_to(host)
    with _host_locks[host.pk]:
        login = _kept.get(host.pk)
        if login is None or not login.serves(hops):
            if login:
                _forget(host.pk, login)
            login = _log_in(host, hops)
            with _guard:
                _kept[host.pk] = login
            _close_idle_later()
        login.users, login.used_at = login.users + 1, time.monotonic()
        return login


def _log_in(host: Host, hops: Sequence[Hop]) -> _Login:
    """Log in; a host that did not answer a moment ago is not waited for again."""
    until, before, error = _refused.get(host.pk, (0.0, [], HostUnreachable()))
    if before == hops and time.monotonic() < until:
        raise error
    began = time.monotonic()
    try:
        return _Login(hops)
    except HostUnreachable as error:
        now = time.monotonic()
        if now - began > SLOW_S:
            _refused[host.pk] = (now + REFUSED_FOR_S, hops, error)
        raise


def _release(host: Host, login: _Login) -> None:
    with _host_locks[host.pk]:
        login.users, login.used_at = login.users - 1, time.monotonic()
        if login.is_lost:
            _forget(host.pk, login)


def _forget(pk: UUID, login: _Login) -> None:
    """Log out once nobody uses it: whoever does finds it lost by itself."""
    with _guard:
        if _kept.get(pk) is login:
            del _kept[pk]
    if not login.users or not login.connection.client.is_alive:
        login.close()


def _retire(pk: UUID, login: _Login) -> None:
    """Use it no more; whoever has a connection through it keeps that for a while."""
    with _guard:
        if _kept.get(pk) is login:
            del _kept[pk]
    timer = threading.Timer(RETIRED_S, login.close)
    timer.daemon = True
    timer.start()


def _close_idle_later() -> None:
    """Look for idle logins after a while, unless a timer does already: hosts that are logged in to again add none."""
    with _guard:
        if _idle_timers:
            return
        timer = threading.Timer(IDLE_S, _close_idle)
        timer.daemon = True
        _idle_timers.append(timer)
        timer.start()


def _close_idle() -> None:
    """Log out where no command ran and no new tunnel was asked for in a while."""
    with _guard:
        _idle_timers.clear()  # first, so that a login that is made from here on starts the next
    lately = time.monotonic() - IDLE_S
    for pk, login in list(_kept.items()):
        with _host_locks[pk]:
            if not login.users and login.used_at < lately:
                _forget(pk, login)
    if _kept:
        _close_idle_later()
