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


def wait_for_pool(pool: Pool, seconds: float) -> Pool | None:
    """Wait at most `seconds` until the pool is settled; return it as it is then, or None once its record is gone.

    A pool that is still pending then has its reason in `state_reason`, where a worker has tried.
    """

    def read() -> tuple[bool, Pool | None]:
        found = Pool.objects.select_related("pooler", "cluster").filter(pk=pool.pk).first()
        return found is None or _is_settled(found), found

    return poll(read, seconds)


def wait_for_settings(pooler: Pooler, seconds: float) -> Pooler:
    """Wait at most `seconds` until the settings of the pooler are applied or refused; return it as it is then."""

    def read() -> tuple[bool, Pooler]:
        pooler.refresh_from_db()
        return pooler.settings_state != PoolState.PENDING, pooler

    return poll(read, seconds)


def wait_for_pooler(pooler: Pooler, seconds: float) -> Pooler:
    """Wait at most `seconds` until nothing of the pooler is pending and no apply runs; return it as it is then."""

    def read() -> tuple[bool, Pooler]:
        pooler.refresh_from_db()
        is_pending = pooler.settings_state == PoolState.PENDING or pooler.pools.unsettled().exists()
        return not is_pending and pooler.apply_token is None, pooler

    return poll(read, seconds)


def wait_for_take_over(taken: TakeOver, seconds: float) -> TakeOver:
    """Wait at most `seconds` until no worker has to do anything for it; return it as it is then."""

    def read() -> tuple[bool, TakeOver]:
        taken.refresh_from_db()
        return taken.state not in WAITING, taken

    return poll(read, seconds)


def _is_settled(pool: Pool) -> bool:
    """Return whether no worker has to do anything for it; a refused removal leaves the pool as it was."""
    return pool.removal_requested_at is None and pool.state != PoolState.PENDING
