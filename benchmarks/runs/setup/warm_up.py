"""The same load for a while before the one that counts, its figures thrown away but for what it reached.

That tells how much of the load to log (`benchmarks.analysis.latency.sampling`).
"""

import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from queue import Queue

from benchmarks.engines import engine
from benchmarks.errors import Refused
from benchmarks.processes import workdir
from benchmarks.processes.command import Command
from benchmarks.processes.process import QUEUED_EVENTS, Line, LoadProcess, drain
from benchmarks.runs.setup.base import POLL_EVERY_S, SetupContext
from benchmarks.runs.setup.engine_service import served

LAST_LINES = 500  # a summary with its histogram is shorter
LONGER_S = 30.0  # than asked for, connecting included: then something hangs
UNCOUNTED = {"percentiles": False, "sampling_rate": None, "report_per_command": False}
WITHOUT = {"transactions": None, "events": None} | UNCOUNTED


@contextmanager
def warmed(held: SetupContext) -> Iterator[None]:
    """Runs it where it was asked for; raises `Refused` in the program's own words where it fails.

    Over several generators the one that leads does it for all, with what only parts have otherwise.
    """
    if seconds := held.run.options.get("warm_up"):
        _of_whole(held, seconds) if held.run.is_spread else _run(held, _command(held, seconds), seconds)
    yield


def _command(held: SetupContext, seconds: int) -> Command:
    return held.command(held.run.options | WITHOUT | {"duration": seconds})


def _of_whole(held: SetupContext, seconds: int) -> None:
    command = _command(held, seconds)
    for name, text in command.files.items():
        workdir.put(held.home / name, text)
    with served(held):
        _run(held, command, seconds)


def _run(held: SetupContext, command: Command, seconds: int) -> None:
    held.report(f"warming up for {seconds} s")
    began = time.monotonic()
    load = LoadProcess(command.argv, command.env, held.home, Queue(QUEUED_EVENTS))
    reported: list[str] = []
    printed: deque[str] = deque(maxlen=LAST_LINES)
    try:
        while load.exit_code() is None:
            held.check()
            _parse_line(load, reported, printed)
            if time.monotonic() - began > seconds * 1.1 + LONGER_S:
                raise Refused(f"the warm-up did not end in its {seconds} s: the server or the pooler hangs")
            time.sleep(POLL_EVERY_S / 2)
    finally:
        exit_code = load.stop()
        load.join()
    _parse_line(load, reported, printed)
    if exit_code:
        raise Refused(f"the warm-up ended with code {exit_code}: {reported[0] if reported else 'no reason was given'}")
    tps = engine(held.run.engine).read_output("\n".join(printed), "").summary.get("tps")
    reached = {"tps": tps} if tps else {}
    held.note("warm_up", {"seconds": round(time.monotonic() - began, 1), **reached})


def _parse_line(load: LoadProcess, reported: list[str], printed: deque[str]) -> None:
    """Keep the first lines that speak of an error and the last of stdout, where the summary is."""
    for event in drain(load.events):
        if not isinstance(event, Line):
            continue
        if "error" in event.text.lower() and len(reported) < 5:
            reported.append(event.text.strip())
        if event.stream == "stdout":
            printed.append(event.text)
