"""Warm-up: the same load for a while before the real one; only its throughput is kept.

That decides how much of the load to log (`benchmarks.analysis.latency.sampling`).

It has as many clients as the load, since it opens a pool's server connections as well as filling caches. Where clients
are refused, it ends early and the load follows: its own output, which is kept, counts the refused clients.
"""

import re
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from queue import Queue

from django.utils.translation import gettext as _

from benchmarks.analysis import connection_refusals
from benchmarks.engines import engine
from benchmarks.errors import Refused
from benchmarks.models.conditions import WarmUp
from benchmarks.models.options import RunOptions
from benchmarks.processes.command import Command
from benchmarks.processes.machines import Load
from benchmarks.processes.process import QUEUED_EVENTS, Line, drain
from benchmarks.runs.setup.base import POLL_EVERY_S, SetupContext
from benchmarks.runs.setup.engine_service import served

FIRST_ERRORS = 5
LAST_LINES = 500  # a summary with its histogram is shorter
GRACE_S = 30.0  # time beyond the requested duration, logins included; a longer warm-up hangs
_ERROR = re.compile("error|fatal", re.IGNORECASE)
NOT_IN_WARM_UP: RunOptions = {
    "transactions": None,
    "events": None,
    "percentiles": False,
    "sampling_rate": None,
    "report_per_command": False,
}


@contextmanager
def with_warm_up(context: SetupContext) -> Iterator[None]:
    """Run the warm-up where it was asked for; raise `Refused` with the program's message where it fails.

    It does not fail where the server or a pooler had no connection left for its clients.
    For a distributed run the coordinator runs it for all parts, with the services that only parts have otherwise.
    """
    if seconds := context.run.options.get("warm_up"):
        if context.run.is_spread:
            _run_for_all_parts(context, seconds)
        else:
            _run(context, _command(context, seconds), seconds)
    yield


def _command(context: SetupContext, seconds: int) -> Command:
    return context.command({**context.run.options, **NOT_IN_WARM_UP, "duration": seconds})


def _run_for_all_parts(context: SetupContext, seconds: int) -> None:
    command = _command(context, seconds)
    for name, text in command.files.items():
        context.place.put(name, text)
    with served(context):
        _run(context, command, seconds)


def _run(context: SetupContext, command: Command, seconds: int) -> None:
    context.report(_("warming up for %(seconds)s s") % {"seconds": seconds})
    began = time.monotonic()
    load = context.place.start(command, Queue(QUEUED_EVENTS))
    errors: list[str] = []
    printed: deque[str] = deque(maxlen=LAST_LINES)
    try:
        while load.exit_code() is None:
            context.check()
            _collect_output(context, load, errors, printed)
            if time.monotonic() - began > seconds * 1.1 + GRACE_S:
                raise Refused(
                    _("the warm-up did not end in its %(seconds)s s: the server or the pooler hangs")
                    % {"seconds": seconds}
                )
            time.sleep(POLL_EVERY_S / 2)
    finally:
        exit_code = load.stop()
        load.join()
    _collect_output(context, load, errors, printed)
    done: WarmUp = {"seconds": round(time.monotonic() - began, 1)}
    if exit_code:
        done["refused"] = _why_refused(exit_code, errors)
    elif tps := engine(context.run.engine).read_output("\n".join(printed), "").summary.get("tps"):
        done["tps"] = tps
    context.note({"warm_up": done})


def _why_refused(exit_code: int, errors: list[str]) -> str:
    """Return the message with which clients were refused; raise `Refused` for any other failure."""
    if refusal := connection_refusals.find("\n".join(errors), {}, {}):
        return refusal.why
    if not errors:
        raise Refused(_("the warm-up ended with code %(code)s and printed no reason") % {"code": exit_code})
    text = _("the warm-up ended with code %(code)s: %(error)s")
    raise Refused(text % {"code": exit_code, "error": errors[0]})


def _collect_output(context: SetupContext, load: Load, errors: list[str], printed: deque[str]) -> None:
    """Keep the first lines that report an error, and the last lines of stdout, which hold the summary."""
    for event in drain(load.events):
        if not isinstance(event, Line):
            continue
        if _ERROR.search(event.text) and len(errors) < FIRST_ERRORS:
            errors.append(context.recorder.mask(event.text).strip())
        if event.stream == "stdout":
            printed.append(event.text)
