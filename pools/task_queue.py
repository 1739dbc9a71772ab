"""Asks the workers to bring poolers' wishes live, once the wish is committed."""

import logging
from collections.abc import Iterable
from functools import partial
from uuid import UUID

from django.db import models, transaction
from django.utils import timezone
from kombu.exceptions import OperationalError

from panel.installation import pausing
from pools import tasks
from pools.errors import IllegalTransition, QueueDown
from pools.models import Pool, PoolState

logger = logging.getLogger(__name__)


def ask(pooler_ids: Iterable[UUID], author: models.Model | None = None) -> None:
    """Have these poolers applied after the commit, in the author's name; where the queue is down, beat does it later.

    Nothing remembers the author until then: what beat applies has none.
    """
    for pooler_id in set(pooler_ids):
        transaction.on_commit(partial(_send, str(pooler_id), _id_of(author)))


def ask_again(pools: Iterable[Pool], author: models.Model | None = None) -> None:
    """Have pools rendered anew whose cluster's address or password changed under them."""
    pools = list(pools)
    Pool.objects.filter(pk__in=[pool.pk for pool in pools]).update(
        state=PoolState.PENDING, state_reason="", updated_at=timezone.now()
    )
    ask((pool.pooler_id for pool in pools), author)


def ask_to_overwrite(pooler_id: UUID, author: models.Model | None = None) -> None:
    """Have a pooler applied over changes made by hand; nothing remembers the order, so `QueueDown` says it is lost.

    Raises `IllegalTransition` while the panel is paused, for the same reason.
    """
    if pausing.is_paused():
        raise IllegalTransition(pausing.PAUSED)
    try:
        tasks.overwrite_drift.delay(str(pooler_id), _id_of(author))
    except OperationalError as error:
        raise QueueDown("redis can't be reached, so no worker can be told to overwrite: try again") from error


def ask_to_look(pooler_id: UUID) -> None:
    """Have a pooler's files looked at where they are; where the queue is down, beat asks for it later."""
    try:
        tasks.look_at_pooler.delay(str(pooler_id))
    except OperationalError as error:
        logger.warning("pooler %s will be looked at when the queue is back: %s", pooler_id, error)


def _send(pooler_id: str, user_id: int | None) -> None:
    try:
        tasks.apply_pooler.delay(pooler_id, user_id)
    except OperationalError as error:
        logger.warning("pooler %s will be applied when the queue is back: %s", pooler_id, error)


def _id_of(author: models.Model | None) -> int | None:
    return author.pk if author else None
