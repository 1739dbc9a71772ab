"""The Celery application; a worker is a generator, the hand that applies configurations, or both."""

import ctypes
import logging
import os
import signal
import time
from typing import Any

from celery import Celery
from celery.signals import beat_init, heartbeat_sent, worker_init, worker_process_init, worker_ready
from django.conf import settings
from django.db import InterfaceError, OperationalError, connection

from benchmarks.errors import QueueDown
from benchmarks.generators import file_changes, heartbeats
from panel.lib import env, gc_tuning, queues

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "panel.settings")

logger = logging.getLogger(__name__)
app = Celery("pooldeck", task_cls="panel.installation.pausing:PausableTask")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()

PR_SET_PDEATHSIG = 1
DATABASE_AGAIN_S = 2
files = file_changes.Watch()


@worker_init.connect
@worker_process_init.connect
@beat_init.connect
def collect_only_what_comes(**_: Any) -> None:
    """Keep long collections out of the time of a load; all tasks are imported by now."""
    gc_tuning.leave_out_what_there_is()


@worker_process_init.connect
def die_with_the_worker(**_: Any) -> None:
    """End a pool child at once when its worker dies, so that the load it started dies too (prctl(2))."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


@beat_init.connect
def recognize_a_copy(**_: Any) -> None:
    """Before beat sends anything, pause a panel that is a copy; while its database is away nothing is sent either."""
    from panel.installation import copies  # a model, which needs Django set up

    home = env.home()
    home.mkdir(parents=True, exist_ok=True)
    while True:
        try:
            copies.recognize(home)
        except (OperationalError, InterfaceError) as error:
            logger.warning("the metadata database does not answer, beat waits for it: %s", error)
            connection.close()
            time.sleep(DATABASE_AGAIN_S)
        else:
            return


@heartbeat_sent.connect
def send_heartbeat(**_: Any) -> None:
    """Leave this worker's heartbeat, every 2 s; without Redis it has no work either, so a miss is only noted."""
    try:
        heartbeats.beat(settings.GENERATOR, settings.WORKER)
    except QueueDown as error:
        logger.warning("no heartbeat of worker %s: %s", settings.GENERATOR, error)


@heartbeat_sent.connect
def register_changed_files(**_: Any) -> None:
    """Let a child of this worker describe it anew as soon as a plan came or went, so that runs can name it."""
    if settings.WORKER.takes_runs and files.found_change():
        queue = queues.of_generator(settings.GENERATOR)
        app.send_task("benchmarks.tasks.describe_generator", queue=queue, expires=60, retry=False)


@worker_ready.connect
def ask_for_its_description(**_: Any) -> None:
    """Let a child of this worker write down what it has; a worker may be ready before its first heartbeat."""
    send_heartbeat()
    if settings.WORKER.takes_runs:
        files.found_change()  # what changes from here on is told anew
        queue = queues.of_generator(settings.GENERATOR)
        app.send_task("benchmarks.tasks.register_generator", queue=queue, expires=60)
