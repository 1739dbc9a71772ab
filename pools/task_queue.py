"""Sends the tasks of pools to their queues: an apply or a look for drift to the worker that has the pooler's folder.

Tasks are sent by name: they stand on all else here.
"""

import logging
from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any
from uuid import UUID

from celery import current_app
from django.conf import settings
from django.db import models, transaction
from django.utils import timezone
from kombu.exceptions import OperationalError

from panel.installation import pausing
from panel.lib import queues
from pools.config_files import folder_owner
from pools.errors import IllegalTransition, QueueDown
from pools.models import Pool, Pooler, PoolState

logger = logging.getLogger(__name__)

APPLY, OVERWRITE, CHECK = "pools.tasks.apply_pooler", "pools.tasks.overwrite_drift", "pools.tasks.check_pooler"
OF_FOLDERS = frozenset({APPLY, OVERWRITE, CHECK})


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
        send(OVERWRITE, str(pooler_id), _id_of(author))
    except OperationalError as error:
        raise QueueDown("redis can't be reached, so no worker can be told to overwrite: try again") from error


def request_check(pooler_id: UUID) -> None:
    """Have a pooler's files looked at where they are; where the queue is down, beat asks for it later."""
    try:
        send(CHECK, str(pooler_id))
    except OperationalError as error:
        logger.warning("pooler %s will be looked at when the queue is back: %s", pooler_id, error)


def send(name: str, *args: object) -> None:
    """Queue a task; raises `OperationalError` where the queue is down."""
    current_app.send_task(name, args=args)


def is_ours(pooler: Pooler) -> bool:
    """Whether this process is where the pooler's folder is."""
    return folder_owner.of(pooler).worker in ("", settings.GENERATOR)


def route(name: str, args: Sequence[Any], *_: Any, **__: Any) -> dict[str, str] | None:
    """Celery's router (its manual, "Routing Tasks"): the queue of the folder's generator; None: that of all tasks."""
    if name not in OF_FOLDERS or not args:
        return None
    pooler = Pooler.objects.filter(pk=args[0]).only("pk").first()
    generator = folder_owner.of(pooler).worker if pooler else ""
    return {"queue": queues.of_poolers(generator)} if generator else None


def _send(pooler_id: str, user_id: int | None) -> None:
    try:
        send(APPLY, pooler_id, user_id)
    except OperationalError as error:
        logger.warning("pooler %s will be applied when the queue is back: %s", pooler_id, error)


def _id_of(author: models.Model | None) -> int | None:
    return author.pk if author else None
