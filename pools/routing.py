"""Sends runs to generators, and an apply or a look for drift to the worker that can write the pooler's folder."""

from collections.abc import Sequence
from typing import Any

from django.conf import settings

from panel.lib import queues
from pools.config_files import folder_owner
from pools.models import Pooler

OF_FOLDERS = frozenset({"pools.tasks.apply_pooler", "pools.tasks.overwrite_drift", "pools.tasks.look_at_pooler"})


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
