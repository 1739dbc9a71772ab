"""Coordinates a distributed run: dispatches its parts, starts them at one time, merges their figures, ends them all.

The coordinator runs no load. It holds what is held once for all parts, and it alone writes to the whole, under the
whole's lease and attempt. The parts see when the whole has ended, for any reason, and end with it.
"""

import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from queue import Queue
from typing import TypeVar

from django.utils.translation import gettext as _

from benchmarks.analysis.latency import store
from benchmarks.errors import Fenced
from benchmarks.models import LatencyHistogram, Run, Status, Validity
from benchmarks.models.columns import EndColumns
from benchmarks.models.conditions import Start
from benchmarks.models.summaries import Summary, with_figures
from benchmarks.processes.process import QUEUED_EVENTS, drain
from benchmarks.runs import observers, setup
from benchmarks.runs.distributed import merge_summaries
from benchmarks.runs.distributed.participants import Participants
from benchmarks.runs.execution import early_end, reaper, runner
from benchmarks.runs.execution.ending import DeadlinePassed, EndState, Stopped, ThresholdMissed, incomplete
from benchmarks.runs.execution.outages import retry_until_available
from benchmarks.runs.execution.recorder import Recorder
from benchmarks.runs.observers import probes
from benchmarks.runs.observers.base import LoadContext
from benchmarks.runs.setup.base import SetupContext

log = logging.getLogger(__name__)
T = TypeVar("T")

POLL_EVERY_S = 0.1  # interval of the polls while the parts prepare
MERGE_EVERY_S = 0.4
READY_WITHIN_S = 60.0
ENDED_WITHIN_S = 30.0  # a part whose worker died is found by its lease


def execute(run: Run) -> None:
    """Carry out a distributed run that this worker claimed, to exactly one final state."""
    log.info("this worker leads run %s over %s", run.pk, ", ".join(run.wanted_generators))
    runner.run_to_completion(run, _coordinate)


def _coordinate(run: Run, recorder: Recorder) -> EndState:
    """Return the ending of the whole; no part outlives it by more than the time that its own ending takes."""
    participants = Participants(run, recorder)
    stop: Stopped | None = None
    try:
        with runner.prepared(run, recorder) as context:
            participants.dispatch_parts()
            _wait_until_ready(participants, context)
            with setup.steps(context), _observed(context) as events:
                participants.start()
                _merge_until_end(participants, context, events)
    except Stopped as early:
        stop = early
        recorder.state()  # a fresh lease for the time that ending the parts takes
    finally:
        _cancel_and_wait(participants)
    retry_until_available(participants.merge)
    recorder.write_pending()
    retry_until_available(participants.correct)
    return retry_until_available(lambda: ending(run, recorder, participants.parts(), stop))


class Deadline:
    """A monotonic time by which the parts are to have come so far; what the metadata database takes does not count.

    While that is away the parts go on, but can't report it, and nothing of them can be known.
    """

    def __init__(self, at: float) -> None:
        self.at = at

    @property
    def is_over(self) -> bool:
        """True once it has passed."""
        return time.monotonic() > self.at

    def ask(self, question: Callable[[], T]) -> T:
        """Return the answer of the metadata database, once it is there; a long wait for it gives its workers time."""
        asked_at = time.monotonic()
        answer = retry_until_available(question)
        waited_s = time.monotonic() - asked_at
        self.at += waited_s
        if waited_s > reaper.SLOW_S:
            reaper.pause()
        return answer


def _wait_until_ready(participants: Participants, context: SetupContext) -> None:
    """Wait until every part is ready; raise `Stopped` where one can't be or has ended."""
    deadline = Deadline(time.monotonic() + READY_WITHIN_S)
    while not deadline.ask(participants.is_ready):
        context.check()
        if deadline.is_over:
            raise participants.why_not_ready(READY_WITHIN_S)
        time.sleep(POLL_EVERY_S)


@contextmanager
def _observed(context: SetupContext) -> Iterator["Queue[object]"]:
    """Yield the queue of what the observers of pooler, server and host find, once for all parts."""
    events: Queue[object] = Queue(QUEUED_EVENTS)
    with (
        probes.opened(context.run) as around,
        observers.watching(LoadContext(context.run, 0, context.place, events, around)),
    ):
        yield events


def _merge_until_end(participants: Participants, context: SetupContext, events: "Queue[object]") -> None:
    """Merge the parts' samples until all have ended; raise `Stopped` where one failed."""
    allowed_s = runner.allowed_s(context.run) + ENDED_WITHIN_S
    deadline = Deadline(participants.starts_at + allowed_s)
    while not deadline.ask(participants.has_ended):
        context.check()
        deadline.ask(participants.merge)
        if missed := early_end.why(context.run.thresholds, participants.recorder.samples):
            raise ThresholdMissed(missed)
        for event in drain(events):
            runner.record_event(event, participants.recorder)
        if deadline.is_over:
            text = _("its parts did not end within %(seconds)s s; figures are those until then")
            raise DeadlinePassed(text % {"seconds": f"{allowed_s:,.0f}"})
        time.sleep(MERGE_EVERY_S)


def _cancel_and_wait(participants: Participants) -> None:
    """End the parts that still run, and wait for them; a part whose worker hangs is left to its lease."""
    retry_until_available(participants.cancel_parts)
    deadline = Deadline(time.monotonic() + ENDED_WITHIN_S)
    while not deadline.ask(participants.have_final_states) and not deadline.is_over:
        _keep_lease(participants)
        time.sleep(POLL_EVERY_S)


def _keep_lease(participants: Participants) -> None:
    try:
        participants.recorder.heartbeat()
    except Fenced:  # the whole was ended already; its parts are still brought to their end
        return


WORST_FIRST = (Validity.INCOMPLETE, Validity.SUSPECT, Validity.VALID)
APART_MS = 250.0  # beyond which the first or last second of the merged figures is not of all generators


def ending(run: Run, recorder: Recorder, parts: list[Run], stop: Stopped | None) -> EndState:
    """Return the ending of the whole: succeeded where every part did, and no more valid than the least valid part."""
    columns: EndColumns = {"conditions": {**run.conditions, "start": start_spread(parts)}}
    if stop is not None or any(part.status != Status.SUCCEEDED for part in parts):
        why = stop or Stopped(_("not every part came to its end; figures are those until then"))
        status = stop.status if stop else Status.FAILED
        return incomplete(status, str(why), columns)
    validity, reasons = verdict(run, parts)
    columns |= {
        "validity": validity,
        "reasons": reasons,
        "exit_code": 0,
        "summary": summary(run, parts),
        "statements": merge_summaries.statements(
            [part.statements for part in parts], [float(part.summary.get("transactions") or 0) for part in parts]
        ),
        "client_version": ", ".join(sorted({part.client_version for part in parts if part.client_version}))[:200],
    }
    return EndState(Status.SUCCEEDED, columns)


def start_spread(parts: list[Run]) -> Start:
    """Return the milliseconds from the first to the last start, with the clocks' error; empty unless all started."""
    starts = {part.generator: part.conditions.get("start", {}) for part in parts}
    late = {name: ms for name, start in starts.items() if isinstance(ms := start.get("late_ms"), int | float)}
    if len(late) < len(parts):
        return {}
    wrong = max(start["clock_error_ms"] for start in starts.values())
    spread = round(max(late.values()) - min(late.values()), 3)
    return {"spread_ms": spread, "clock_error_ms": wrong, "late_ms": late}


def verdict(run: Run, parts: list[Run]) -> tuple[Validity, list[str]]:
    """Return the validity of the least valid part, and all parts' reasons; a start that was not common is suspect.

    What limited the load of a valid part is among its reasons, and leaves it valid.
    """
    reasons = [f"{part.generator}: {reason}" for part in parts for reason in part.reasons]
    validities = {Validity(part.validity) for part in parts}
    spread_ms = start_spread(parts).get("spread_ms")
    if spread_ms is None or spread_ms > APART_MS:
        validities.add(Validity.SUSPECT)
        reasons.append(_start_spread_reason(spread_ms))
    return next(least for least in WORST_FIRST if least in validities), reasons


def _start_spread_reason(spread_ms: float | None) -> str:
    if spread_ms is None:
        return _("the loads began at unknown times, so the first and last seconds are not of all generators")
    text = _("the loads began %(spread)s ms apart, so the first and last seconds are not of all generators")
    return text % {"spread": f"{spread_ms:,.0f}"}


def summary(run: Run, parts: list[Run]) -> Summary:
    """Return the merged figures of all parts; percentiles come from the merged histograms where each part has one."""
    figures = merge_summaries.merged([part.summary for part in parts])
    kept = list(LatencyHistogram.objects.filter(run__in=parts))
    if not kept or len(kept) < len(parts):
        return figures
    return with_figures(figures, store.keep_merged(run, kept))
