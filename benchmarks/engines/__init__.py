"""The engines that a run can use; a new one is a folder here with its `Engine`, and a line below."""

import time

from benchmarks.engines.base import Engine
from benchmarks.engines.http.engine import Http
from benchmarks.engines.jmeter.engine import JMeter
from benchmarks.engines.pgbench.engine import Pgbench
from benchmarks.engines.sysbench.engine import Sysbench
from benchmarks.errors import BenchmarksError

ENGINES: dict[str, Engine] = {
    "pgbench": Pgbench(),
    "sysbench": Sysbench(),
    "http": Http(),
    "jmeter": JMeter(),
}
DEFAULT_ENGINE = "pgbench"
ASKED_AGAIN_AFTER_S = 60.0
_answers: dict[str, tuple[float, str]] = {}


def engine(name: str) -> Engine:
    """The engine of this name; raises `BenchmarksError` naming those there are."""
    if name not in ENGINES:
        raise BenchmarksError(f"{name!r} is not an engine here; use {', '.join(ENGINES)}")
    return ENGINES[name]


def missing(name: str) -> str:
    """Why this engine's program can't be run here; empty where it can. Asked once a minute: it starts the program."""
    asked_at, reason = _answers.get(name, (-ASKED_AGAIN_AFTER_S, ""))
    now = time.monotonic()
    if now - asked_at >= ASKED_AGAIN_AFTER_S:
        reason = _why_missing(name)
        _answers[name] = (now, reason)
    return reason


def _why_missing(name: str) -> str:
    try:
        engine(name).find()
    except BenchmarksError as error:
        return str(error)
    return ""
