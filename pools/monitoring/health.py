"""The health of pools, entries and poolers by the newest sample: whether clients wait, and whether all servers work.

It stands beside the state, which tells whether a configuration is live, or whether a console answers.
"""

import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TypeVar
from uuid import UUID

from django.db.models import QuerySet, TextChoices
from django.utils.translation import gettext_lazy as _

from pools.models import Entry, Pool, Pooler
from pools.monitoring import sampler
from pools.monitoring.sampler import LastQueues
from pools.poolers import KINDS
from pools.poolers.console_sample import PoolFigures

OLDEST_S = 60.0  # a worker polls each console every ten seconds
Queued = TypeVar("Queued", Pool, Entry)
Queues = Mapping[UUID, LastQueues]


class Health(TextChoices):
    """What a sample tells of the clients of a pool, an entry or a pooler."""

    OK = "ok", _("nobody waits")
    WAITING = "waiting", _("clients wait")
    SATURATED = "saturated", _("saturated")
    UNKNOWN = "unknown", _("unknown")


WAIT = (Health.SATURATED, Health.WAITING)


@dataclass(frozen=True)
class KnownHealth:
    """The health of a record, and the time of the sample that tells it (Unix, in s); None where it is unknown."""

    health: Health
    at: float | None = None


UNKNOWN = KnownHealth(Health.UNKNOWN)


def of_figures(record: Pool | Entry, figures: PoolFigures) -> Health:
    """Return the health by the figures of a sample: it is saturated if clients wait while all servers work."""
    if _is_uncounted(record.pooler):
        return Health.UNKNOWN
    if not figures.cl_waiting:
        return Health.OK
    most = _most_servers(record)
    return Health.SATURATED if most is not None and figures.sv_active >= most else Health.WAITING


def _is_uncounted(pooler: Pooler) -> bool:
    return "cl_waiting" in KINDS[pooler.kind].uncounted


def _most_servers(record: Pool | Entry) -> int | None:
    """Return how many servers it has without its reserve; None for an entry with a pool for each role and no limit."""
    if isinstance(record, Entry) and not (record.user and record.size):
        return record.most_connections
    return (record.size or 0) * record.pooler.process_count


def of_each(records: Iterable[Pool | Entry]) -> dict[UUID, KnownHealth]:
    """Return the health of each by id, by the last sample of its pooler: no console is asked, no row is read."""
    listed = list(records)
    queues = sampler.last_queues({record.pooler_id: record.pooler for record in listed}.values())
    return {record.pk: _of(record, queues.get(record.pooler_id)) for record in listed}


def _of(record: Pool | Entry, queues: LastQueues | None) -> KnownHealth:
    if queues is None or not _is_known(queues):
        return UNKNOWN
    health = of_figures(record, queues.waiting.get(record.name, PoolFigures()))
    return UNKNOWN if health == Health.UNKNOWN else KnownHealth(health, queues.at)


def of_poolers(poolers: Iterable[Pooler]) -> dict[UUID, KnownHealth]:
    """Return the health of poolers by id, the worst of their pools and entries; no row is read where nobody waits."""
    listed = {pooler.pk: pooler for pooler in poolers}
    queues = sampler.last_queues(listed.values())
    saturated = _saturated({key: one for key, one in queues.items() if one.waiting and _is_known(one)})
    worst = dict.fromkeys(saturated, Health.SATURATED)
    waits = {key: worst.get(key, Health.WAITING) for key, one in queues.items() if one.waiting}
    return {key: _of_pooler(one, queues.get(key), waits.get(key, Health.OK)) for key, one in listed.items()}


def _of_pooler(pooler: Pooler, queues: LastQueues | None, worst: Health) -> KnownHealth:
    if queues is None or not _is_known(queues) or _is_uncounted(pooler):
        return UNKNOWN
    return KnownHealth(worst, queues.at)


def _saturated(waiting: Queues) -> set[UUID]:
    """Return those of the poolers with a pool or an entry whose clients wait while all its servers work."""
    pools, entries = waiting_of(Pool.objects.wanted(), waiting), waiting_of(Entry.objects.unmanaged(), waiting)
    found = {pool.pooler_id for pool, health in pools if health == Health.SATURATED}
    return found | {entry.pooler_id for entry, health in entries if health == Health.SATURATED}


def waiting_queues() -> Queues:
    """Return the queues of the poolers whose clients wait by the last samples, in one query."""
    queues = sampler.last_queues(Pooler.objects.only("version"))
    return {key: one for key, one in queues.items() if one.waiting and _is_known(one)}


def waiting_of(rows: QuerySet[Queued], waiting: Queues) -> Iterator[tuple[Queued, Health]]:
    """Yield those of the pools or entries whose clients wait, by these queues: in at most one query."""
    names = {name for one in waiting.values() for name in one.waiting}
    if not names:
        return
    for record in rows.filter(pooler__in=list(waiting), name__in=names).select_related("pooler"):
        if figures := waiting[record.pooler_id].waiting.get(record.name):
            yield record, of_figures(record, figures)


def _is_known(queues: LastQueues) -> bool:
    """Return whether a poll tells of now: the console answered, and not long ago."""
    return not queues.error and time.time() - queues.at < OLDEST_S
