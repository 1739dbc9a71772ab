"""Sends runs to workers; the database is the queue, so that a message lost with Redis is sent again."""

import logging

from celery import current_app
from django.conf import settings
from kombu.exceptions import OperationalError

from benchmarks.models import ACTIVE, Run

log = logging.getLogger(__name__)

TASK = "benchmarks.tasks.run_benchmark"
AT_ONCE = 20


def dispatch(run: Run) -> bool:
    """Send one run's id; False when the broker can't be reached, in which case a later look sends it."""
    try:
        current_app.send_task(TASK, args=[str(run.pk)], retry=False)
    except (OperationalError, OSError) as error:
        log.warning("run %s can't be sent to a worker yet, it stays queued: %s", run.pk, error)
        return False
    return True


def dispatch_due() -> int:
    """Send the runs that nothing keeps waiting, the earliest of each cluster; how many were sent.

    A busy generator sends none: its own end of run does, and messages would pile up meanwhile.
    """
    if Run.objects.filter(status__in=ACTIVE, generator=settings.GENERATOR).exists():
        return 0
    sent = 0
    for run in Run.objects.due()[:AT_ONCE]:
        if not dispatch(run):
            break
        sent += 1
    return sent
