"""Dispatches runs to workers; the database is the queue, so that a message lost with Redis is sent again."""

import logging

from celery import current_app
from kombu.exceptions import OperationalError

from benchmarks.errors import QueueDown
from benchmarks.generators import host_files, machines, registry
from benchmarks.generators.registry import GeneratorStatus
from benchmarks.models import Run
from core.lib import queues

log = logging.getLogger(__name__)

TASK = "benchmarks.tasks.run_benchmark"
DESCRIBE = "benchmarks.tasks.describe_generator"
ANSWER_WITHIN_S = 120
EXAMINED_AT_MOST = 200


def dispatch(run: Run, generator: str = "") -> bool:
    """Send one run's id: to its generator (the first of several coordinates), else to this one, else to any free one.

    Returns False where the broker can't be reached; a later dispatch sends it.
    """
    to = run.generator or generator or (run.wanted_generators[0] if run.is_spread else "")
    queue = queues.of_generator(to) if to and not machines.is_by_ssh(to) else queues.RUNS
    try:
        current_app.send_task(TASK, args=[str(run.pk)], queue=queue, retry=False)
    except (OperationalError, OSError) as error:
        log.warning("run %s can't be sent to a worker yet, it stays queued: %s", run.pk, error)
        return False
    return True


def dispatch_new(run: Run) -> bool:
    """Send a new run; where any generator may take it, only to those that have its engine and its file."""
    alive = [] if run.generator or run.is_spread else _alive() or []
    return dispatch(run) if _capable(run, alive) == alive else _send(run, alive)


def dispatch_due() -> int:
    """Send each cluster's earliest run that nothing blocks, and all that may run alongside; return the number sent.

    A run for any generator goes to an idle one, so that no busy one takes its message; while none is idle, none is
    sent, since the end of a run dispatches again.
    """
    earliest: dict[object, Run] = {}
    for run in Run.objects.due()[:EXAMINED_AT_MOST]:
        earliest.setdefault(run.pk if run.alongside else run.cluster_id or run.pk, run)
    return sum(_send(run, alive) for run in earliest.values()) if earliest and (alive := _alive()) is not None else 0


def _alive() -> list[GeneratorStatus] | None:
    """Return the live generators; None while Redis is away, when nothing can be sent either."""
    try:
        return registry.alive()
    except QueueDown as error:
        log.warning("no run can be sent yet: %s", error)
        return None


def _send(run: Run, alive: list[GeneratorStatus]) -> bool:
    """Send a run to a generator that can start it now; return False where there is none."""
    if run.generator or run.is_spread:
        generators = {run.generator} if run.generator else set(run.wanted_generators)
        return generators <= {one.name for one in alive} and dispatch(run)
    if not alive:  # a Redis that lost its memory has no heartbeat of this worker yet
        return dispatch(run)
    able = _capable(run, alive)
    idle = sorted(able, key=lambda one: len(one.runs))[:1] if run.alongside else [one for one in able if not one.runs]
    return dispatch(run, idle[0].name) if idle else False


def _capable(run: Run, alive: list[GeneratorStatus]) -> list[GeneratorStatus]:
    """Return the generators that have what a run needs, as far as they reported."""
    need = host_files.needed(run.engine, run.options)
    return [one for one in alive if not one.ssh_host and host_files.can_carry(one, run.engine, need)]


def ask_generators() -> int:
    """Ask each live generator to describe itself; return the number asked."""
    alive = _alive() or []
    for generator in (one for one in alive if not one.ssh_host):
        current_app.send_task(DESCRIBE, queue=generator.queue, retry=False, expires=ANSWER_WITHIN_S)
    return len(alive)
