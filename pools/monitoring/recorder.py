"""Records figures of pools: every console is polled every ten seconds, rolled up into minutes, kept HISTORY_DAYS."""

import logging
import time
from collections.abc import Mapping
from datetime import timedelta
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db.models import QuerySet
from django.utils import timezone

from pools.models import Entry, EntryMinute, Event, Pool, Pooler, PoolerMinute, PoolMinute, Restart
from pools.monitoring import alerting, core_watch, pool_logins, redis_store, refused_logins, restarts, rollup, sampler
from pools.monitoring.redis_store import SharingDown
from pools.monitoring.rollup import Snapshot
from pools.monitoring.sampler import ConsoleSnapshot
from pools.poolers.console_sample import Counters, PoolFigures

logger = logging.getLogger(__name__)

EVERY_S = 10
WITHIN_S = 8.0  # a console that answers later misses this poll
KEPT_S = 300
FOLDING_S = 30.0  # Another worker may aggregate the minute after this time.
PRUNE_EVERY_S = 3600
EVENTS_KEPT = timedelta(days=365)


def record() -> None:
    """Poll every console once, by one worker however many were asked; then open and close events."""
    now = time.time()
    try:
        if not redis_store.claim(f"look:{int(now // EVERY_S)}", EVERY_S * 2):
            return
        poolers = list(Pooler.objects.all())
        snapshots, cores = sampler.snapshots_of(poolers, WITHIN_S), core_watch.uses_of(poolers)
        logins = refused_logins.of(poolers)
        restarts.record(poolers, snapshots, _last)
        _keep_answers(snapshots)
        store_minute(int(now // 60) - 1)
        _prune_when_due()
    except SharingDown as error:
        logger.warning("nothing is recorded: Redis can't be reached: %s", error)
    else:
        alerting.judge(snapshots, cores, logins)
        pool_logins.make_due(snapshots)


def store_minute(minute: int) -> None:
    """Write a minute that is over, exactly once. Raises `SharingDown`."""
    if not redis_store.claim(f"folded:{minute}", FOLDING_S):
        return
    pooler_ids = list(Pooler.objects.values_list("pk", flat=True))
    keys = [_key(pk, at) for pk in pooler_ids for at in (minute - 1, minute)]
    kept = redis_store.lists(keys)
    pools, entries = _by_pooler(Pool.objects.wanted()), _by_pooler(Entry.objects.unmanaged())
    of_pools: list[PoolMinute] = []
    of_entries: list[EntryMinute] = []
    of_poolers: list[PoolerMinute] = []
    for index, pk in enumerate(pooler_ids):
        snapshots = [_snapshot(one) for one in kept[2 * index] + kept[2 * index + 1]]
        own, others = pools.get(pk, {}), entries.get(pk, {})
        by_name, all_of_it, count = rollup.aggregate_minute(snapshots, own | others, minute)
        if not count:
            continue
        columns = {"minute": minute, "snapshots": count}
        of_pools += [PoolMinute(pool_id=own[name], **columns, **by_name[name]) for name in own]
        of_entries += [EntryMinute(entry_id=others[name], **columns, **by_name[name]) for name in others]
        of_poolers.append(PoolerMinute(pooler_id=pk, **columns, **all_of_it))
    PoolMinute.objects.bulk_create(of_pools, ignore_conflicts=True, batch_size=1000)
    EntryMinute.objects.bulk_create(of_entries, ignore_conflicts=True, batch_size=1000)
    PoolerMinute.objects.bulk_create(of_poolers, ignore_conflicts=True, batch_size=1000)
    redis_store.hold(f"folded:{minute}", KEPT_S)


def recent(pooler_id: UUID) -> list[Snapshot]:
    """Return the snapshots of the last minutes that Redis still has, every ten seconds; none without Redis."""
    now = int(time.time() // 60)
    try:
        kept = redis_store.lists(_key(pooler_id, minute) for minute in range(now - KEPT_S // 60, now + 1))
    except SharingDown:
        return []
    return [_snapshot(one) for snapshots in kept for one in snapshots]


def _last(pooler_id: UUID) -> Snapshot | None:
    """Return the last snapshot of a pooler that was kept."""
    return next(reversed(recent(pooler_id)), None)


def prune() -> None:
    """Delete minutes and restarts older than POOLDECK_HISTORY_DAYS, and events that closed more than a year ago."""
    oldest = int(time.time() // 60) - settings.HISTORY_DAYS * 24 * 60
    for model in (PoolMinute, EntryMinute, PoolerMinute):
        count, _ = model.objects.filter(minute__lt=oldest).delete()
        if count:
            logger.info("%d minutes older than %d days deleted", count, settings.HISTORY_DAYS)
    Event.objects.filter(closed_at__lt=timezone.now() - EVENTS_KEPT).delete()
    Restart.objects.filter(at__lt=timezone.now() - timedelta(days=settings.HISTORY_DAYS)).delete()


def _prune_when_due() -> None:
    if redis_store.claim("pruned", PRUNE_EVERY_S):
        prune()


def _keep_answers(snapshots: Mapping[UUID, ConsoleSnapshot]) -> None:
    """Keep the answers until their minute is over; a snapshot kept twice has the same time and counts once."""
    answered = {
        pk: snapshot for pk, snapshot in snapshots.items() if not snapshot.error and (snapshot.rows or snapshot.figures)
    }
    redis_store.append(
        {_key(pk, int(snapshot.at // 60)): _as_json(snapshot) for pk, snapshot in answered.items()}, KEPT_S
    )


def _key(pooler_id: UUID, minute: int) -> str:
    return f"minute:{pooler_id}:{minute}"


def _as_json(snapshot: ConsoleSnapshot) -> list[Any]:
    figures = {name: list(vars(one).values()) for name, one in snapshot.figures.items()}
    counters = {name: list(vars(one).values()) for name, one in snapshot.counters.items()}
    return [snapshot.at, figures, counters if "stats" in snapshot.rows else None]


def _snapshot(kept: list[Any]) -> Snapshot:
    at, figures, counters = kept
    return Snapshot(
        at,
        {name: PoolFigures(*values) for name, values in figures.items()},
        None if counters is None else {name: Counters(*values) for name, values in counters.items()},
    )


def _by_pooler(rows: QuerySet[Pool] | QuerySet[Entry]) -> dict[UUID, dict[str, UUID]]:
    by_pooler: dict[UUID, dict[str, UUID]] = {}
    for pooler_id, name, pk in rows.values_list("pooler_id", "name", "pk"):
        by_pooler.setdefault(pooler_id, {})[name] = pk
    return by_pooler
