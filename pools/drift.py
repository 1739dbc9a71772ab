"""Finds pools that are no longer live as they were proved: a hand edit, an older file, a restart elsewhere."""

import logging
from uuid import UUID

from django.utils import timezone

from pools import apply
from pools.errors import PoolerUnreachable
from pools.models import Pool, Pooler, PoolerState, PoolState
from pools.poolers import KINDS

logger = logging.getLogger(__name__)

PROVED = (PoolState.APPLIED, PoolState.DRIFTED)


def look_everywhere() -> None:
    """Compare every pooler that is online with its last applied revision."""
    for pooler in Pooler.objects.filter(state=PoolerState.ONLINE, pools__state__in=PROVED).distinct():
        look(pooler)


def look(pooler: Pooler) -> None:
    """Call pools drifted that the pooler has otherwise, and applied again those it has right once more."""
    at, last = _moment(pooler), apply.last_applied(pooler)
    if last is None or at is None:
        return
    try:
        faults = KINDS[pooler.kind].compare(pooler, last.files)
    except PoolerUnreachable as error:
        logger.info("pooler %s was not compared: %s", pooler.pk, error)
        return
    if _moment(pooler) == at:  # else an apply came between, and what was seen is no drift
        _record(pooler, faults)


def _record(pooler: Pooler, faults: dict[UUID, str]) -> None:
    for pool in pooler.pools.filter(state__in=PROVED):
        state, reason = (PoolState.DRIFTED, faults[pool.pk]) if pool.pk in faults else (PoolState.APPLIED, "")
        if (pool.state, pool.state_reason) != (state, reason):
            logger.warning("pool %s of pooler %s is %s: %s", pool.pk, pooler.pk, state, reason)
            same = Pool.objects.filter(pk=pool.pk, version=pool.version, state=pool.state)
            same.update(state=state, state_reason=reason)


def _moment(pooler: Pooler) -> tuple[object, ...] | None:
    """What changes with every apply; None while one is at work."""
    pooler.refresh_from_db(fields=["apply_token", "apply_lease_until"])
    if pooler.apply_lease_until and pooler.apply_lease_until > timezone.now():
        return None
    return pooler.apply_token, pooler.revisions.values_list("pk", "state").first()
