"""Changes settings of a pooler for clients that wait for the apply: what is not applied in time is undone."""

import logging

from django.db import models
from django.utils.translation import gettext as _

from pools.errors import ApplyFailed, PoolsError
from pools.inventory import pooler_settings, settlement
from pools.inventory.applied_pools import NotAppliedInTime
from pools.inventory.pooler_settings_validation import Values
from pools.inventory.sql_settings import SqlRight
from pools.models import Pooler, PoolState

logger = logging.getLogger(__name__)


def change(pooler: Pooler, values: Values, author: models.Model | None, right: SqlRight, seconds: float) -> Pooler:
    """Set some settings of the program and wait at most `seconds` until they are applied; else restore the old ones.

    Raises what `pooler_settings.change_settings` raises, `ApplyFailed` with the reason of a refusal, and
    `NotAppliedInTime`.
    """
    before = {name: pooler.settings.get(name) for name in values}  # None removes a setting
    changed = pooler_settings.change_settings(pooler, values, None, author, right)
    settled = settlement.wait_for_settings(changed, seconds)
    if settled.settings_state == PoolState.APPLIED:
        return settled
    failure = _failure(settled, seconds)
    try:
        pooler_settings.change_settings(settled, before, settled.version, author, right)
    except PoolsError as error:  # edited by somebody else since
        logger.warning("pooler %s keeps settings that were not applied: %s", settled.pk, error)
    raise failure


def _failure(settled: Pooler, seconds: float) -> PoolsError:
    params = {"pooler": settled, "reason": settled.settings_reason, "seconds": round(seconds)}
    if settled.settings_state != PoolState.PENDING:
        return ApplyFailed(_("the settings of pooler %(pooler)s were refused: %(reason)s") % params)
    if not settled.settings_reason:
        text = _("no worker applied the settings of pooler %(pooler)s within %(seconds)s s: see that one runs")
        return NotAppliedInTime(text % params)
    late = NotAppliedInTime(
        _("the settings of pooler %(pooler)s were not applied within %(seconds)s s: %(reason)s") % params
    )
    late.status = 409
    return late
