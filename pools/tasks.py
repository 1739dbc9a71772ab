"""What workers do for pools: apply, and look at everything again and again."""

from uuid import UUID

from celery import Task, shared_task
from django.contrib.auth import get_user_model
from django.db import models

from pools import deployment, task_queue
from pools.clusters import health_check
from pools.config_files import folder_owner
from pools.console import commands
from pools.deployment import drift, stale_verifiers
from pools.inventory import poolers
from pools.models import Pooler
from pools.monitoring import notifications, recorder

# beat's; a message that a stopped worker did not take by then is sent again
NEXT_APPLY_S = 5
NEXT_CHECK_S = 30
OVERWRITE_TRIES = 300  # seconds, in which the longest apply ends


@shared_task
def apply_pooler(pooler_id: str, user_id: int | None = None) -> None:
    """Bring what is asked of a pooler live, in the name of the user who asked."""
    if pooler := Pooler.objects.filter(pk=UUID(pooler_id)).first():
        deployment.apply_pooler(pooler, _user(user_id))


@shared_task(bind=True, autoretry_for=(deployment.Busy,), default_retry_delay=1, max_retries=OVERWRITE_TRIES)
def overwrite_drift(self: Task, pooler_id: str, user_id: int | None = None) -> None:  # type: ignore[type-arg]
    """Bring what is asked of a pooler live over what somebody changed in its files by hand.

    It waits for an apply that is at work: without that, an overwrite right after an apply had no effect.
    """
    if pooler := Pooler.objects.filter(pk=UUID(pooler_id)).first():
        deployment.apply_pooler(pooler, _user(user_id), overwrite=True)


@shared_task
def apply_what_waits() -> None:
    """Apply poolers that have unsettled pools (their task got lost, or they were down), each where it can be."""
    for pooler in deployment.waiting_poolers():
        if task_queue.is_ours(pooler):
            deployment.apply_pooler(pooler)
        else:
            apply_pooler.apply_async((str(pooler.pk),), expires=NEXT_APPLY_S)
            folder_owner.report_missing_workers(pooler)


@shared_task
def catch_up() -> None:
    """Have processes of poolers that were busy at an apply read what it wrote."""
    deployment.catch_up_all()


@shared_task
def check_everything() -> None:
    """Look at every cluster and every pooler."""
    before = stale_verifiers.digests()
    health_check.check_all()
    stale_verifiers.mark(before, stale_verifiers.digests())
    poolers.check_all()


@shared_task
def check_drift() -> None:
    """Look whether pools are still live as they were proved, each where its files can be read.

    Apart from the checks, which dead servers hold up.
    """
    for pooler in drift.comparable():
        is_ours = task_queue.is_ours(pooler)
        if not is_ours:
            check_pooler.apply_async((str(pooler.pk),), expires=NEXT_CHECK_S)
        if is_ours or folder_owner.of(pooler).is_silent:  # its console can be asked from anywhere
            drift.check(pooler)


@shared_task
def check_pooler(pooler_id: str) -> None:
    """Look whether one pooler is still live as it was proved."""
    if pooler := Pooler.objects.filter(pk=UUID(pooler_id)).first():
        drift.check(pooler)


@shared_task
def resume_paused_pools() -> None:
    """Let the clients of pools go on whose pause is over, also of those that a dead process left pausing."""
    commands.resume_due()


def _user(user_id: int | None) -> models.Model | None:
    """None for beat, and for somebody who was removed meanwhile."""
    return get_user_model().objects.filter(pk=user_id).first() if user_id is not None else None


@shared_task
def record_figures() -> None:
    """Look at every console, keep what pools do, and open or close events."""
    recorder.record()


@shared_task
def send_notifications() -> None:
    """Send what is due to be told of events."""
    notifications.send_due()
