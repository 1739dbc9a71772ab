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
    return dispatch(run) if _capable(run, alive) == alive else _send(run, alive, set())


def dispatch_due() -> int:
    """Send each cluster's earliest run that nothing blocks, and all that may run alongside; return the number sent.

    A run for any generator goes to an idle one, so that no busy one takes its message; while none is idle, none is
    sent, since the end of a run dispatches again. An idle one is sent one run: it would refuse all others, and with a
    hundred queued each end of a run would send a hundred messages.
    """
    earliest: dict[object, Run] = {}
    for run in Run.objects.due()[:EXAMINED_AT_MOST]:
        earliest.setdefault(run.pk if run.alongside else run.cluster_id or run.pk, run)
    if not earliest or (alive := _alive()) is None:
        return 0
    given: set[str] = set()
    return sum(_send(run, alive, given) for run in earliest.values())


def _alive() -> list[GeneratorStatus] | None:
    """Return the live generators; None while Redis is away, when nothing can be sent either."""
    try:
        return registry.alive()
    except QueueDown as error:
        log.warning("no run can be sent yet: %s", error)
        return None


def _send(run: Run, alive: list[GeneratorStatus], given: set[str]) -> bool:
    """Send a run to a generator that can start it now; return False where there is none.

    `given` are the idle generators that were sent a run already, to which this one is added.
    """
    if run.generator or run.is_spread:
        generators = {run.generator} if run.generator else set(run.wanted_generators)
        return generators <= {one.name for one in alive} and dispatch(run)
    if not alive:  # a Redis that lost its memory has no heartbeat of this worker yet
        return dispatch(run)
    if run.alongside:
        able = _capable(run, alive)
        return bool(able) and dispatch(run, min(able, key=lambda one: len(one.runs)).name)
    idle = [one for one in alive if not one.runs and one.name not in given]
    if not idle or not (able := _capable(run, idle)):
        return False
    given.add(able[0].name)
    return dispatch(run, able[0].name)


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
