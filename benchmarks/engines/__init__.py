"""Registry of the engines that a run can use: each of `NAMES` has a folder here, whose `engine` has an `ENGINE`."""

import time
from importlib import import_module
from typing import Any

from django.utils.translation import gettext as _

from benchmarks.engines.base import Engine, Field
from benchmarks.errors import BenchmarksError
from benchmarks.models import Purpose

NAMES = (
    "pgbench",
    "sysbench",
    "http",
    "jmeter",
)
ENGINES: dict[str, Engine[Any]] = {name: import_module(f"benchmarks.engines.{name}.engine").ENGINE for name in NAMES}
DEFAULT_ENGINE = NAMES[0]
ASKED_AGAIN_AFTER_S = 60.0
_answers: dict[str, tuple[float, str]] = {}


def engine(name: str) -> Engine[Any]:
    """Return the engine of this name; raise `BenchmarksError` listing the names where there is none."""
    if name not in ENGINES:
        raise BenchmarksError(
            _("%(name)s is not an engine here; use %(engines)s") % {"name": repr(name), "engines": ", ".join(ENGINES)}
        )
    return ENGINES[name]


def fields_of(name: str, purpose: str = Purpose.LOAD) -> tuple[Field, ...]:
    """Return the options of an engine; none where there is no engine of this name."""
    return ENGINES[name].fields_for(purpose) if name in ENGINES else ()


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
