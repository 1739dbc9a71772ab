"""Why an engine can't be run on this host."""

import time

from benchmarks.engines import engine
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


def _ask(name: str) -> str:
    try:
        engine(name).find()
    except BenchmarksError as error:
        return str(error)
    return ""
