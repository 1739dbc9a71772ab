"""The verbs of poolers' consoles on one pool: PAUSE with a deadline, RESUME, RECONNECT, KILL, DISABLE, ENABLE.

A pause is written down before it is sent, with the time when it ends: whatever becomes of the process that sent it,
`resume_due` lets the clients go on.
"""

import logging
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

import psycopg
from django.db import models
from django.utils import timezone

from panel.installation import pausing
from pools.clusters import connect
from pools.errors import ClusterUnreachable, ConsoleRefused, IllegalTransition, InvalidValues, NotLive, PoolsError
from pools.models import Pool, Pooler
from pools.poolers import KINDS
from pools.poolers.admin_commands import Blocker, Condition, Controls

logger = logging.getLogger(__name__)

DEADLINE_S, LONGEST_DEADLINE_S = 5, 60
HOLD_S, LONGEST_HOLD_S = 60, 3600
GRACE = timedelta(seconds=10)  # for the logins and read-backs around a PAUSE
AT_ONCE = 16
STATEMENT_TIMEOUT_MS = 5_000
LONGEST_QUERY = 500  # characters shown of a blocker's

ACTIVITY = """
    SELECT pid, coalesce(state, '') AS state, left(query, %s) AS query,
           extract(epoch FROM clock_timestamp() - xact_start)::float8 AS transaction_s
      FROM pg_stat_activity WHERE datname = %s AND pid = ANY(%s)
"""


@dataclass(frozen=True)
class Outcome:
    """What a verb brought, read back from the console; `detail` is a sentence for people."""

    condition: Condition
    paused_until: datetime | None
    detail: str


class NotPaused(PoolsError):
    """Clients did not let go in time, so that the pause was taken back; `blockers` are what it waited for."""

    status = 409

    def __init__(self, message: str, blockers: list[Blocker]) -> None:
        super().__init__(message)
        self.blockers = blockers
        self.errors = {"detail": message, "blockers": [vars(blocker) for blocker in blockers]}


def controls_of(pooler: Pooler) -> AbstractContextManager[Controls]:
    """The verbs over a login to its console.

    Raises `ConsoleRefused` for a kind without, `PoolerUnreachable`, `IllegalTransition` while the panel is paused.
    """
    if pausing.is_paused():
        raise IllegalTransition(pausing.PAUSED)
    return KINDS[pooler.kind].controls(pooler)


def pause(
    pool: Pool, deadline_s: int = DEADLINE_S, hold_s: int = HOLD_S, author: models.Model | None = None
) -> Outcome:
    """Hold the pool's clients back between two transactions, for at most `hold_s` seconds.

    When the running transactions don't end within `deadline_s` seconds the pool is resumed and `NotPaused` names
    those who block. Raises `InvalidValues`, `IllegalTransition`, `ConsoleRefused`, `PoolerUnreachable`.
    """
    InvalidValues.refuse(
        [
            *_out_of_range("deadline_s", deadline_s, 1, LONGEST_DEADLINE_S),
            *_out_of_range("hold_s", hold_s, 1, LONGEST_HOLD_S),
        ]
    )
    _refuse_while_applied(pool)
    with controls_of(pool.pooler) as controls:
        if controls.condition(pool.name).paused:
            raise IllegalTransition(f"pool {pool} is paused already: resume it first")
        _write_down(pool, timezone.now() + timedelta(seconds=deadline_s) + GRACE)
        logger.info("pool %s (%s): PAUSE within %s s, for %s s, by %s", pool.pk, pool, deadline_s, hold_s, author)
        try:
            in_time = controls.pause(pool.name, deadline_s)
            blockers = [] if in_time else controls.blockers(pool.name)
        except PoolsError:
            _take_back(controls, pool)
            raise
        if not in_time:
            _take_back(controls, pool)
            raise _not_paused(pool, deadline_s, blockers)
        return _hold(controls, pool, hold_s)


def resume(pool: Pool, author: models.Model | None = None) -> Outcome:
    """Let the pool's clients go on, whoever paused it; one that is not paused is left as it is."""
    with controls_of(pool.pooler) as controls:
        was_paused = controls.condition(pool.name).paused
        controls.resume(pool.name)
        condition = _proved(controls, pool, paused=False)
    if was_paused:  # else a pause may just be on its way, which must stay written down
        _write_down(pool, None)
    logger.info("pool %s (%s): RESUME by %s", pool.pk, pool, author)
    return Outcome(condition, None, f"Pool {pool} is running." if was_paused else f"Pool {pool} was not paused.")


def kill(pool: Pool, confirm: str, hold_s: int = 0, author: models.Model | None = None) -> Outcome:
    """Drop all clients and server connections of the pool whose name was typed.

    PgBouncer leaves a killed pool paused: it is resumed at once, or after `hold_s` seconds. One that was paused
    before stays so, as long as it should have.
    """
    InvalidValues.refuse(_out_of_range("hold_s", hold_s, 0, LONGEST_HOLD_S))
    if confirm != pool.name:
        raise InvalidValues({"confirm": [f"{confirm!r} is not the pool's name: type {pool.name!r} to kill it"]})
    _refuse_while_applied(pool)
    with controls_of(pool.pooler) as controls:
        before, dropped = controls.condition(pool.name), controls.connections(pool.name)
        if not before.paused:
            _write_down(pool, timezone.now() + GRACE)
        logger.info("pool %s (%s): KILL, held for %s s, by %s", pool.pk, pool, hold_s, author)
        controls.kill(pool.name)
        after = _after_kill(controls, pool, hold_s, was_paused=before.paused)
    clients, servers = _counted(dropped.clients, "client"), _counted(dropped.servers, "server connection")
    return replace(after, detail=f"{clients} and {servers} were dropped. {after.detail}")


def _after_kill(controls: Controls, pool: Pool, hold_s: int, *, was_paused: bool) -> Outcome:
    if hold_s:
        return _hold(controls, pool, hold_s)
    if was_paused:
        return Outcome(_proved(controls, pool, paused=True), pool.paused_until, f"Pool {pool} is paused as before.")
    _take_back(controls, pool)
    return Outcome(_proved(controls, pool, paused=False), None, f"Pool {pool} takes clients again.")


def reconnect(pool: Pool, author: models.Model | None = None) -> Outcome:
    """Have each server connection of the pool replaced as soon as its client lets it go."""
    with controls_of(pool.pooler) as controls:
        before = controls.connections(pool.name)
        controls.reconnect(pool.name)
        logger.info("pool %s (%s): RECONNECT by %s", pool.pk, pool, author)
        condition, after = controls.condition(pool.name), controls.connections(pool.name)
    if not before.servers:
        detail = f"Pool {pool} had no server connection to replace."
    elif after.outdated:
        detail = f"{_counted(after.outdated, 'server connection')} of {before.servers} in use: replaced when let go."
    else:
        detail = f"All {_counted(before.servers, 'server connection')} of pool {pool} were closed; new ones follow."
    return Outcome(condition, pool.paused_until, detail)


def disable(pool: Pool, author: models.Model | None = None) -> Outcome:
    """Have the pool refuse new clients; those connected stay."""
    return _switch(pool, author, disabled=True)


def enable(pool: Pool, author: models.Model | None = None) -> Outcome:
    """Have the pool let new clients in again."""
    return _switch(pool, author, disabled=False)


def resume_due() -> None:
    """Resume the pools whose pause is over; one whose pooler does not answer is tried again at the next beat."""
    due = list(Pool.objects.filter(paused_until__lte=timezone.now()).select_related("pooler"))
    with ThreadPoolExecutor(AT_ONCE, thread_name_prefix="resume") as threads:
        for pool, reason in zip(due, threads.map(_try_to_resume, due), strict=True):
            if reason:
                logger.warning("pool %s (%s) is paused longer than it should be: %s", pool.pk, pool, reason)
            else:
                logger.info("pool %s (%s): resumed by itself", pool.pk, pool)
                Pool.objects.filter(pk=pool.pk, paused_until=pool.paused_until).update(paused_until=None)


def _try_to_resume(pool: Pool) -> str:
    """Why it can't be resumed, empty when it runs or is no longer there; touches no record, for threads call it."""
    try:
        with controls_of(pool.pooler) as controls:
            controls.resume(pool.name)
            _proved(controls, pool, paused=False)
    except NotLive as error:
        logger.info("pool %s (%s) needs no RESUME: %s", pool.pk, pool, error)
    except PoolsError as error:
        return str(error)
    return ""


def _switch(pool: Pool, author: models.Model | None, *, disabled: bool) -> Outcome:
    with controls_of(pool.pooler) as controls:
        controls.condition(pool.name)  # DISABLE of a name it does not know could register it (`*` entries)
        verb: Callable[[str], None] = controls.disable if disabled else controls.enable
        verb(pool.name)
        logger.info("pool %s (%s): %s by %s", pool.pk, pool, "DISABLE" if disabled else "ENABLE", author)
        condition = _proved(controls, pool, disabled=disabled)
    words = "refuses new clients until it is enabled; those connected stay" if disabled else "lets new clients in"
    return Outcome(condition, pool.paused_until, f"Pool {pool} {words}.")


def _hold(controls: Controls, pool: Pool, hold_s: int) -> Outcome:
    """Let a pause stand for that long, if it does."""
    until = timezone.now() + timedelta(seconds=hold_s)
    if not _prolong(pool, until):
        _take_back(controls, pool)
        raise IllegalTransition(f"pool {pool} was resumed by somebody else meanwhile")
    condition = _proved(controls, pool, paused=True)
    return Outcome(condition, until, f"Pool {pool} is paused until {timezone.localtime(until):%H:%M:%S %Z}.")


def _write_down(pool: Pool, until: datetime | None) -> None:
    Pool.objects.filter(pk=pool.pk).update(paused_until=until)
    pool.paused_until = until


def _prolong(pool: Pool, until: datetime) -> bool:
    """Move the end of our own pause; False when somebody has written another since."""
    moved = Pool.objects.filter(pk=pool.pk, paused_until=pool.paused_until).update(paused_until=until)
    pool.paused_until = until
    return bool(moved)


def _take_back(controls: Controls, pool: Pool) -> None:
    """Undo a pause; where the console does not answer, the next beat does it."""
    try:
        controls.resume(pool.name)
        _proved(controls, pool, paused=False)
    except PoolsError as error:
        logger.warning("pool %s (%s) could not be resumed, the beat tries again: %s", pool.pk, pool, error)
        _write_down(pool, timezone.now())
    else:
        _write_down(pool, None)


def _proved(controls: Controls, pool: Pool, **expected: bool) -> Condition:
    """The condition read back; raises `ConsoleRefused` when it is not what was asked for."""
    condition = controls.condition(pool.name)
    for name, wanted in expected.items():
        if getattr(condition, name) is not wanted:
            now = name if getattr(condition, name) else f"not {name}"
            raise ConsoleRefused(f"the console took the command, but SHOW says that pool {pool} is {now}: look again")
    return condition


def _not_paused(pool: Pool, deadline_s: int, blockers: list[Blocker]) -> NotPaused:
    message = f"pool {pool} could not be paused in {deadline_s} s and was resumed: {_counted(len(blockers), 'blocker')}"
    return NotPaused(message, _with_activity(pool, blockers))


def _with_activity(pool: Pool, blockers: list[Blocker]) -> list[Blocker]:
    """The blockers with what PostgreSQL says of their server connections, where it can be asked."""
    pids = [blocker.server_pid for blocker in blockers]
    try:
        with connect.connect(pool.cluster) as connection:
            connection.execute(f"SET statement_timeout = {STATEMENT_TIMEOUT_MS}")
            found = {
                row[0]: row for row in connection.execute(ACTIVITY, [LONGEST_QUERY, pool.database, pids]).fetchall()
            }
    except (ClusterUnreachable, psycopg.Error) as error:
        logger.info("pool %s (%s): its cluster could not be asked about blockers: %s", pool.pk, pool, error)
        return blockers
    return [_with(blocker, found.get(blocker.server_pid)) for blocker in blockers]


def _with(blocker: Blocker, row: tuple[Any, ...] | None) -> Blocker:
    if row is None:
        return blocker
    return replace(blocker, activity=row[1], query=row[2] or "", transaction_s=row[3])


def _refuse_while_applied(pool: Pool) -> None:
    """An apply logs in through the pool to prove it: a pause would make it fail and roll back."""
    if Pooler.objects.filter(pk=pool.pooler_id, apply_token__isnull=False, apply_lease_until__gt=timezone.now()):
        raise IllegalTransition(f"pooler {pool.pooler} is being applied right now: try again in a moment")


def _out_of_range(field: str, seconds: int, least: int, most: int) -> list[tuple[str, str]]:
    if least <= seconds <= most:
        return []
    return [(field, f"{seconds} s is out of range: use {least} to {most}")]


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
