"""Tells restarts of poolers by their counters, where the panel sees no process: they begin anew."""

from collections.abc import Callable, Collection, Iterable, Mapping
from datetime import UTC, datetime
from uuid import UUID

from pools.models import Pooler, Restart, RestartEvidence
from pools.monitoring import redis_store
from pools.monitoring.rollup import Snapshot
from pools.monitoring.sampler import ConsoleSnapshot
from pools.poolers import KINDS
from pools.poolers.console_sample import Counters

KEY, KEPT_S = "totals", 300
COUNTED = ("queries", "transactions", "received_bytes", "sent_bytes")


def record(
    poolers: Iterable[Pooler], snapshots: Mapping[UUID, ConsoleSnapshot], last: Callable[[UUID], Snapshot | None]
) -> None:
    """Save a restart of each pooler that counts from 0 again; `last` returns its snapshot before. Raises `SharingDown`.

    The totals of all poolers are kept as one value, and pools are compared only where a total is less: that is so after
    each removal of a pool as well.
    """
    counting = [one for one in poolers if _counts_unseen(one) and one.pk in snapshots and not snapshots[one.pk].error]
    totals = {one.key: _total(snapshots[one.pk].counters) for one in counting}
    if not totals:
        return
    before: dict[str, list[int]] = redis_store.read(KEY) or {}
    less = [one for one in counting if one.key in before and _is_less(totals[one.key], before[one.key])]
    found = [one for one in less if _began_anew(last(one.pk), snapshots[one.pk])]
    Restart.objects.bulk_create(
        Restart(pooler=one, at=datetime.fromtimestamp(snapshots[one.pk].at, UTC), evidence=RestartEvidence.COUNTERS)
        for one in found
    )
    redis_store.keep(KEY, before | totals, KEPT_S)


def _counts_unseen(pooler: Pooler) -> bool:
    """Return whether its counters tell of a restart, and no check saw a process that would tell it for certain."""
    return KINDS[pooler.kind].counts_from_its_start and not any(one["pid"] for one in pooler.processes)


def _total(counters: Mapping[str, Counters], names: Collection[str] | None = None) -> list[int]:
    counted = [one for name, one in counters.items() if names is None or name in names]
    return [sum(getattr(one, column) for one in counted) for column in COUNTED]


def _is_less(now: list[int], before: list[int]) -> bool:
    """Return whether no total is more, and one is less."""
    return now != before and all(one <= other for one, other in zip(now, before, strict=True))


def _began_anew(before: Snapshot | None, now: ConsoleSnapshot) -> bool:
    """Return whether the pools that are still there have counted less; those that KILL has just emptied are paused."""
    if before is None or before.counters is None:
        return False
    there = {str(row["name"]) for row in now.rows.get("databases", []) if not int(str(row.get("paused") or 0))}
    return _is_less(_total(now.counters, there), _total(before.counters, there))
