"""Waits for workers: until a pool, or a pooler's settings, are applied or refused."""

import time
from collections.abc import Callable
from typing import TypeVar

from pools.models import Pool, Pooler, PoolState

POLL_EVERY_S = 0.1
Found = TypeVar("Found")


def wait_for_pool(pool: Pool, seconds: float) -> Pool | None:
    """Wait at most `seconds` until the pool is settled; return it as it is then, or None once its record is gone.

    A pool that is still pending then has its reason in `state_reason`, where a worker has tried.
    """

    def read() -> tuple[bool, Pool | None]:
        found = Pool.objects.select_related("pooler", "cluster").filter(pk=pool.pk).first()
        return found is None or _is_settled(found), found

    return _poll(read, seconds)


def wait_for_settings(pooler: Pooler, seconds: float) -> Pooler:
    """Wait at most `seconds` until the settings of the pooler are applied or refused; return it as it is then."""

    def read() -> tuple[bool, Pooler]:
        pooler.refresh_from_db()
        return pooler.settings_state != PoolState.PENDING, pooler

    return _poll(read, seconds)


def _is_settled(pool: Pool) -> bool:
    """Return whether no worker has to do anything for it; a refused removal leaves the pool as it was."""
    return pool.removal_requested_at is None and pool.state != PoolState.PENDING


def _poll(read: Callable[[], tuple[bool, Found]], seconds: float) -> Found:
    deadline = time.monotonic() + seconds
    while True:
        is_settled, found = read()
        if is_settled or (left := deadline - time.monotonic()) <= 0:
            return found
        time.sleep(min(POLL_EVERY_S, left))
