"""Asks workers to go on with experiments: after a start, at the end of each run, and by beat."""

import logging

from celery import current_app
from kombu.exceptions import OperationalError

log = logging.getLogger(__name__)

TASK = "benchmarks.tasks.advance_experiments"
EXPIRES_S = 30


def request_advance() -> None:
    """Send the task; where the queue is down, beat does it later."""
    try:
        current_app.send_task(TASK, retry=False, expires=EXPIRES_S)
    except (OperationalError, OSError) as error:
        log.warning("experiments go on when the queue is back: %s", error)
