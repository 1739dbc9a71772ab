"""Which engines can be run on this host, and why the others can't."""

import time

from benchmarks.engines import ENGINES, engine
from benchmarks.errors import BenchmarksError

ASKED_AGAIN_AFTER_S = 60.0
_answers: dict[str, tuple[float, str]] = {}


def missing(name: str) -> str:
    """Why this engine's program can't be run here; empty where it can. Asked once a minute: it starts the program."""
    asked_at, reason = _answers.get(name, (-ASKED_AGAIN_AFTER_S, ""))
    now = time.monotonic()
    if now - asked_at >= ASKED_AGAIN_AFTER_S:
        reason = _ask(name)
        _answers[name] = (now, reason)
    return reason


def links(purpose: str) -> list[tuple[str, str]]:
    """The engines that have something of this purpose to set, each with why it can't be chosen here."""
    return [(name, missing(name)) for name, one in ENGINES.items() if one.fields_for(purpose)]


def _ask(name: str) -> str:
    try:
        engine(name).find()
    except BenchmarksError as error:
        return str(error)
    return ""
