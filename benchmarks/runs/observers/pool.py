"""Looks once a second at the pool that a run goes through, and at its pooler as a whole."""

import logging
import time
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from benchmarks.models import ObservationKind, Run
from benchmarks.runs.observers import ticker
from benchmarks.runs.observers.base import Overlay, Seen
from pools.models import Pooler
from pools.monitoring import sampler as consoles
from pools.monitoring.rates import counted
from pools.monitoring.sampler import ConsoleSnapshot
from pools.poolers import KINDS

log = logging.getLogger(__name__)

FIGURES = ("cl_active", "cl_waiting", "sv_active", "sv_idle", "maxwait_ms")
OF_ALL = ("cl_active", "cl_waiting", "sv_active", "maxwait_ms")


@dataclass(frozen=True)
class PoolObservation:
    """The pool's figures (`cl_active cl_waiting sv_active sv_idle maxwait_ms`) at a monotonic time; None for what its
    kind of pooler does not count."""

    at: float
    figures: dict[str, float | None]


@contextmanager
def watching(overlay: Overlay) -> Iterator[None]:
    """Puts a `PoolObservation` and a look at the pooler into the events; nothing if the run has no console to ask."""
    run = overlay.run
    found = (run.pool.pooler, run.pool.name) if run.pool else _of_external(run)
    if found is None:
        yield
        return
    console = _Console(overlay, *found)
    with ticker.each(f"pool {found[1]}", console.observe):
        yield


def _of_external(run: Run) -> tuple[Pooler, str] | None:
    """The console of an external endpoint, where it has one; its pools are called after the database asked for."""
    console = run.external.console if run.external else None
    return (console, run.external.database) if console and run.external else None


class _Console:
    """The pool between two looks; the console's answers are shared with all who watch the pooler."""

    def __init__(self, overlay: Overlay, pooler: Pooler, name: str) -> None:
        self.overlay, self.pooler, self.name, self.seen = overlay, pooler, name, ConsoleSnapshot()
        self.uncounted = KINDS[pooler.kind].uncounted
        self.observations = 0

    def observe(self) -> None:
        """Put what the console says now, once; the run goes on without it, and of failures in a row one is told."""
        snapshot = consoles.latest(self.pooler)
        if snapshot.error and not self.seen.error:
            log.warning("pool %s can't be watched: %s", self.name, snapshot.error)
        if not snapshot.error and snapshot.at != self.seen.at:
            self._put(snapshot, time.monotonic() - max(0.0, snapshot.age_s))
        self.seen = snapshot

    def _put(self, snapshot: ConsoleSnapshot, at: float) -> None:
        found = snapshot.figures.get(self.name)
        if found is not None:
            self.overlay.put(
                PoolObservation(at, counted({name: getattr(found, name) for name in FIGURES}, self.uncounted))
            )
        self.observations += 1
        if self.observations > 1:  # the rates of the first one are of the time before the load
            by = {"uncounted_by": self.pooler.get_kind_display()} if self.uncounted and self.observations == 2 else {}
            self.overlay.put(Seen(ObservationKind.POOLER, at, figures(snapshot, self.name, self.uncounted) | by))


def figures(snapshot: ConsoleSnapshot, name: str, uncounted: Collection[str] = ()) -> dict[str, object]:
    """The pool's `wait_ms` (clients' wait for a server connection, shared out over the transactions), `service_ms` (the
    time with one) and `transactions_per_s`; `all_…` of the whole pooler where other pools are in use too.

    PgBouncer counts the time of a transaction from when it came, the wait included. What is `uncounted` is None.
    """
    rates = snapshot.rates.get(name)
    wait_ms, whole_ms = (rates.wait_ms, rates.transaction_ms) if rates else (None, None)
    found: dict[str, object] = {
        "wait_ms": _rounded(wait_ms),
        "service_ms": None if wait_ms is None or whole_ms is None else _rounded(max(0.0, whole_ms - wait_ms)),
        "transactions_per_s": _rounded(rates.transactions_per_s if rates else None),
    }
    if len(snapshot.figures) > 1:
        whole = counted(snapshot.whole(), uncounted)
        found |= {f"all_{figure}": whole[figure] for figure in OF_ALL}
    return found


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 4)
