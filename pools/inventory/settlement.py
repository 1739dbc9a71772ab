"""What waits for workers, and waiting for them: until a pool, or a pooler's settings, are applied or refused."""

from collections.abc import Iterable
from uuid import UUID

from django.db.models import Q

from core.lib.polling import poll
from pools.models import Pool, Pooler, PoolState, TakeOver
from pools.models.take_overs import WAITING


def pending_among(poolers: Iterable[Pooler]) -> set[UUID]:
    """Return the ids of those on which a pool or the settings are not verified as live yet, in one query."""
    waiting = Q(pk__in=Pool.objects.unsettled().values("pooler")) | Q(settings_state=PoolState.PENDING)
    chosen = Pooler.objects.filter(pk__in=[pooler.pk for pooler in poolers])
    return set(chosen.filter(waiting).values_list("pk", flat=True))


def found_pool(pk: UUID) -> Pool | None:
    """Return the pool as it is now, None once its record is gone."""
    return Pool.objects.select_related("pooler", "cluster").filter(pk=pk).first()


def is_pool_settled(pk: UUID) -> bool:
    """Tell whether no worker has to do anything for the pool, or its record is gone."""
    return (found := found_pool(pk)) is None or _is_settled(found)


def wait_for_pool(pool: Pool, seconds: float) -> Pool | None:
    """Wait at most `seconds` until the pool is settled; return it as it is then, or None once its record is gone.

    A pool that is still pending then has its reason in `state_reason`, where a worker has tried.
    """

    def read() -> tuple[bool, Pool | None]:
        found = found_pool(pool.pk)
        return found is None or _is_settled(found), found

    return poll(read, seconds)


def wait_for_settings(pooler: Pooler, seconds: float) -> Pooler:
    """Wait at most `seconds` until the settings of the pooler are applied or refused; return it as it is then."""

    def read() -> tuple[bool, Pooler]:
        pooler.refresh_from_db()
        return pooler.settings_state != PoolState.PENDING, pooler

    return poll(read, seconds)


def is_pooler_settled(pk: UUID) -> bool:
    """Tell whether nothing of the pooler is pending and no apply runs, or its record is gone."""
    pooler = Pooler.objects.filter(pk=pk).first()
    if pooler is None:
        return True
    is_pending = pooler.settings_state == PoolState.PENDING or pooler.pools.unsettled().exists()
    return not is_pending and pooler.apply_token is None


def is_take_over_settled(pk: UUID) -> bool:
    """Tell whether no worker has to do anything for it."""
    return not TakeOver.objects.filter(pk=pk, state__in=WAITING).exists()


def _is_settled(pool: Pool) -> bool:
    """Return whether no worker has to do anything for it; a refused removal leaves the pool as it was."""
    return pool.removal_requested_at is None and pool.state != PoolState.PENDING
