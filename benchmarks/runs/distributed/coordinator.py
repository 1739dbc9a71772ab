"""Leads a run over several generators: calls its parts, starts them on one mark, merges what they say, ends them all.

The leader runs no load. It holds what is held once for all parts, and it alone writes to the whole, under the whole's
own lease and attempt; its parts see when the whole has ended, whoever ended it, and end with it.
"""

import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager
from queue import Queue

from benchmarks.errors import Fenced
from benchmarks.models import Run
from benchmarks.processes.process import QUEUED_EVENTS, drain
from benchmarks.runs import observers, setup
from benchmarks.runs.distributed import result
from benchmarks.runs.distributed.participants import Crew
from benchmarks.runs.execution import runner
from benchmarks.runs.execution.recorder import Recorder
from benchmarks.runs.execution.runner import DeadlinePassed, Ending, Stopped
from benchmarks.runs.observers import probes
from benchmarks.runs.observers.base import Overlay
from benchmarks.runs.setup.base import SetupContext

log = logging.getLogger(__name__)

LOOK_S = 0.1  # while the parts prepare
MERGE_S = 0.4
READY_WITHIN_S = 60.0
ENDED_WITHIN_S = 30.0  # a part whose worker died is found by its lease


def execute(run: Run) -> None:
    """Carry out a run over several generators that this worker claimed, to exactly one final state."""
    log.info("this worker leads run %s over %s", run.pk, ", ".join(run.wanted_generators))
    runner.bring_to_its_end(run, _lead)


def _lead(run: Run, recorder: Recorder) -> Ending:
    """The end of the whole; no part outlives it but by the moment that its own end takes."""
    crew = Crew(run, recorder)
    stop: Stopped | None = None
    try:
        with runner.prepared(run, recorder) as held:
            crew.call()
            _gather(crew, held)
            with setup.held(held), _looking_on(held) as events:
                crew.start()
                _follow(crew, held, events)
    except Stopped as early:
        stop = early
        recorder.state()  # a fresh lease for the time that ending the parts takes
    finally:
        _end_parts(crew)
    crew.merge()
    recorder.flush()
    return result.ending(run, recorder, crew.parts(), stop)


def _gather(crew: Crew, held: SetupContext) -> None:
    """Wait until every part is ready; raises `Stopped` where one can't or won't be."""
    deadline = time.monotonic() + READY_WITHIN_S
    while not crew.is_ready():
        held.check()
        if time.monotonic() > deadline:
            raise crew.why_not_ready(READY_WITHIN_S)
        time.sleep(LOOK_S)


@contextmanager
def _looking_on(held: SetupContext) -> Iterator["Queue[object]"]:
    """What the watchers of pooler, server and host see, once for all parts."""
    events: Queue[object] = Queue(QUEUED_EVENTS)
    with (
        probes.opened(held.run) as around,
        observers.watching(Overlay(held.run, 0, held.home, events, around)),
    ):
        yield events


def _follow(crew: Crew, held: SetupContext, events: "Queue[object]") -> None:
    """Merge what the parts say until all have come to their end; raises `Stopped` where one could not."""
    deadline = crew.mark_at + runner.allowed_s(held.run) + ENDED_WITHIN_S
    while not crew.has_ended():
        held.check()
        crew.merge()
        for event in drain(events):
            runner.take(event, crew.recorder)
        if time.monotonic() > deadline:
            raise DeadlinePassed("its parts did not end in their time; figures are those until then")
        time.sleep(MERGE_S)


def _end_parts(crew: Crew) -> None:
    """End what still goes on, and wait for it; a part whose worker hangs is left to its own lease."""
    crew.dismiss()
    deadline = time.monotonic() + ENDED_WITHIN_S
    while not crew.is_over() and time.monotonic() < deadline:
        _keep_lease(crew)
        time.sleep(LOOK_S)


def _keep_lease(crew: Crew) -> None:
    try:
        crew.recorder.keep()
    except Fenced:  # somebody ended the whole already; its parts are brought to their end all the same
        return
