"""Console commands on one pool or entry: PAUSE with a deadline, RESUME, RECONNECT, KILL, DISABLE, ENABLE.

A pause and its end are saved before PAUSE is sent, so that `resume_due` resumes the pool even if this process dies.
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
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from core.audit.acts import recorded, subject_of
from core.audit.recording import DONE, record
from core.installation import pausing
from pools.approvals.acts import KILL
from pools.approvals.holding import held_back
from pools.clusters import connect, literals
from pools.errors import ClusterUnreachable, ConsoleRefused, IllegalTransition, InvalidValues, NotLive, PoolsError
from pools.models import Entry, Pool, Pooler
from pools.poolers import KINDS
from pools.poolers.admin_commands import Blocker, Condition, Controls

logger = logging.getLogger(__name__)

Target = Pool | Entry  # For PgBouncer, a target is a database, whoever wrote its line.

DEADLINE_S, LONGEST_DEADLINE_S = 5, 60
HOLD_S, LONGEST_HOLD_S = 60, 3600
GRACE = timedelta(seconds=10)  # time for the logins and read-backs around a PAUSE
AT_ONCE = 16
STATEMENT_TIMEOUT_MS = 5_000
LONGEST_QUERY = 500  # characters of a blocker's query that are shown

ACTIVITY = """
    SELECT pid, coalesce(state, '') AS state, left(query, %s) AS query,
           extract(epoch FROM clock_timestamp() - xact_start)::float8 AS transaction_s
      FROM pg_stat_activity WHERE datname = %s AND pid = ANY(%s)
"""


_UNCHANGED = {  # The keys are a field of `Condition` and its value, which is not the expected one.
    ("paused", True): gettext_lazy("the console accepted the command, but pool %(pool)s is still paused: check again"),
    ("paused", False): gettext_lazy("the console accepted the command, but pool %(pool)s is not paused: check again"),
    ("disabled", True): gettext_lazy("the console accepted the command, but pool %(pool)s is disabled: check again"),
    ("disabled", False): gettext_lazy("the console accepted the command, but pool %(pool)s is enabled: check again"),
}


@dataclass(frozen=True)
class Outcome:
    """The effect of a command, read back from the console; `detail` is a sentence for people."""

    condition: Condition
    paused_until: datetime | None
    detail: str


class NotPaused(PoolsError):
    """Transactions did not end in time, so the pool was resumed; `blockers` are the connections still in use."""

    status = 409

    def __init__(self, message: str, blockers: list[Blocker]) -> None:
        super().__init__(message)
        self.blockers = blockers

    def response_body(self) -> dict[str, object]:
        """Return the message as `detail`, and the fields of each of the `blockers`."""
        return {"detail": str(self), "blockers": [vars(blocker) for blocker in self.blockers]}


def controls_of(pooler: Pooler) -> AbstractContextManager[Controls]:
    """Log in to the pooler's console and return its commands.

    Raises `ConsoleRefused` for a kind without commands and for a login that may only read, `PoolerUnreachable`, and
    `IllegalTransition` while the panel is paused.
    """
    if pausing.is_paused():
        raise IllegalTransition(pausing.PAUSED)
    if pooler.commands_refused:
        raise ConsoleRefused(pooler.commands_refused)
    return KINDS[pooler.kind].controls(pooler)


@recorded("pool.pause", "deadline_s", "hold_s")
def pause(
    pool: Target, deadline_s: int = DEADLINE_S, hold_s: int = HOLD_S, author: models.Model | None = None
) -> Outcome:
    """Pause the pool between two transactions, for at most `hold_s` seconds.

    If the running transactions do not end within `deadline_s` seconds, the pool is resumed and `NotPaused` names those
    that block. Raises `InvalidValues`, `IllegalTransition`, `ConsoleRefused`, `PoolerUnreachable`.
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
            raise IllegalTransition(_("pool %(pool)s is already paused: resume it first") % {"pool": pool})
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
        return _by_each(controls, _hold(controls, pool, hold_s))


@recorded("pool.resume")
def resume(pool: Target, author: models.Model | None = None) -> Outcome:
    """Resume the pool, whoever paused it; a pool that is not paused is left unchanged."""
    with controls_of(pool.pooler) as controls:
        was_paused = controls.condition(pool.name).paused
        controls.resume(pool.name)
        condition = _proved(controls, pool, paused=False)
    if was_paused:  # else a PAUSE may have just been sent, whose record must stay
        _write_down(pool, None)
    logger.info("pool %s (%s): RESUME by %s", pool.pk, pool, author)
    detail = _("Pool %(pool)s is running.") if was_paused else _("Pool %(pool)s was not paused.")
    return _by_each(controls, Outcome(condition, None, detail % {"pool": pool}))


def kill(pool: Target, confirm: str, hold_s: int = 0, author: models.Model | None = None) -> Outcome:
    """Drop all clients and server connections of a pool; `confirm` must be its name.

    PgBouncer leaves a killed pool paused: it is resumed at once, or after `hold_s` seconds. A pool that was already
    paused stays paused until its own end.
    """
    InvalidValues.refuse(_out_of_range("hold_s", hold_s, 0, LONGEST_HOLD_S))
    if confirm != pool.name:
        message = _("%(typed)r is not its name: type %(name)r to kill it")
        raise InvalidValues({"confirm": [message % {"typed": confirm, "name": pool.name}]})
    return _kill(pool, hold_s, author)


@held_back(KILL)
@recorded("pool.kill", "hold_s")
def _kill(pool: Target, hold_s: int, author: models.Model | None) -> Outcome:
    _refuse_while_applied(pool)
    with controls_of(pool.pooler) as controls:
        before, dropped = controls.condition(pool.name), controls.connections(pool.name)
        if not before.paused:
            _write_down(pool, timezone.now() + GRACE)
        logger.info("pool %s (%s): KILL, held for %s s, by %s", pool.pk, pool, hold_s, author)
        controls.kill(pool.name)
        after = _after_kill(controls, pool, hold_s, was_paused=before.paused)
    text = _("Dropped clients: %(clients)s; dropped server connections: %(servers)s. %(now)s")
    counts = {"clients": dropped.clients, "servers": dropped.servers}
    return _by_each(controls, replace(after, detail=text % {**counts, "now": after.detail}))


def _after_kill(controls: Controls, pool: Target, hold_s: int, *, was_paused: bool) -> Outcome:
    if hold_s:
        return _hold(controls, pool, hold_s)
    if was_paused:
        detail = _("Pool %(pool)s is still paused.") % {"pool": pool}
        return Outcome(_proved(controls, pool, paused=True), pool.paused_until, detail)
    _take_back(controls, pool)
    detail = _("Pool %(pool)s accepts clients again.") % {"pool": pool}
    return Outcome(_proved(controls, pool, paused=False), None, detail)


@recorded("pool.reconnect")
def reconnect(pool: Target, author: models.Model | None = None) -> Outcome:
    """Replace each server connection of the pool as soon as its client releases it."""
    with controls_of(pool.pooler) as controls:
        before = controls.connections(pool.name)
        controls.reconnect(pool.name)
        logger.info("pool %s (%s): RECONNECT by %s", pool.pk, pool, author)
        condition, after = controls.condition(pool.name), controls.connections(pool.name)
    outcome = Outcome(condition, pool.paused_until, _reconnected(pool, before.servers, after.outdated))
    return _by_each(controls, outcome)


def _reconnected(pool: Target, servers: int, outdated: int) -> str:
    if not servers:
        text = _("Pool %(pool)s had no server connection to replace.")
    elif outdated:
        text = ngettext(
            "%(outdated)s of %(servers)s server connections is in use and is replaced when released.",
            "%(outdated)s of %(servers)s server connections are in use and are replaced when released.",
            outdated,
        )
    else:
        text = ngettext(
            "The server connection of pool %(pool)s was closed; a new one follows.",
            "All %(servers)s server connections of pool %(pool)s were closed; new ones follow.",
            servers,
        )
    return text % {"pool": pool, "servers": servers, "outdated": outdated}


@recorded("pool.disable")
def disable(pool: Target, author: models.Model | None = None) -> Outcome:
    """Make the pool refuse new clients; connected ones stay."""
    return _switch(pool, author, disabled=True)


@recorded("pool.enable")
def enable(pool: Target, author: models.Model | None = None) -> Outcome:
    """Make the pool accept new clients again."""
    return _switch(pool, author, disabled=False)


def resume_due() -> None:
    """Resume the pools whose pause has ended; unreachable poolers are retried at the next run of the schedule."""
    due: list[Target] = []
    for model in (Pool, Entry):
        due += model.objects.filter(paused_until__lte=timezone.now()).select_related("pooler")
    with ThreadPoolExecutor(AT_ONCE, thread_name_prefix="resume") as threads:
        for pool, reason in zip(due, threads.map(_try_to_resume, due), strict=True):
            if reason:
                logger.warning("pool %s (%s) is paused longer than it should be: %s", pool.pk, pool, reason)
            else:
                logger.info("pool %s (%s): resumed, its pause has ended", pool.pk, pool)
                type(pool).objects.filter(pk=pool.pk, paused_until=pool.paused_until).update(paused_until=None)
                record("pool.resume", subject_of(pool), outcome=DONE)


def _try_to_resume(pool: Target) -> str:
    """Resume a pool; return why that failed, empty when it runs or is gone. Touches no record: threads call it."""
    try:
        with controls_of(pool.pooler) as controls:
            controls.resume(pool.name)
            _proved(controls, pool, paused=False)
    except NotLive as error:
        logger.info("pool %s (%s) needs no RESUME: %s", pool.pk, pool, error)
    except PoolsError as error:
        return str(error)
    return ""


def _switch(pool: Target, author: models.Model | None, *, disabled: bool) -> Outcome:
    with controls_of(pool.pooler) as controls:
        controls.condition(pool.name)  # DISABLE of an unknown name could register it (`*` entries)
        command: Callable[[str], None] = controls.disable if disabled else controls.enable
        command(pool.name)
        logger.info("pool %s (%s): %s by %s", pool.pk, pool, "DISABLE" if disabled else "ENABLE", author)
        condition = _proved(controls, pool, disabled=disabled)
    if disabled:
        text = _("Pool %(pool)s refuses new clients until it is enabled; connected ones stay.")
    else:
        text = _("Pool %(pool)s accepts new clients.")
    return _by_each(controls, Outcome(condition, pool.paused_until, text % {"pool": pool}))


def _hold(controls: Controls, pool: Target, hold_s: int) -> Outcome:
    """Keep the pool paused for `hold_s` seconds. Raises `IllegalTransition` where it was resumed."""
    until = timezone.now() + timedelta(seconds=hold_s)
    if not _prolong(pool, until):
        _take_back(controls, pool)
        raise IllegalTransition(_("pool %(pool)s was resumed by another user in the meantime") % {"pool": pool})
    condition = _proved(controls, pool, paused=True)
    end = f"{timezone.localtime(until):%H:%M:%S %Z}"
    return Outcome(condition, until, _("Pool %(pool)s is paused until %(end)s.") % {"pool": pool, "end": end})


def _write_down(pool: Target, until: datetime | None) -> None:
    type(pool).objects.filter(pk=pool.pk).update(paused_until=until)
    pool.paused_until = until


def _prolong(pool: Target, until: datetime) -> bool:
    """Move the end of this pause; return False when another process has changed it."""
    moved = type(pool).objects.filter(pk=pool.pk, paused_until=pool.paused_until).update(paused_until=until)
    pool.paused_until = until
    return bool(moved)


def _take_back(controls: Controls, pool: Target) -> None:
    """Resume a pool; where the console does not answer, `resume_due` retries it."""
    try:
        controls.resume(pool.name)
        _proved(controls, pool, paused=False)
    except PoolsError as error:
        logger.warning("pool %s (%s) could not be resumed, the next beat retries: %s", pool.pk, pool, error)
        _write_down(pool, timezone.now())
    else:
        _write_down(pool, None)


def _by_each(controls: Controls, outcome: Outcome) -> Outcome:
    """Return an outcome that names the processes which carried the command out, where several share the port."""
    if len(controls.reached) < 2:
        return outcome
    text = _("%(detail)s Each process that shares the port did so: %(names)s.")
    return replace(outcome, detail=text % {"detail": outcome.detail, "names": ", ".join(controls.reached)})


def _proved(controls: Controls, pool: Target, **expected: bool) -> Condition:
    """Return the condition read back. Raises `ConsoleRefused` when it is not the expected one."""
    condition = controls.condition(pool.name)
    if condition.differs:
        raise ConsoleRefused(condition.differs)
    for name, value in expected.items():
        if getattr(condition, name) is not value:
            raise ConsoleRefused(_UNCHANGED[name, not value] % {"pool": pool})
    return condition


def _not_paused(pool: Target, deadline_s: int, blockers: list[Blocker]) -> NotPaused:
    text = ngettext(
        "pool %(pool)s could not be paused in %(seconds)s s and was resumed: %(count)s blocker",
        "pool %(pool)s could not be paused in %(seconds)s s and was resumed: %(count)s blockers",
        len(blockers),
    )
    message = text % {"pool": pool, "seconds": deadline_s, "count": len(blockers)}
    return NotPaused(message, _with_activity(pool, blockers))


def _with_activity(pool: Target, blockers: list[Blocker]) -> list[Blocker]:
    """Add to the blockers what pg_stat_activity shows of their server connections, if the cluster answers."""
    if (cluster := pool.cluster) is None:  # The entry's server is not registered.
        return blockers
    pids = [blocker.server_pid for blocker in blockers]
    try:
        with connect.connect(cluster) as connection:
            connection.execute(f"SET statement_timeout = {STATEMENT_TIMEOUT_MS}")
            found = {
                row[0]: row for row in connection.execute(ACTIVITY, [LONGEST_QUERY, pool.database, pids]).fetchall()
            }
    except (ClusterUnreachable, psycopg.Error) as error:
        logger.info("pool %s (%s): its cluster could not be queried about blockers: %s", pool.pk, pool, error)
        return blockers
    return [_with(blocker, found.get(blocker.server_pid)) for blocker in blockers]


def _with(blocker: Blocker, row: tuple[Any, ...] | None) -> Blocker:
    if row is None:
        return blocker
    return replace(blocker, activity=row[1], query=literals.without(row[2] or ""), transaction_s=row[3])


def _refuse_while_applied(pool: Target) -> None:
    """Raise `IllegalTransition` during an apply: it logs in through the pool, and a pause would roll it back."""
    if pool.pooler.is_being_applied():
        busy = _("pooler %(pooler)s is being applied right now: try again in a moment")
        raise IllegalTransition(busy % {"pooler": pool.pooler})


def _out_of_range(field: str, seconds: int, least: int, most: int) -> list[tuple[str, str]]:
    if least <= seconds <= most:
        return []
    text = _("%(seconds)s s is out of range: use %(least)s to %(most)s")
    return [(field, text % {"seconds": seconds, "least": least, "most": most})]
