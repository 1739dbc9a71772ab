"""Looks at the server once a second: what its sessions wait for, their states, and what its counters say."""

import logging
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import psycopg
from psycopg.rows import dict_row

from benchmarks.models import LookKind
from benchmarks.runs.observers import probes, ticker
from benchmarks.runs.observers.base import Overlay, Seen
from benchmarks.runs.observers.server_statement import statement
from pools.clusters import connect, session_deadline

log = logging.getLogger(__name__)

AGAIN_S = 5.0  # after which a server that hung up is logged in to again
WAITS_KEPT = 12  # of a look; the rest are told together
REST = "others"
RATES = (
    "commits",
    "rollbacks",
    "blocks_read",
    "blocks_hit",
    "temp_files",
    "temp_bytes",
    "wal_bytes",
    "read_bytes",
    "written_bytes",
)
COUNTS = ("checkpoints_timed", "checkpoints_requested")
DONE = ("checkpoints_work", "checkpoints_done")  # of which one grows with a checkpoint that is not skipped
Row = Mapping[str, Any]


@contextmanager
def watching(overlay: Overlay) -> Iterator[None]:
    """Puts looks at the server into the events; none where it could not be logged in to before the load."""
    if overlay.sight.session is None:
        yield
        return
    server = _Server(overlay, overlay.sight.session)
    try:
        with ticker.each("the server", server.look, server.hang_up):
            yield
    finally:
        server.leave()


class _Server:
    """The server between two looks, over one session that lasts as long as the load."""

    def __init__(self, overlay: Overlay, session: connect.Connection) -> None:
        self.overlay = overlay
        self.session: connect.Connection | None = session
        self.rest_until = 0.0
        self.before: Row | None = None

    def look(self) -> None:
        """Put what it did since the last look; nothing while it does not answer."""
        if (found := self._asked()) is None:
            return
        at, row = found
        hidden = {"hidden": self.overlay.sight.hidden} if self.before is None and self.overlay.sight.hidden else {}
        self.overlay.put(Seen(LookKind.SERVER, at, figures(self.before, row) | hidden))
        self.before = row

    def hang_up(self) -> None:
        """Cut the line to a server that does not answer."""
        if self.session:
            session_deadline.hang_up(self.session)

    def leave(self) -> None:
        """End the session."""
        if self.session:
            self.session.close()

    def _asked(self) -> tuple[float, Row] | None:
        session = self._connected()
        if session is None:
            return None
        began = time.monotonic()
        try:
            with session.cursor(row_factory=dict_row) as cursor:
                words = statement(session.info.server_version)
                row = cursor.execute(words, {"database": self.overlay.run.database}, prepare=True).fetchone()
        except psycopg.Error as error:
            log.warning("run %s: its server did not tell what it does: %s", self.overlay.run.pk, error)
            self.rest_until = time.monotonic() + AGAIN_S
            return None
        return ((began + time.monotonic()) / 2, row) if row else None

    def _connected(self) -> connect.Connection | None:
        """The session, a new one where the server hung up; None while it rests."""
        if time.monotonic() < self.rest_until:
            return None
        if self.session is None or self.session.closed:
            self.session = probes.log_in(self.overlay.run)
            self.rest_until = 0.0 if self.session else time.monotonic() + AGAIN_S
        return self.session


def figures(before: Row | None, now: Row) -> dict[str, object]:
    """`waits` and `states` as sessions by name, and of two looks also rates by the second and counted checkpoints.

    A rate is None where a counter shrank: the statistics were reset, or the server was started anew. A checkpoint that
    the server skips, since nothing was written after the last one, is counted by it but not here.
    """
    found: dict[str, object] = {"waits": _largest(now["waits"]), "states": dict(now["states"])}
    if before is None or (elapsed_s := now["at_s"] - before["at_s"]) <= 0:
        return found
    for name in filter(now.__contains__, RATES):
        grown = _grown(before, now, name)
        found[f"{name}_per_s"] = None if grown is None else round(grown / elapsed_s, 1)
    done = any(_grown(before, now, name) for name in DONE)
    return found | {name: int(_grown(before, now, name) or 0) if done else 0 for name in COUNTS}


def _grown(before: Row, now: Row, name: str) -> float | None:
    first, last = before.get(name), now.get(name)
    if first is None or last is None or last < first:
        return None
    return float(last - first)


def _largest(waits: Mapping[str, int]) -> dict[str, int]:
    """The waits that hold most sessions up, the others summed up."""
    ordered = sorted(waits.items(), key=lambda wait: (-wait[1], wait[0]))
    rest = sum(sessions for _, sessions in ordered[WAITS_KEPT:])
    return dict(ordered[:WAITS_KEPT]) | ({REST: rest} if rest else {})
