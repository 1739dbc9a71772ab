"""Periodic tasks while the metadata database is away: one line per task, and one more when it is back."""

import logging
import time
from collections.abc import Callable
from functools import cache
from typing import TypeVar

import psycopg
from django.conf import settings
from django.db import Error, InterfaceError, OperationalError

logger = logging.getLogger(__name__)

T = TypeVar("T")
DATABASE_AWAY = (OperationalError, InterfaceError)
# connection exceptions, and what a server says that starts, stops or takes no more sessions
# (https://www.postgresql.org/docs/current/errcodes-appendix.html); libpq's own failures have no SQLSTATE
AWAY_CLASS = "08"
AWAY_STATES = frozenset({"53300", "57P01", "57P02", "57P03"})
away_since: dict[str, float] = {}  # name of a task → the time since when it fails in this process


@cache
def periodic_tasks() -> frozenset[str]:
    """Return the names of the tasks that beat sends, which do later what they could not do now."""
    return frozenset(str(task["task"]) for task in settings.CELERY_BEAT_SCHEDULE.values())


def is_away(error: Error) -> bool:
    """Tell whether the error is of the connection; that of a statement (a deadlock) keeps its traceback."""
    cause = error.__cause__
    if not isinstance(cause, psycopg.Error):
        return False
    return not cause.sqlstate or cause.sqlstate.startswith(AWAY_CLASS) or cause.sqlstate in AWAY_STATES


def carry_out(name: str, task: Callable[[], T]) -> T | None:
    """Run a periodic task and return its result; return None while the metadata database is unreachable."""
    try:
        result = task()
    except DATABASE_AWAY as error:
        if not is_away(error):
            raise
        _note_outage(name, error)
        return None
    if name in away_since:
        seconds = time.monotonic() - away_since.pop(name)
        logger.warning("%s goes on: the metadata database was away for %.0f s", name, seconds)
    return result


def _note_outage(name: str, error: Error) -> None:
    if name not in away_since:
        away_since[name] = time.monotonic()
        logger.warning("%s waits for the metadata database: %s", name, " ".join(str(error).split()))
