"""Sends the tasks of pools to their queues: an apply or a drift check goes to the pooler's folder owner.

Tasks are sent by name, since `pools.tasks` imports all other modules here.
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
from django.utils.translation import gettext as _
from kombu.exceptions import OperationalError

from core.audit.acts import subject_with
from core.audit.recording import attempt
from core.installation import pausing
from core.lib import queues
from pools.config_files import folder_owner
from pools.errors import IllegalTransition, QueueDown
from pools.models import Pool, Pooler, PoolState

logger = logging.getLogger(__name__)

APPLY, OVERWRITE, CHECK = "pools.tasks.apply_pooler", "pools.tasks.overwrite_drift", "pools.tasks.check_pooler"
RETRY, COUNT_LOGINS = "pools.tasks.retry_refused", "pools.tasks.count_logins_of"
RUN_COMMANDS = "pools.tasks.run_cluster_commands"
OF_FOLDERS = frozenset({APPLY, OVERWRITE, CHECK, RETRY, COUNT_LOGINS})


def ask(pooler_ids: Iterable[UUID], author: models.Model | None = None) -> None:
    """Queue an apply of these poolers after the commit, in the author's name; if the queue is down, beat does it later.

    The author is not stored: an apply by beat has none.
    """
    for pooler_id in set(pooler_ids):
        transaction.on_commit(partial(_send, str(pooler_id), _id_of(author)))


def ask_again(pools: Iterable[Pool], author: models.Model | None = None) -> None:
    """Mark pools as pending and queue an apply, after their cluster's address or password changed."""
    pools = list(pools)
    Pool.objects.filter(pk__in=[pool.pk for pool in pools]).update(
        state=PoolState.PENDING, state_reason="", updated_at=timezone.now()
    )
    ask((pool.pooler_id for pool in pools), author)


def ask_to_overwrite(pooler_id: UUID, author: models.Model | None = None) -> None:
    """Queue an apply of a pooler that overwrites manual edits.

    The request is stored nowhere else, so it raises `QueueDown` if it is lost, and `IllegalTransition` while the panel
    is paused.
    """
    if pausing.is_paused():
        raise IllegalTransition(pausing.PAUSED)
    with attempt("pooler.overwrite", subject_with("pooler", pooler_id)):
        try:
            send(OVERWRITE, str(pooler_id), _id_of(author))
        except OperationalError as error:
            raise QueueDown(_("redis can't be reached, so the overwrite could not be queued: try again")) from error


def request_check(pooler_id: UUID) -> None:
    """Queue a drift check of a pooler by its folder owner; if the queue is down, beat does it later."""
    try:
        send(CHECK, str(pooler_id))
    except OperationalError as error:
        logger.warning("pooler %s will be checked when the queue is back: %s", pooler_id, error)


def request_commands() -> None:
    """Queue the operator's commands that are due after the commit; if the queue is down, beat does it later."""
    transaction.on_commit(_send_commands)


def send(name: str, *args: object) -> None:
    """Queue a task by name; raises `OperationalError` where the queue is down."""
    current_app.send_task(name, args=args)


def is_ours(pooler: Pooler) -> bool:
    """Return whether this process has access to the pooler's folder."""
    return folder_owner.of(pooler).worker in ("", settings.GENERATOR)


def route(name: str, args: Sequence[Any], *_: Any, **__: Any) -> dict[str, str] | None:
    """Route a task for Celery (its manual, "Routing Tasks"): to the folder owner's queue; None: the default queue."""
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


def _send_commands() -> None:
    try:
        send(RUN_COMMANDS)
    except OperationalError as error:
        logger.warning("commands of clusters will run when the queue is back: %s", error)


def _id_of(author: models.Model | None) -> int | None:
    return author.pk if author else None
