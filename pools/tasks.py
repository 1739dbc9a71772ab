"""What workers do for pools: apply, and look at everything each minute."""

from uuid import UUID

from celery import shared_task

from pools import apply, checking, drift, poolers_admin
from pools.models import Pooler


@shared_task
def apply_pooler(pooler_id: str) -> None:
    """Bring what is asked of a pooler live."""
    if pooler := Pooler.objects.filter(pk=UUID(pooler_id)).first():
        apply.apply_pooler(pooler)


@shared_task
def overwrite_drift(pooler_id: str) -> None:
    """Bring what is asked of a pooler live over what somebody changed in its files by hand."""
    if pooler := Pooler.objects.filter(pk=UUID(pooler_id)).first():
        apply.apply_pooler(pooler, overwrite=True)


@shared_task
def apply_what_waits() -> None:
    """Apply poolers that have unsettled pools: their task got lost, or they were down."""
    for pooler in apply.waiting_poolers():
        apply.apply_pooler(pooler)


@shared_task
def check_everything() -> None:
    """Look at every cluster and every pooler, and whether its pools are still live as they were proved."""
    checking.check_all()
    poolers_admin.check_all()
    drift.look_everywhere()
