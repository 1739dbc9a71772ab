"""Keeps the records of what clients can name on each pooler as its last check found it, whoever wrote it."""

from collections.abc import Iterable, Mapping
from copy import copy
from dataclasses import fields
from datetime import datetime
from uuid import UUID

from django.db import transaction
from django.utils import timezone

from pools.clusters.cluster_index import ClusterIndex
from pools.config_files import deliveries
from pools.models import Entry, Pooler
from pools.models.entries import EntryQuerySet
from pools.poolers.console_sample import FoundEntry

SHOWN = [field.name for field in fields(FoundEntry) if field.name != "unused"]
WRITTEN = [*(name for name in SHOWN if name != "name"), "pool", "cluster", "seen_at"]
BATCH = 500
LONGEST = 1000
LARGEST = 2_147_483_647  # limit of a column for whole numbers


def record(pooler: Pooler, found: Iterable[FoundEntry], index: ClusterIndex) -> None:
    """Make the pooler's entries those found: changed ones are written, those that are gone are deleted."""
    known = {entry.name: entry for entry in pooler.entries.all()}
    pools, now = _live_pools(pooler), timezone.now()
    listed = list(found)
    fresh = {one.name: _entry(pooler, one, pools, index, now) for one in listed}
    if unused := sum(one.unused for one in listed):
        _keep_automatic(fresh, known, unused)
    changed = [entry for name, entry in fresh.items() if entry.is_fallback or _differs(entry, known.get(name))]
    if not deliveries.has_files_at_checks(pooler):
        fresh = _fallback_of(known) | fresh
    gone = [entry.pk for name, entry in known.items() if name not in fresh]
    with transaction.atomic():
        for start in range(0, len(gone), BATCH):
            Entry.objects.filter(pk__in=gone[start : start + BATCH]).delete()
        Entry.objects.bulk_create(
            changed,
            update_conflicts=True,
            unique_fields=["pooler", "name"],
            update_fields=WRITTEN,
            batch_size=BATCH,
        )


def _fallback_of(known: Mapping[str, Entry]) -> dict[str, Entry]:
    """Return the entry `*` that was known, by name: a console that does not prove it now does not disprove it.

    Its `seen_at` tells when it was proved last.
    """
    return {name: entry for name, entry in known.items() if entry.is_fallback}


def _keep_automatic(fresh: dict[str, Entry], known: Mapping[str, Entry], unused: int) -> None:
    """Mark what an entry `*` made whose console alone is known: what was listed before and is unused now.

    PgBouncer leaves out of its list the databases that `*` made and nobody uses, and lists all others for as long as
    they stand in its files. Where more went than are unused, some were taken out of the files, and nothing tells which.
    """
    gone = [one for name, one in known.items() if name not in fresh and one.pool_id is None and not one.is_fallback]
    for one in gone if len(gone) <= unused else ():
        kept = fresh[one.name] = copy(one)
        kept.automatic, kept.connections = True, 0
    for name in fresh.keys() & known.keys():
        fresh[name].automatic |= known[name].automatic


def find_clusters() -> None:
    """Look again for the clusters of entries that lead to none, after one was registered or moved."""
    index = ClusterIndex.read()
    for entry in Entry.objects.unmanaged().filter(cluster=None).exclude(host="").select_related("pooler"):
        if cluster := index.find(entry.pooler, entry.host, entry.port, entry.addresses):
            Entry.objects.filter(pk=entry.pk, cluster=None).update(cluster=cluster)


def unmanaged() -> EntryQuerySet:
    """Return the entries that no pool of the panel stands for, with their poolers and clusters."""
    return Entry.objects.unmanaged().select_related("pooler__team", "cluster")


def _live_pools(pooler: Pooler) -> dict[str, tuple[UUID, UUID]]:
    """Return name → id and cluster of the pools that the pooler got, those to be removed included."""
    rows = pooler.pools.exclude(applied_at=None).values_list("name", "pk", "cluster_id")
    return {name: (pool_id, cluster_id) for name, pool_id, cluster_id in rows}


def _entry(
    pooler: Pooler, found: FoundEntry, pools: Mapping[str, tuple[UUID, UUID]], index: ClusterIndex, now: datetime
) -> Entry:
    values = {name: _fitting(getattr(found, name)) for name in SHOWN}
    pool_id, cluster_id = pools.get(found.name) or (None, None)
    if pool_id is None and (there := index.find(pooler, found.host, found.port, found.addresses)):
        cluster_id = there.pk
    return Entry(pooler=pooler, pool_id=pool_id, cluster_id=cluster_id, seen_at=now, **values)


def _fitting(value: object) -> object:
    """Cut what no column takes: a number without a limit, and a list of hosts that is longer than any."""
    if isinstance(value, str):
        return value[:LONGEST]
    return min(value, LARGEST) if isinstance(value, int) and not isinstance(value, bool) else value


def _differs(entry: Entry, known: Entry | None) -> bool:
    compared = (*SHOWN, "pool_id", "cluster_id")
    return known is None or any(getattr(entry, name) != getattr(known, name) for name in compared)
