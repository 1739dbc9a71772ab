"""Observes once a second the pool that a run goes through, and its pooler as a whole."""

import logging
import time
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from benchmarks.models import ObservationKind, Run
from benchmarks.runs.observers import ticker
from benchmarks.runs.observers.base import LoadContext, ObservedFigures
from pools.models import Pooler
from pools.monitoring import sampler as consoles
from pools.monitoring.rates import without_uncounted
from pools.monitoring.sampler import ConsoleSnapshot
from pools.poolers import KINDS

log = logging.getLogger(__name__)

FIGURES = ("cl_active", "cl_waiting", "sv_active", "sv_idle", "maxwait_ms")
OF_ALL = ("cl_active", "cl_waiting", "sv_active", "maxwait_ms")


@dataclass(frozen=True)
class PoolObservation:
    """The pool's figures (`cl_active cl_waiting sv_active sv_idle maxwait_ms`) at a monotonic time.

    None for what its kind of pooler does not count.
    """

    at: float
    figures: dict[str, float | None]


@contextmanager
def watching(context: LoadContext) -> Iterator[None]:
    """Put observations of the pool and the pooler into the events; none where the run has no console to poll."""
    run = context.run
    console_pool = (run.pool.pooler, run.pool.name) if run.pool else _of_external(run)
    if console_pool is None:
        yield
        return
    console = _Console(context, *console_pool)
    with ticker.every_second(f"pool {console_pool[1]}", console.observe):
        yield


def _of_external(run: Run) -> tuple[Pooler, str] | None:
    """Return an external endpoint's console and the name of its pool, its database; None without a console."""
    console = run.external.console if run.external else None
    return (console, run.external.database) if console and run.external else None


class _Console:
    """The pool between two observations; one poll of the console serves all that observe the pooler."""

    def __init__(self, context: LoadContext, pooler: Pooler, name: str) -> None:
        self.context, self.pooler, self.name, self.seen = context, pooler, name, ConsoleSnapshot()
        self.uncounted = KINDS[pooler.kind].uncounted
        self.observations = 0

    def observe(self) -> None:
        """Put the console's newest snapshot, once; of failures in a row only the first is logged."""
        snapshot = consoles.latest(self.pooler)
        if snapshot.error and not self.seen.error:
            log.warning("pool %s can't be observed: %s", self.name, snapshot.error)
        if not snapshot.error and snapshot.at != self.seen.at:
            self._put(snapshot, time.monotonic() - max(0.0, snapshot.age_s))
        self.seen = snapshot

    def _put(self, snapshot: ConsoleSnapshot, at: float) -> None:
        pool_figures = snapshot.figures.get(self.name)
        if pool_figures is not None:
            self.context.put(
                PoolObservation(
                    at, without_uncounted({name: getattr(pool_figures, name) for name in FIGURES}, self.uncounted)
                )
            )
        self.observations += 1
        if self.observations > 1:  # the rates of the first one are of the time before the load
            by = {"uncounted_by": self.pooler.get_kind_display()} if self.uncounted and self.observations == 2 else {}
            observed = figures(snapshot, self.name, self.uncounted) | by
            self.context.put(ObservedFigures(ObservationKind.POOLER, at, observed))


def figures(snapshot: ConsoleSnapshot, name: str, uncounted: Collection[str] = ()) -> dict[str, object]:
    """Return the pool's `wait_ms`, `service_ms` and `transactions_per_s`, and `all_…` figures of the whole pooler.

    `wait_ms` is the clients' wait for a server connection per transaction, `service_ms` the time with one. PgBouncer
    counts a transaction's time from its arrival, the wait included. `all_…` is left out where the pooler has no other
    pool in use. What is `uncounted` is None.
    """
    rates = snapshot.rates.get(name)
    wait_ms, whole_ms = (rates.wait_ms, rates.transaction_ms) if rates else (None, None)
    observed: dict[str, object] = {
        "wait_ms": _rounded(wait_ms),
        "service_ms": None if wait_ms is None or whole_ms is None else _rounded(max(0.0, whole_ms - wait_ms)),
        "transactions_per_s": _rounded(rates.transactions_per_s if rates else None),
    }
    if len(snapshot.figures) > 1:
        reading = without_uncounted(snapshot.whole(), uncounted)
        observed |= {f"all_{figure}": reading[figure] for figure in OF_ALL}
    return observed


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 4)
