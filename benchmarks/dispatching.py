"""Sends runs to workers; the database is the queue, so that a message lost with Redis is sent again."""

import logging

from celery import current_app
from django.conf import settings
from kombu.exceptions import OperationalError

from benchmarks.models import ACTIVE, Run

log = logging.getLogger(__name__)

TASK = "benchmarks.tasks.run_benchmark"
LOOKED_AT = 200


def dispatch(run: Run) -> bool:
    """Send one run's id; False when the broker can't be reached, in which case a later look sends it."""
    try:
        current_app.send_task(TASK, args=[str(run.pk)], retry=False)
    except (OperationalError, OSError) as error:
        log.warning("run %s can't be sent to a worker yet, it stays queued: %s", run.pk, error)
        return False
    return True


def dispatch_due() -> int:
    """Send the earliest run of each cluster that nothing keeps waiting; how many were sent.

    A busy generator sends none: its own end of run does, and messages would pile up meanwhile.
    """
    if Run.objects.filter(status__in=ACTIVE, generator=settings.GENERATOR).exists():
        return 0
    earliest: dict[object, Run] = {}
    for run in Run.objects.due()[:LOOKED_AT]:
        earliest.setdefault(run.cluster_id or run.pk, run)
    return sum(dispatch(run) for run in earliest.values())
