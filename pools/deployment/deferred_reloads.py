"""What an apply had to leave behind because it was busy, brought up to date once it is free."""

import logging

from pools.deployment import lock_owner
from pools.errors import PoolsError
from pools.models import Pooler
from pools.poolers import KINDS

logger = logging.getLogger(__name__)


def catch_up_all() -> None:
    """At every pooler that an apply left something behind at."""
    for pooler in Pooler.objects.exclude(children_behind=[]):
        _catch_up(pooler)


def _catch_up(pooler: Pooler) -> None:
    """Not while an apply is under way: it does so itself, and its files may be half of a kind."""
    if not pooler.take_apply_lock(lock_owner.this_process()):
        return
    try:
        pooler.refresh_from_db(fields=["children_behind"])
        KINDS[pooler.kind].catch_up(pooler)
    except PoolsError as error:
        logger.info("pooler %s: %s children are still to read its passwords: %s", pooler.pk, pooler.behind, error)
    finally:
        pooler.release_apply_lock()
