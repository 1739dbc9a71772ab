"""The health of pools by the newest sample of their pooler: whether clients wait, and whether all servers are in use.

It stands beside the state of a pool, which tells whether its configuration is live.
"""

import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from uuid import UUID

from django.db import models
from django.utils.translation import gettext_lazy as _

from pools.models import Pool, Pooler
from pools.monitoring import sampler
from pools.monitoring.sampler import LastQueues
from pools.poolers import KINDS
from pools.poolers.console_sample import PoolFigures

OLDEST_S = 60.0  # a worker polls each console every ten seconds


class Health(models.TextChoices):
    """What a sample tells of a pool's clients."""

    OK = "ok", _("nobody waits")
    WAITING = "waiting", _("clients wait")
    SATURATED = "saturated", _("saturated")
    UNKNOWN = "unknown", _("unknown")


@dataclass(frozen=True)
class PoolHealth:
    """The health of a pool, and the time of the sample that tells it (Unix, in s); None where it is unknown."""

    health: Health
    at: float | None = None


UNKNOWN = PoolHealth(Health.UNKNOWN)


def of_figures(pool: Pool, figures: PoolFigures) -> Health:
    """Return the health by the figures of a sample: a pool is saturated if clients wait while all servers work."""
    if "cl_waiting" in KINDS[pool.pooler.kind].uncounted:
        return Health.UNKNOWN
    if not figures.cl_waiting:
        return Health.OK
    return Health.SATURATED if figures.sv_active >= pool.size * pool.pooler.process_count else Health.WAITING


def of_pools(pools: Iterable[Pool]) -> dict[UUID, PoolHealth]:
    """Return the health of pools by id, by the last sample of each pooler: no console is asked, no row is read."""
    listed = list(pools)
    queues = sampler.last_queues({pool.pooler_id: pool.pooler for pool in listed}.values())
    return {pool.pk: _of(pool, queues.get(pool.pooler_id)) for pool in listed}


def waiting_of(pools: "models.QuerySet[Pool]") -> Iterator[tuple[Pool, Health]]:
    """Yield those of the pools whose clients wait, by the last samples: in at most one query."""
    queues = sampler.last_queues(Pooler.objects.only("version"))
    waiting = {key: one.waiting for key, one in queues.items() if one.waiting and _is_known(one)}
    names = {name for figures in waiting.values() for name in figures}
    if not names:
        return
    for pool in pools.filter(pooler__in=waiting, name__in=names).select_related("pooler"):
        if figures := waiting[pool.pooler_id].get(pool.name):
            yield pool, of_figures(pool, figures)


def _is_known(queues: LastQueues) -> bool:
    """Return whether a poll tells of now: the console answered, and not long ago."""
    return not queues.error and time.time() - queues.at < OLDEST_S


def _of(pool: Pool, queues: LastQueues | None) -> PoolHealth:
    if queues is None or not _is_known(queues):
        return UNKNOWN
    health = of_figures(pool, queues.waiting.get(pool.name, PoolFigures()))
    return UNKNOWN if health == Health.UNKNOWN else PoolHealth(health, queues.at)
