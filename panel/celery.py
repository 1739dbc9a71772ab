"""The Celery application; a worker is a generator for runs, a worker for other tasks, or both."""

import logging
import os
import socket
import time
from typing import TYPE_CHECKING

from celery import Celery, Task
from celery.signals import (
    beat_init,
    before_task_publish,
    heartbeat_sent,
    import_modules,
    task_postrun,
    task_prerun,
    worker_init,
    worker_process_init,
    worker_ready,
    worker_shutting_down,
)
from django.conf import settings
from django.db import InterfaceError, OperationalError, connection

from benchmarks.errors import QueueDown
from benchmarks.generators import file_changes, heartbeats
from benchmarks.generators.consumption import Consumption
from core.lib import acknowledgements, env, gc_tuning, queues

if TYPE_CHECKING:
    from core.audit.actors import Origin

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "panel.settings")
# Celery runs Django's system checks at each start and shows nothing of them; they would import all pages and the API.
os.environ.setdefault("CELERY_SKIP_CHECKS", "1")

logger = logging.getLogger(__name__)


@import_modules.connect  # This connects before the application connects its import of Django and the tasks.
def pause_garbage_collection(**_: object) -> None:
    """Pause garbage collection while workers and beat import all tasks."""
    gc_tuning.pause()


acknowledgements.install()
app = Celery("pooldeck", task_cls="core.installation.pausing:PausableTask")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()


@app.on_after_configure.connect
def sign_messages(sender: Celery, **_: object) -> None:
    """Sign what this process sends, and accept only what an accepted certificate signed, where keys are given."""
    if sender.conf.security_key:
        sender.setup_security()
        before_task_publish.connect(_give_expiry, weak=False)


def _give_expiry(body: dict[str, object], **_: object) -> None:
    from core.installation import signed_messages  # models, which need Django set up

    signed_messages.give_expiry(body)


@worker_init.connect
@worker_process_init.connect
def act_as_worker(**_: object) -> None:
    """Let the audit trail name this worker for what its processes and their threads do."""
    from core.audit import actors  # models, which need Django set up

    actors.set_of_process(_origin(""))


@task_prerun.connect
def act_for_task(task: "Task[..., object]", **_: object) -> None:
    """Let the audit trail name the schedule whose task begins, or this worker, and the task."""
    from core.audit import actors  # models, which need Django set up

    actors.begin(_origin(task.name))


@task_postrun.connect
def end_task(**_: object) -> None:
    """Let the audit trail name the task no longer."""
    from core.audit import actors  # models, which need Django set up

    actors.end()


def _origin(task: str) -> "Origin":
    from core.audit.actors import Actor, Origin  # models, which need Django set up
    from core.audit.models import ActorKind

    scheduled = next((name for name, one in settings.CELERY_BEAT_SCHEDULE.items() if one["task"] == task), "")
    actor = Actor(ActorKind.SCHEDULE, scheduled) if scheduled else Actor(ActorKind.WORKER, settings.GENERATOR)
    return Origin(actor, f"{socket.gethostname()}: {task}" if task else socket.gethostname())


DATABASE_AGAIN_S = 2
files = file_changes.Watch()
consumption = Consumption()


@worker_init.connect
@worker_process_init.connect
@beat_init.connect
def freeze_imported_modules(**_: object) -> None:
    """Exclude imported modules from garbage collection, so that none stalls a load; all tasks are imported by now."""
    gc_tuning.freeze_existing()


@worker_init.connect
@beat_init.connect
def end_without_a_needed_key(**_: object) -> None:
    """End a worker or beat that lacks a key of stored secrets."""
    from panel import start  # models, which need Django set up

    start.end_without_a_needed_key()


@beat_init.connect
def recognize_a_copy(**_: object) -> None:
    """Pause a panel that is a copy before beat sends a task; beat waits while the metadata database is down."""
    from panel import start  # models, which need Django set up

    home = env.home()
    home.mkdir(parents=True, exist_ok=True)
    while True:
        try:
            start.recognize_a_copy(home)
        except (OperationalError, InterfaceError) as error:
            logger.warning("the metadata database does not answer, beat waits for it: %s", error)
            connection.close()
            time.sleep(DATABASE_AGAIN_S)
        else:
            return


@heartbeat_sent.connect
def send_heartbeat(**_: object) -> None:
    """Write this worker's heartbeat, every 2 s."""
    heartbeats.report_alive()


@heartbeat_sent.connect
def report_stall(**_: object) -> None:
    """Report for how long this worker has taken no message although some wait: its heartbeats go on then.

    One that executes runs is asked while it has none: whoever restarts a stalled worker would end them.
    """
    from celery.worker import state  # of workers only

    places = 1 if settings.WORKER.takes_runs else consumption.places
    try:
        waiting = heartbeats.waiting(queues.listened_on(settings.WORKER, settings.GENERATOR))
        could_take = waiting > 0 and len(state.reserved_requests) < places
        begins = consumption.observe(time.monotonic(), state.all_total_count[0], could_take=could_take)
        heartbeats.report_stall(settings.GENERATOR, consumption.stalled_s)
    except QueueDown:
        return  # its heartbeat has logged it
    if begins:
        text = "this worker has taken no message for %.0f s, and %d wait: restart it"
        logger.error(text, consumption.stalled_s, waiting)


@worker_init.connect
def count_places(sender: object, **_: object) -> None:
    """Note how many messages this worker may have at a time."""
    consumption.places = getattr(sender, "concurrency", None) or 1


@heartbeat_sent.connect
def register_changed_files(**_: object) -> None:
    """Queue a new description of this worker when its files change, so that runs can use a new JMeter plan."""
    if settings.WORKER.takes_runs and files.found_change():
        queue = queues.of_generator(settings.GENERATOR)
        app.send_task("benchmarks.tasks.describe_generator", queue=queue, expires=60, retry=False)


@worker_shutting_down.connect
def let_runs_end(how: str, **_: object) -> None:
    """Let running loads end within POOLDECK_DRAIN_SECONDS; Celery itself would wait for a day's run."""
    from benchmarks.runs.execution import worker_shutdown  # models, which need Django set up

    if settings.WORKER.takes_runs and how == "Warm":
        worker_shutdown.begin(settings.DRAIN_SECONDS)


@worker_ready.connect
def remove_left_keys(**_: object) -> None:
    """Remove the keys of SSH that a killed worker left here."""
    from pools.hosts import ssh_client  # models, which need Django set up

    ssh_client.remove_left_folders()


@worker_ready.connect
def ask_for_its_description(**_: object) -> None:
    """Queue the registration of this worker; it may be ready before its first heartbeat."""
    send_heartbeat()
    if settings.WORKER.takes_runs:
        files.found_change()  # later changes are registered by the heartbeat
        queue = queues.of_generator(settings.GENERATOR)
        app.send_task("benchmarks.tasks.register_generator", queue=queue, expires=60)
