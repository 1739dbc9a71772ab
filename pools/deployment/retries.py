"""Tries what was refused again by itself, as soon as what surrounded the refusal has changed.

A full disk, a broken line of the operator's, a database that is not there yet, a rule of pg_hba.conf, a server that is
down: none of them is a fault of the pool. Their end is looked for every few seconds; the same refusal under the same
circumstances is not repeated.
"""

import logging
from datetime import timedelta

import redis
from django.core.cache import cache
from django.db.models import Q, QuerySet
from django.utils import timezone

from pools.deployment import circumstances
from pools.deployment.circumstances import Login
from pools.models import REFUSED_STATES, Pool, Pooler, PoolState

logger = logging.getLogger(__name__)

AWAY = "away"  # a server that an apply waits for did not answer
# Roles of refused pools log in at each look at first, then once a minute: each refusal is a line in the server's log.
OFTEN_FOR, SELDOM_S = timedelta(minutes=10), 60


def record_circumstances(pooler: Pooler) -> None:
    """Record what surrounds the refusals of an apply that has just ended, where there are any."""
    if _refused().filter(pk=pooler.pk).exists():
        observed = circumstances.observe(pooler, log_in=True)
        Pooler.objects.filter(pk=pooler.pk).update(refused_amid=str(observed))


def retry_if_changed(pooler: Pooler) -> None:
    """Make what was refused pending again where its circumstances changed; end the rest of one whose servers answer."""
    if pooler.rests_until and pooler.rests_until > timezone.now() and pooler.refused_amid == AWAY:
        if _any_server_recovered(pooler):
            Pooler.objects.filter(pk=pooler.pk).update(rests_until=None, refused_amid="")
    elif pooler.refused_amid not in ("", AWAY) and _has_changed(pooler):
        _make_pending(pooler)


def poolers_to_retry() -> list[Pooler]:
    """List the poolers on which something was refused, or whose applies wait for a server."""
    waiting = Q(pk__in=_refused()) | Q(rests_until__isnull=False)
    return list(Pooler.objects.managed().exclude(refused_amid="").filter(waiting))


def _has_changed(pooler: Pooler) -> bool:
    return circumstances.observe(pooler, log_in=_may_log_in(pooler)).differ_from(pooler.refused_amid)


def _make_pending(pooler: Pooler) -> None:
    logger.info("pooler %s: what was refused is tried again", pooler.pk)
    pooler.pools.filter(state__in=REFUSED_STATES).update(state=PoolState.PENDING, state_reason="")
    own = Pooler.objects.filter(pk=pooler.pk)
    own.filter(settings_state__in=REFUSED_STATES).update(settings_state=PoolState.PENDING, settings_reason="")
    own.update(refused_amid="")


def _refused() -> QuerySet[Pooler]:
    pools = Pool.objects.filter(state__in=REFUSED_STATES).values("pooler")
    return Pooler.objects.filter(Q(pk__in=pools) | Q(settings_state__in=REFUSED_STATES))


def _may_log_in(pooler: Pooler) -> bool:
    """Return whether the roles of refused pools may log in now; not while Redis, which counts, is away."""
    last = pooler.revisions.values_list("finished_at", flat=True).first()
    if last and timezone.now() - last < OFTEN_FOR:
        return True
    try:
        return cache.add(f"retry-logins:{pooler.pk}", 1, SELDOM_S)
    except (redis.RedisError, OSError):
        return False


def _any_server_recovered(pooler: Pooler) -> bool:
    """Return whether a server that pending pools lead to is neither down nor full any more.

    All other pending pools were applied before the rest began.
    """
    pending = {pool.route: pool for pool in pooler.pools.unsettled().select_related("cluster", "pooler")}
    return not all(circumstances.in_parallel(Login.is_away, list(circumstances.logins_of(pending.values()))))
