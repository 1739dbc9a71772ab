"""One diagnosis for all who look at the same pool: each process asks at most once in two seconds."""

import time
from collections.abc import Collection
from dataclasses import dataclass, field
from threading import Lock
from uuid import UUID

from django.db import models

from core.accounts.access import Access
from pools.diagnosis import diagnosis
from pools.diagnosis.diagnosis import Diagnosis, Target
from pools.models import Cluster, Entry, Pool, Pooler
from pools.poolers import KINDS

FRESH_S, KEPT_S = 2.0, 60.0
POOLS_OF_POOLER = 3  # each takes about a second


@dataclass
class _Slot:
    """The last diagnosis of one pool, and the lock to renew it."""

    lock: Lock = field(default_factory=Lock)
    made_at: float = 0.0
    diagnosis: Diagnosis | None = None


_slots: dict[UUID, _Slot] = {}


def read_by(access: Access, target: Target) -> Diagnosis:
    """Return the current diagnosis as a reader may have it: sessions of a cluster for those who see that."""
    found = current(target)
    if target.cluster_id and not sees_cluster(access, target.cluster_id):
        return found.without_sessions()
    return found


def sees_cluster(access: Access, pk: UUID) -> bool:
    """Tell whether a reader sees a cluster, and with it the sessions of its server."""
    return access.visible(Cluster.objects.filter(pk=pk)).exists()


def current(target: Target) -> Diagnosis:
    """Return a diagnosis of a pool or an entry that is at most two seconds old."""
    slot = _slots.setdefault(target.pk, _Slot())
    with slot.lock:
        if slot.diagnosis is None or time.monotonic() - slot.made_at >= FRESH_S:
            slot.diagnosis = diagnosis.of(target)
            slot.made_at = time.monotonic()
            _drop_old()
        return slot.diagnosis


def of_pooler(access: Access, pooler: Pooler) -> list[tuple[Target, Diagnosis]]:
    """Return the diagnoses of the pools whose clients have waited longest, each with its pool or entry.

    Where none waits and the pooler lets no further client in, that of the pool with most clients tells so. Where
    clients wait uncounted, a pool is asked itself. Raises `PoolerUnreachable`.
    """
    if KINDS[pooler.kind].clients_wait_uncounted:
        some = sorted(targets(pooler, None).values(), key=lambda target: target.name)[:POOLS_OF_POOLER]
        asked = [(target, read_by(access, target)) for target in some]
        return [(target, found) for target, found in asked if found.queue is None or found.queue.is_held_up]
    sample = KINDS[pooler.kind].sample(pooler)
    figures = sample.figures
    waiting = sorted((name for name in figures if figures[name].cl_waiting), key=lambda name: -figures[name].maxwait_ms)
    if not waiting and 0 < sample.most_clients <= sample.clients:
        waiting = sorted(figures, key=lambda name: -figures[name].cl_active)[:1]
    found = targets(pooler, waiting[:POOLS_OF_POOLER])
    return [(target, read_by(access, target)) for name in waiting if (target := found.get(name))]


def targets(pooler: Pooler, names: Collection[str] | None) -> dict[str, Target]:
    """Return the pools, or else the entries, of these names (None: of all) by name; they share the pooler's record."""
    found: dict[str, Target] = {}
    rows: list[models.QuerySet[Entry] | models.QuerySet[Pool]] = [pooler.entries.all(), pooler.pools.wanted()]
    for of_kind in rows:
        named = of_kind if names is None else of_kind.filter(name__in=names)
        for target in named.select_related("pooler", "cluster"):
            found[target.name] = target
    return found


def _drop_old() -> None:
    for key, slot in list(_slots.items()):
        if time.monotonic() - slot.made_at > KEPT_S and not slot.lock.locked():
            _slots.pop(key, None)
