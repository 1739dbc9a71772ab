"""Looks at the pool once a second while a run goes through it, on the clock of the run."""

import logging
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from queue import Full, Queue

from django.db import connections

from benchmarks.overlays.contract import Overlay
from pools import watching as consoles
from pools.models import Pool
from pools.watching import Look

log = logging.getLogger(__name__)

EVERY_S = 1.0
FIGURES = ("cl_active", "cl_waiting", "sv_active", "sv_idle", "maxwait_ms")


@dataclass(frozen=True)
class PoolLook:
    """The pool's figures (`cl_active cl_waiting sv_active sv_idle maxwait_ms`) at a monotonic time."""

    at: float
    figures: dict[str, float]


@contextmanager
def watching(overlay: Overlay) -> Iterator[None]:
    """Puts a `PoolLook` into the events each second; nothing where the run goes to a cluster directly."""
    pool = overlay.run.pool
    if pool is None:
        yield
        return
    over = threading.Event()
    thread = threading.Thread(target=_watch, args=(pool, overlay.events, over), name=f"pool {pool.pk}", daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join(EVERY_S)


def _watch(pool: Pool, events: "Queue[object]", over: threading.Event) -> None:
    due, seen = time.monotonic(), Look()
    try:
        while not over.wait(max(0.0, due - time.monotonic())):
            seen = _look(pool, events, seen)
            due = max(due + EVERY_S, time.monotonic())
    finally:
        connections.close_all()  # this thread's own, should a look have opened one


def _look(pool: Pool, events: "Queue[object]", seen: Look) -> Look:
    """What the console says now, put on once; the run goes on without it, and of failures in a row one is told."""
    look = consoles.look(pool.pooler)
    if look.error and not seen.error:
        log.warning("pool %s can't be watched: %s", pool.pk, look.error)
    found = look.figures.get(pool.name)
    if found is not None and look.at != seen.at:
        at = time.monotonic() - max(0.0, look.age_s)
        with suppress(Full):
            events.put_nowait(PoolLook(at, {name: getattr(found, name) for name in FIGURES}))
    return look
