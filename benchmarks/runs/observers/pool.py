"""Looks once a second at the pool that a run goes through, and at its pooler as a whole."""

import logging
import time
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from benchmarks.models import LookKind, Run
from benchmarks.runs.observers import ticker
from benchmarks.runs.observers.base import Overlay, Seen
from pools.models import Pooler
from pools.monitoring import sampler as consoles
from pools.monitoring.rates import told
from pools.monitoring.sampler import Look
from pools.poolers import KINDS

log = logging.getLogger(__name__)

FIGURES = ("cl_active", "cl_waiting", "sv_active", "sv_idle", "maxwait_ms")
OF_ALL = ("cl_active", "cl_waiting", "sv_active", "maxwait_ms")


@dataclass(frozen=True)
class PoolLook:
    """The pool's figures (`cl_active cl_waiting sv_active sv_idle maxwait_ms`) at a monotonic time; None for what its
    kind of pooler does not count."""

    at: float
    figures: dict[str, float | None]


@contextmanager
def watching(overlay: Overlay) -> Iterator[None]:
    """Puts a `PoolLook` and a look at the pooler into the events; nothing where the run has no console to ask."""
    run = overlay.run
    found = (run.pool.pooler, run.pool.name) if run.pool else _of_external(run)
    if found is None:
        yield
        return
    console = _Console(overlay, *found)
    with ticker.each(f"pool {found[1]}", console.look):
        yield


def _of_external(run: Run) -> tuple[Pooler, str] | None:
    """The console of an external endpoint, where it has one; its pools are called after the database asked for."""
    console = run.external.console if run.external else None
    return (console, run.external.database) if console and run.external else None


class _Console:
    """The pool between two looks; the console's answers are shared with all who watch the pooler."""

    def __init__(self, overlay: Overlay, pooler: Pooler, name: str) -> None:
        self.overlay, self.pooler, self.name, self.seen = overlay, pooler, name, Look()
        self.uncounted = KINDS[pooler.kind].uncounted
        self.looks = 0

    def look(self) -> None:
        """Put what the console says now, once; the run goes on without it, and of failures in a row one is told."""
        look = consoles.look(self.pooler)
        if look.error and not self.seen.error:
            log.warning("pool %s can't be watched: %s", self.name, look.error)
        if not look.error and look.at != self.seen.at:
            self._put(look, time.monotonic() - max(0.0, look.age_s))
        self.seen = look

    def _put(self, look: Look, at: float) -> None:
        found = look.figures.get(self.name)
        if found is not None:
            self.overlay.put(PoolLook(at, told({name: getattr(found, name) for name in FIGURES}, self.uncounted)))
        self.looks += 1
        if self.looks > 1:  # the rates of the first one are of the time before the load
            by = {"uncounted_by": self.pooler.get_kind_display()} if self.uncounted and self.looks == 2 else {}
            self.overlay.put(Seen(LookKind.POOLER, at, figures(look, self.name, self.uncounted) | by))


def figures(look: Look, name: str, uncounted: Collection[str] = ()) -> dict[str, object]:
    """The pool's `wait_ms` (clients' wait for a server connection, shared out over the transactions), `service_ms` (the
    time with one) and `transactions_per_s`; `all_…` of the whole pooler where other pools are in use too.

    PgBouncer counts the time of a transaction from when it came, the wait included. What is `uncounted` is None.
    """
    rates = look.rates.get(name)
    wait_ms, whole_ms = (rates.wait_ms, rates.transaction_ms) if rates else (None, None)
    found: dict[str, object] = {
        "wait_ms": _rounded(wait_ms),
        "service_ms": None if wait_ms is None or whole_ms is None else _rounded(max(0.0, whole_ms - wait_ms)),
        "transactions_per_s": _rounded(rates.transactions_per_s if rates else None),
    }
    if len(look.figures) > 1:
        whole = told(look.whole(), uncounted)
        found |= {f"all_{figure}": whole[figure] for figure in OF_ALL}
    return found


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 4)
