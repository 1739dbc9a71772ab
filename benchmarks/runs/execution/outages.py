"""Buffers what a run writes while the metadata database is away, and writes it once that is back.

The load goes on meanwhile; nobody can end the run as lost without that database either.
"""

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar

from django.db import InterfaceError, OperationalError, connection

from benchmarks.models.columns import RunColumns

log = logging.getLogger(__name__)

T = TypeVar("T")
AWAY = (OperationalError, InterfaceError)
RETRY_S = 1.0
LONGEST_S = 1_800.0
MOST_ROWS = 50_000


@dataclass
class Unsent:
    """Values and rows that the database lacks; `since` is when the outage began (None: there is none)."""

    values: RunColumns = field(default_factory=RunColumns)
    rows: list[Any] = field(default_factory=list)
    since: float | None = None
    tried_at: float = 0.0

    @property
    def may_try(self) -> bool:
        """True if to try the database now: it is there, or the last try was a while ago."""
        return self.since is None or time.monotonic() - self.tried_at >= RETRY_S

    def note(self, error: Exception) -> None:
        """Record an outage; raise the error where it has lasted too long, or too many rows are buffered."""
        now = time.monotonic()
        if self.since is None:
            self.since = now
            log.warning("the metadata database is away, figures are kept until it is back: %s", error)
        self.tried_at = now
        close_connection()
        if now - self.since > LONGEST_S or len(self.rows) > MOST_ROWS:
            raise error

    def clear(self) -> None:
        """Clear the buffer, once all of it was written."""
        if self.since is not None:
            log.warning("the metadata database is back after %.0f s", time.monotonic() - self.since)
        self.values, self.rows, self.since = {}, [], None


def close_connection() -> None:
    """Close the connection, so that the next query makes a new one."""
    if not connection.in_atomic_block:
        connection.close()


def retry_until_available(action: Callable[[], T]) -> T:
    """Return the action's result, retrying while the database is away; the action must be safe to repeat."""
    unsent = Unsent()
    while True:
        try:
            return action()
        except AWAY as error:
            unsent.note(error)
            time.sleep(RETRY_S)
