"""Reloads processes of poolers that were busy during an apply, once they are free."""

import logging

from pools.deployment import apply_lock
from pools.errors import PoolsError
from pools.models import Pooler
from pools.poolers import KINDS

logger = logging.getLogger(__name__)


def catch_up_all() -> None:
    """Complete the reload of every pooler that has processes with old passwords."""
    for pooler in Pooler.objects.exclude(children_behind=[]):
        _catch_up(pooler)


def _catch_up(pooler: Pooler) -> None:
    """Complete the reload of one pooler; no-op during an apply, which does so itself."""
    with apply_lock.acquire(pooler) as is_held:
        if not is_held:
            return
        try:
            pooler.refresh_from_db(fields=["children_behind"])
            KINDS[pooler.kind].catch_up(pooler)
        except PoolsError as error:
            logger.info("pooler %s: %s children are still to read its passwords: %s", pooler.pk, pooler.behind, error)
