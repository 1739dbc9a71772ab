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
from benchmarks.processes.command import Command
from benchmarks.processes.machines import Load
from benchmarks.processes.process import QUEUED_EVENTS, Line, drain
from benchmarks.runs.setup.base import POLL_EVERY_S, SetupContext
from benchmarks.runs.setup.engine_service import served

FIRST_ERRORS = 5
LAST_LINES = 500  # a summary with its histogram is shorter
LONGER_S = 30.0  # than asked for, connecting included: then something hangs
UNCOUNTED = {"percentiles": False, "sampling_rate": None, "report_per_command": False}
_ERROR = re.compile("error|fatal", re.IGNORECASE)
WITHOUT = {"transactions": None, "events": None} | UNCOUNTED


@contextmanager
def warmed(held: SetupContext) -> Iterator[None]:
    """Run the warm-up where it was asked for; raise `Refused` with the program's message where it fails.

    It does not fail where the server or a pooler had no connection left for its clients.
    For a distributed run the coordinator runs it for all parts, with the services that only parts have otherwise.
    """
    if seconds := held.run.options.get("warm_up"):
        _of_whole(held, seconds) if held.run.is_spread else _run(held, _command(held, seconds), seconds)
    yield


def _command(held: SetupContext, seconds: int) -> Command:
    return held.command(held.run.options | WITHOUT | {"duration": seconds})


def _of_whole(held: SetupContext, seconds: int) -> None:
    command = _command(held, seconds)
    for name, text in command.files.items():
        held.place.put(name, text)
    with served(held):
        _run(held, command, seconds)


def _run(held: SetupContext, command: Command, seconds: int) -> None:
    held.report(_("warming up for %(seconds)s s") % {"seconds": seconds})
    began = time.monotonic()
    load = held.place.start(command, Queue(QUEUED_EVENTS))
    reported: list[str] = []
    printed: deque[str] = deque(maxlen=LAST_LINES)
    try:
        while load.exit_code() is None:
            held.check()
            _parse_line(held, load, reported, printed)
            if time.monotonic() - began > seconds * 1.1 + LONGER_S:
                raise Refused(
                    _("the warm-up did not end in its %(seconds)s s: the server or the pooler hangs")
                    % {"seconds": seconds}
                )
            time.sleep(POLL_EVERY_S / 2)
    finally:
        exit_code = load.stop()
        load.join()
    _parse_line(held, load, reported, printed)
    lasted = {"seconds": round(time.monotonic() - began, 1)}
    if exit_code:
        held.note("warm_up", lasted | {"refused": _why_refused(exit_code, reported)})
        return
    tps = engine(held.run.engine).read_output("\n".join(printed), "").summary.get("tps")
    held.note("warm_up", lasted | ({"tps": tps} if tps else {}))


def _why_refused(exit_code: int, reported: list[str]) -> str:
    """Return the message with which clients were refused; raise `Refused` for any other failure."""
    if refusal := connection_refusals.find("\n".join(reported), {}, {}):
        return refusal.why
    if not reported:
        raise Refused(_("the warm-up ended with code %(code)s and printed no reason") % {"code": exit_code})
    text = _("the warm-up ended with code %(code)s: %(error)s")
    raise Refused(text % {"code": exit_code, "error": reported[0]})


def _parse_line(held: SetupContext, load: Load, reported: list[str], printed: deque[str]) -> None:
    """Keep the first lines that report an error, and the last lines of stdout, which hold the summary."""
    for event in drain(load.events):
        if not isinstance(event, Line):
            continue
        if _ERROR.search(event.text) and len(reported) < FIRST_ERRORS:
            reported.append(held.recorder.mask(event.text).strip())
        if event.stream == "stdout":
            printed.append(event.text)
