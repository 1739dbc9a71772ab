"""Dispatches runs to workers; the database is the queue, so that a message lost with Redis is sent again."""

import logging
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from celery import current_app
from django.conf import settings
from kombu.exceptions import OperationalError

from benchmarks.errors import QueueDown
from benchmarks.generators import host_files, machines, registry, workload
from benchmarks.generators.registry import GeneratorStatus
from benchmarks.models import Run
from benchmarks.runs.submission import in_flight
from benchmarks.runs.submission.in_flight import Reservation
from core.lib import queues

log = logging.getLogger(__name__)

TASK = "benchmarks.tasks.run_benchmark"
DESCRIBE = "benchmarks.tasks.describe_generator"
ANSWER_WITHIN_S = 120
EXAMINED_AT_MOST = 200
EXAMINED = ("number", "cluster", "alongside", "generator", "wanted_generators", "engine", "options")
ANY_GENERATOR = ""


def dispatch(run: Run, generator: str = ANY_GENERATOR) -> bool:
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
    """Send what is due, unless this new run waits for others, whose end dispatches; return whether any was sent."""
    return Run.objects.due().filter(pk=run.pk).exists() and dispatch_due() > 0


def dispatch_due() -> int:
    """Send each cluster's earliest run that nothing blocks, and all that may run alongside; return the number sent.

    A run for any generator goes to an idle one, so that no busy one takes its message; while none is idle, none is
    sent, since the end of a run dispatches again. Each message is reserved first (`in_flight`): of many dispatches at
    once, as when fifty runs end together, one sends it.
    """
    try:
        free = _Free.now()
        return sum(_send(run, free) for run in _examined())
    except QueueDown as error:  # Redis is away, so that nothing can be sent either
        log.warning("no run can be sent yet: %s", error)
        return 0


def _examined() -> Iterable[Run]:
    """Return the runs that may start: of those that need their cluster for themselves, the earliest of each."""
    earliest: dict[object, Run] = {}
    for run in Run.objects.due().only(*EXAMINED)[:EXAMINED_AT_MOST]:
        earliest.setdefault(run.pk if run.alongside else run.cluster_id or run.pk, run)
    return earliest.values()


@dataclass
class _Free:
    """The generators that one dispatch may send to; each that was sent a run is `idle` no longer."""

    live: workload.Live
    carried: Counter[str]
    idle: list[str]
    _reported: dict[str, GeneratorStatus] = field(default_factory=dict)

    @classmethod
    def now(cls) -> "_Free":
        """Ask Redis and the database. Raises `QueueDown`."""
        live = workload.live()
        # Asked first: who takes a message in between is seen to carry its run.
        awaited = in_flight.generators(live.workers)
        carried = workload.carried()
        idle = [name for name in live.workers if name not in carried and name not in awaited]
        return cls(live, carried, sorted(idle, key=lambda name: name != settings.GENERATOR))

    def able(self, run: Run, names: Sequence[str]) -> list[str]:
        """Return those of these workers that have what the run needs, as far as they reported."""
        if unknown := [name for name in names if name not in self._reported]:
            self._reported |= {one.name: one for one in workload.reported(unknown)}
        need = host_files.needed(run.engine, run.options)
        return [name for name in names if host_files.can_carry(self._reported[name], run.engine, need)]

    def choices(self, run: Run) -> Iterator[tuple[str, list[str]]]:
        """Yield generators that can start the run now, each with those that its message keeps from another one."""
        if run.generator or run.is_spread:
            named = [run.generator] if run.generator else run.wanted_generators
            if self.live.names.issuperset(named):
                yield named[0], [] if run.alongside else named
        elif not self.live.workers:  # a Redis that lost its memory has no heartbeat of this worker yet
            yield ANY_GENERATOR, []
        elif run.alongside:
            able = self.able(run, self.live.workers)
            yield from ((name, []) for name in sorted(able, key=self.carried.__getitem__)[:1])
        elif self.idle:
            yield from ((name, [name]) for name in self.able(run, list(self.idle)))


def _send(run: Run, free: _Free) -> bool:
    """Send a run to a generator that can start it now; return False where there is none, or it is sent already."""
    for name, kept in free.choices(run):
        reservation = in_flight.reserve(run.pk, kept)
        if reservation == Reservation.RUN_IN_FLIGHT:
            return False
        free.idle = [one for one in free.idle if one not in kept]
        free.carried[name] += 1
        if reservation == Reservation.MADE:
            return _send_reserved(run, name)
    return False


def _send_reserved(run: Run, name: str) -> bool:
    sent = dispatch(run, name)
    if not sent:
        in_flight.end(run.pk)
    return sent


def ask_generators() -> int:
    """Ask each live generator to describe itself; return the number asked."""
    try:
        alive = registry.alive()
    except QueueDown as error:
        log.warning("no generator can be asked yet: %s", error)
        return 0
    for generator in (one for one in alive if not one.ssh_host):
        current_app.send_task(DESCRIBE, queue=generator.queue, retry=False, expires=ANSWER_WITHIN_S)
    return len(alive)
