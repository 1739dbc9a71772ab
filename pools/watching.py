"""What poolers' consoles say now, asked at most once a second however many people watch."""

import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from uuid import UUID

from pools import poolers_admin
from pools.errors import PoolerUnreachable
from pools.models import Pooler
from pools.poolers import KINDS
from pools.poolers.kind import PoolFigures

FRESH_S = 1.0
AT_ONCE = 16
Rows = list[dict[str, object]]


@dataclass(frozen=True)
class Look:
    """A console's answer: figures by pool name and the rows of SHOW POOLS, or why there is none."""

    figures: dict[str, PoolFigures] = field(default_factory=dict)
    rows: Rows = field(default_factory=list)
    error: str = ""


_last: dict[tuple[UUID, str], tuple[int, float, Look]] = {}  # (pooler, what) → its version, when, the answer


def figures(pooler: Pooler) -> Look:
    """The figures of each pool by its name."""
    return _fresh(pooler, "figures", lambda: Look(figures=poolers_admin.pool_figures(pooler)))


def show_pools(pooler: Pooler) -> Look:
    """The rows of SHOW POOLS, the console's own left out; none for a kind that has no such command."""
    return _fresh(pooler, "rows", lambda: Look(rows=_of_pools(KINDS[pooler.kind].show(pooler, "pools"))))


def figures_of(poolers: Iterable[Pooler]) -> dict[UUID, Look]:
    """The figures of many poolers by their ids, asked at once so that a dead one delays no other."""
    asked = list({pooler.pk: pooler for pooler in poolers}.values())
    with ThreadPoolExecutor(AT_ONCE, thread_name_prefix="watch") as threads:
        return {pooler.pk: look for pooler, look in zip(asked, threads.map(figures, asked), strict=True)}


def _of_pools(rows: Rows) -> Rows:
    return [row for row in rows if row["database"] != "pgbouncer"]


def _fresh(pooler: Pooler, what: str, ask: Callable[[], Look]) -> Look:
    """The last answer while it is fresh; an edited pooler is asked anew."""
    version, asked_at, look = _last.get((pooler.pk, what), (None, -FRESH_S, Look()))
    if version == pooler.version and time.monotonic() - asked_at < FRESH_S:
        return look
    try:
        look = ask()
    except PoolerUnreachable as error:
        look = Look(error=str(error))
    _last[pooler.pk, what] = (pooler.version, time.monotonic(), look)
    return look
