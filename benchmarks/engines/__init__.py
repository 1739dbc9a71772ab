"""Registry of the engines that a run can use. A new one is a folder here with its `Engine`, and a line below."""

import time
from typing import Any

from django.utils.translation import gettext as _

from benchmarks.engines.base import Engine
from benchmarks.engines.http.engine import Http
from benchmarks.engines.jmeter.engine import JMeter
from benchmarks.engines.pgbench.engine import Pgbench
from benchmarks.engines.sysbench.engine import Sysbench
from benchmarks.errors import BenchmarksError

ENGINES: dict[str, Engine[Any]] = {
    "pgbench": Pgbench(),
    "sysbench": Sysbench(),
    "http": Http(),
    "jmeter": JMeter(),
}
DEFAULT_ENGINE = "pgbench"
ASKED_AGAIN_AFTER_S = 60.0
_answers: dict[str, tuple[float, str]] = {}


def engine(name: str) -> Engine[Any]:
    """Return the engine of this name; raise `BenchmarksError` listing the names where there is none."""
    if name not in ENGINES:
        raise BenchmarksError(
            _("%(name)s is not an engine here; use %(engines)s") % {"name": repr(name), "engines": ", ".join(ENGINES)}
        )
    return ENGINES[name]


def missing(name: str) -> str:
    """Return why this engine's program can't be run here; empty where it can.

    Checked at most once a minute, since it starts the program.
    """
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
