"""Consoles that stay open between two polls: a login costs three times what is asked over it (SCRAM, in both programs).

A check logs in anew each minute, so what would refuse a login now is noticed then. A console is kept for as long as
polls come, five minutes at the longest. PgBouncer 1.23 and later end after SIGTERM once their last client has left, a
console included: one of these is used again only while its port still takes connections.
"""

import atexit
import os
import select
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from threading import Condition, Thread

import psycopg

from pools.config_files import deliveries
from pools.models import Pooler
from pools.poolers.pgbouncer import process_search, releases
from pools.poolers.pgbouncer.console import Console

LONGEST_S, IDLE_S = 300.0, 30.0
LISTENS_WITHIN_S = 1.0
WAITS_FOR_CLIENTS = (1, 23)  # from this release on, SIGTERM lets clients leave by themselves (its NEWS)
Key = tuple[object, ...]


@dataclass
class _KeptConsole:
    """A console with the times of its login and of its last use (monotonic, s)."""

    console: Console
    opened_at: float = field(default_factory=time.monotonic)
    used_at: float = field(default_factory=time.monotonic)

    @property
    def ends_at(self) -> float:
        return min(self.opened_at + LONGEST_S, self.used_at + IDLE_S)


class _Shelf:
    """The kept consoles of this process, one of each pooler, and the thread that closes those whose time is over."""

    def __init__(self) -> None:
        self.changed = Condition()
        self.kept: dict[Key, _KeptConsole] = {}
        self.closer: Thread | None = None
        self.closes_at = 0.0  # when the thread looks again

    def take(self, key: Key) -> _KeptConsole | None:
        with self.changed:
            return self.kept.pop(key, None)

    def put(self, key: Key, kept: _KeptConsole) -> None:
        """Keep a console; one that is kept already is closed."""
        with self.changed:
            other, self.kept[key] = self.kept.get(key), kept
            if self.closer is None:
                self.closer = Thread(target=self._close_in_time, name="consoles", daemon=True)
                self.closer.start()
            elif kept.ends_at < self.closes_at:
                self.changed.notify()
        if other:
            other.console.close()

    def close(self, before: float = float("inf")) -> None:
        """Close those whose time is over by then."""
        with self.changed:
            keys = [key for key, one in self.kept.items() if one.ends_at <= before]
            over = [self.kept.pop(key) for key in keys]
            if not self.kept:
                self.changed.notify()
        for one in over:
            one.console.close()

    def _close_in_time(self) -> None:
        while True:
            self.close(time.monotonic())
            with self.changed:
                if not self.kept:
                    self.closer = None
                    return
                self.closes_at = min(one.ends_at for one in self.kept.values())
                self.changed.wait(max(0.0, self.closes_at - time.monotonic()))


_shelf = _Shelf()
atexit.register(lambda: _shelf.close())
os.register_at_fork(after_in_child=_shelf.__init__)  # type: ignore[misc]  # a console belongs to the process that opened it


@contextmanager
def lent(pooler: Pooler, opener: Callable[[Pooler], Console] = process_search.any_of) -> Iterator[Console]:
    """Lend the console that is kept of a pooler, else a new one, and keep it afterwards. Raises `PoolerUnreachable`."""
    kept = _usable(pooler, _shelf.take(_key(pooler)))
    with _kept_afterwards(pooler, kept or _KeptConsole(opener(pooler))) as opened:
        yield opened


@contextmanager
def keeping(pooler: Pooler, opened: Console) -> Iterator[Console]:
    """Keep a console that was opened just now after the block, unless that fails."""
    with _kept_afterwards(pooler, _KeptConsole(opened)) as connection:
        yield connection


def close_all() -> None:
    """Close what this process keeps."""
    _shelf.close()


@contextmanager
def _kept_afterwards(pooler: Pooler, kept: _KeptConsole) -> Iterator[Console]:
    try:
        yield kept.console
    except BaseException:
        kept.console.close()
        raise
    if kept.console.closed or not _may_stay(pooler):
        kept.console.close()
        return
    kept.used_at = time.monotonic()
    _shelf.put(_key(pooler), kept)


def _key(pooler: Pooler) -> Key:
    """Return what makes a console another one: the record as it was edited last, and its login."""
    return (pooler.pk, pooler.version, pooler.host, pooler.port, pooler.admin_user, pooler.sealed_admin_password)


def _may_stay(pooler: Pooler) -> bool:
    """Return whether a console of a pooler may be kept: it delays no end of it, or its port tells of one."""
    if pooler.shares_its_port:
        return False
    has_port = not deliveries.of(pooler).needs_host and not pooler.host.startswith(("/", "@"))
    return has_port or not _waits_for_clients(pooler)


def _waits_for_clients(pooler: Pooler) -> bool:
    text = pooler.server_version
    return not text.startswith("PgBouncer") or releases.version_of(text) >= WAITS_FOR_CLIENTS


def _usable(pooler: Pooler, kept: _KeptConsole | None) -> _KeptConsole | None:
    """Return a kept console that still leads to its pooler; others are closed."""
    if kept is None:
        return None
    is_usable = kept.ends_at > time.monotonic() and not _has_ended(kept.console)
    if is_usable and (not _waits_for_clients(pooler) or _listens(kept.console)):
        return kept
    kept.console.close()
    return None


def _has_ended(connection: Console) -> bool:
    """Return whether its other end closed it, or said something unasked."""
    if connection.closed:
        return True
    waiting = select.poll()
    waiting.register(connection.fileno(), select.POLLIN)
    return bool(waiting.poll(0))


def _listens(connection: Console) -> bool:
    with suppress(OSError, psycopg.Error):
        address = (connection.info.hostaddr, connection.info.port)
        socket.create_connection(address, LISTENS_WITHIN_S).close()
        return True
    return False
