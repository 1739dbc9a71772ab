"""Asks whether clients can use pools, by logging in through each of them from time to time.

Every five minutes, sooner where something failed, and every half hour through a pool that holds no server connection,
since a login opens one. After its logins a pooler rests a hundred times as long as they took.
"""

import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import datetime, timedelta
from uuid import UUID

from django.db.models import Q
from django.utils import timezone

from pools.errors import PoolerUnreachable
from pools.models import Pool, PoolerState, PoolFinding, PoolState
from pools.monitoring import redis_store, sampler
from pools.monitoring.pool_checks import AT_ONCE, Login, applied, logins_of
from pools.monitoring.redis_store import SharingDown
from pools.monitoring.sampler import ConsoleSnapshot
from pools.poolers import driver
from pools.poolers.console_sample import PoolFigures
from pools.poolers.faults import Rejected, Unproved

EVERY, EVERY_IDLE, EVERY_FAILING = timedelta(minutes=5), timedelta(minutes=30), timedelta(seconds=8)
REST_FACTOR = 100  # The panel's logins take at most 1 % of a pooler's time.
ROUND_S = 0.1  # duration of a round of logins, after which the pooler rests
COST_S = 0.1  # the most that one login costs its pooler: what takes longer waits for a server
CONSOLES_WITHIN_S = 3.0
NAMES_AT_ONCE = 100
IDLE = PoolFigures()


def log_in() -> Iterator[PoolFinding]:
    """Log in through the pools that are due, those longest unproved first, and yield what came of it."""
    by_pooler: dict[UUID, list[Login]] = defaultdict(list)
    for login in logins_of(_due()):
        is_hopeless = login.pool.state == PoolState.FAILING and login.catalog.fault(login.pool)
        if login.password and not is_hopeless:
            by_pooler[login.pool.pooler_id].append(login)
    with ThreadPoolExecutor(AT_ONCE, thread_name_prefix="probe") as threads:
        for findings in threads.map(_log_in_within_share, by_pooler.values()):
            yield from findings


def make_due(snapshots: Mapping[UUID, ConsoleSnapshot]) -> None:
    """Make a login due at once through each pool whose clients wait while no server connection works for them."""
    for pooler_id, snapshot in snapshots.items():
        stuck = [name for name, one in snapshot.figures.items() if one.cl_waiting and not one.sv_active]
        for start in range(0, len(stuck), NAMES_AT_ONCE):
            names = stuck[start : start + NAMES_AT_ONCE]
            Pool.objects.filter(pooler=pooler_id, name__in=names, state=PoolState.APPLIED).update(proved_at=None)


def _due() -> list[Pool]:
    now = timezone.now()
    before = {PoolState.FAILING: now - EVERY_FAILING, PoolState.APPLIED: now - EVERY}
    late = Q(proved_at=None)
    for state, moment in before.items():
        late |= Q(state=state, proved_at__lt=moment)
    pools = list(applied().filter(late, pooler__state=PoolerState.ONLINE).order_by("proved_at"))
    poolers = {pool.pooler_id: pool.pooler for pool in pools}
    snapshots = sampler.snapshots_of(poolers.values(), CONSOLES_WITHIN_S)
    return [pool for pool in pools if _is_due(pool, snapshots[pool.pooler_id], now)]


def _is_due(pool: Pool, snapshot: ConsoleSnapshot, now: datetime) -> bool:
    """Return whether a login tells anything: not while the console is silent, seldom where it opens a connection."""
    if snapshot.error:
        return False
    figures = snapshot.figures.get(pool.name, IDLE)
    if pool.state == PoolState.FAILING or figures.sv_active or figures.sv_idle or figures.sv_used:
        return True
    return pool.proved_at is None or pool.proved_at < now - EVERY_IDLE


def _log_in_within_share(logins: Sequence[Login]) -> list[PoolFinding]:
    """Log in through pools of one pooler for as long as its share of this round lasts."""
    pooler_id, spent_s, found = logins[0].pool.pooler_id, 0.0, []
    key = f"logins:{pooler_id}"
    if _is_resting(key):
        return []
    for login in logins:
        began = time.monotonic()
        found += _finding(login)
        spent_s += min(time.monotonic() - began, COST_S)
        if spent_s >= ROUND_S:
            break
    with suppress(SharingDown):
        redis_store.hold(key, spent_s * REST_FACTOR)
    return found


def _is_resting(key: str) -> bool:
    """Return whether a pooler rests; nothing is claimed, since a process that died would keep it for long."""
    try:
        return redis_store.is_held(key)
    except SharingDown:
        return False


def _finding(login: Login) -> list[PoolFinding]:
    """Log in once; nothing where the pool is full or shut, or the pooler stopped answering."""
    pool = login.pool
    if not login.digest and (refusal := login.refusal()):  # open connections hide a password that changed
        return [PoolFinding(pool, refusal, tried=True)]
    try:
        driver(pool.pooler).probe(pool, login.role, login.password)
    except Rejected as fault:
        return [PoolFinding(pool, login.refusal() or str(fault), tried=True)]
    except Unproved:
        return [PoolFinding(pool, tried=True)]
    except PoolerUnreachable:
        return []
    return [PoolFinding(pool, tried=True, served=True)]
