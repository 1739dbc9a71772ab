"""Creates and changes pools for clients that wait for the apply: what is not applied in time is undone."""

import logging
from typing import cast

from django.db import models
from django.utils.translation import gettext as _

from pools.errors import ApplyFailed, NotThere, PoolsError
from pools.inventory import pools, settlement
from pools.inventory.pools import PoolValues
from pools.inventory.sql_settings import SqlRight
from pools.models import Pool, PoolState

logger = logging.getLogger(__name__)


class NotAppliedInTime(PoolsError):
    """No worker applied the pool in time; `status` is 409 where one tried, since it would fail again."""

    status = 503


def create(values: PoolValues, author: models.Model | None, right: SqlRight, seconds: float) -> Pool:
    """Create a pool and wait at most `seconds` until it is applied; else remove it again.

    Raises what `pools.create` raises, `ApplyFailed` with the reason of a refusal, and `NotAppliedInTime`.
    """
    pool = pools.create(values, author, right)
    settled = settlement.wait_for_pool(pool, seconds)
    if settled is None:
        raise NotThere(_("pool %(pool)s was removed while it was being applied") % {"pool": pool})
    if _is_live(settled):
        return settled
    failure = _failure(settled, seconds)
    pools.remove(settled, author)
    raise failure


def change(pool: Pool, values: PoolValues, author: models.Model | None, right: SqlRight, seconds: float) -> Pool:
    """Change a pool and wait at most `seconds` until that is applied; else restore the values from before.

    Raises what `pools.change` raises, and the same errors as `create`.
    """
    stored = {name: getattr(pool, name) for name in values}
    before = cast(PoolValues, stored | {"over_budget_confirm": _confirmed(pool)})
    changed = pools.change(pool, values, None, author, right)
    settled = settlement.wait_for_pool(changed, seconds)
    if settled is None:
        raise NotThere(_("pool %(pool)s was removed while it was being applied") % {"pool": pool})
    if not _is_live(settled):
        failure = _failure(settled, seconds)
        _restore(settled, before, author, right)
        raise failure
    return settled


def remove(pool: Pool, author: models.Model | None, seconds: float) -> None:
    """Remove a pool and wait at most `seconds` for that; a removal that takes longer goes on.

    Raises `ApplyFailed` where the pooler's configuration without the pool was refused.
    """
    pools.remove(pool, author)
    settled = settlement.wait_for_pool(pool, seconds)
    if settled is not None and settled.removal_requested_at is None:
        raise _failure(settled, seconds)


def _is_live(settled: Pool) -> bool:
    refused = (PoolState.ROLLED_BACK, PoolState.FAILED, PoolState.PENDING)
    return settled.state not in refused and settled.removal_requested_at is None


def _confirmed(pool: Pool) -> str:
    return pool.cluster.name if pool.over_budget_by else ""


def _restore(settled: Pool, before: PoolValues, author: models.Model | None, right: SqlRight) -> None:
    try:
        pools.change(settled, before, settled.version, author, right)
    except PoolsError as error:  # edited by somebody else since, or the old values are not valid any more
        logger.warning("pool %s keeps the values that were not applied: %s", settled.pk, error)


def _failure(settled: Pool, seconds: float) -> PoolsError:
    params = {"pool": settled, "seconds": round(seconds), "reason": settled.state_reason}
    if settled.state != PoolState.PENDING:
        return ApplyFailed(_("pool %(pool)s was refused: %(reason)s") % params)
    if not settled.state_reason:
        text = _("no worker applied pool %(pool)s within %(seconds)s s: see that one runs, then try again")
        return NotAppliedInTime(text % params)
    late = NotAppliedInTime(_("pool %(pool)s was not applied within %(seconds)s s: %(reason)s") % params)
    late.status = 409
    return late
