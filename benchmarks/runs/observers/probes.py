"""Monitoring connections, opened before the load because a saturated server would refuse them later."""

import logging
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import psycopg
from django.db import connections
from django.utils.translation import gettext_lazy as _
from psycopg.rows import dict_row

from benchmarks.models import Purpose, Run
from core.lib.crypto import SealBroken
from pools.clusters import activity, connect, process_memory
from pools.errors import PoolsError
from pools.models import Pooler
from pools.poolers import driver, local_process

log = logging.getLogger(__name__)

NAME = "pooldeck-watch"
STATEMENT_TIMEOUT_MS = 5_000
FOUND_WITHIN_S = 2.0  # processes of a pooler, on a host that is not crowded
HIDDEN = _("wait events and states of other roles' sessions: grant pg_monitor to the panel's role")


@dataclass(frozen=True)
class ServerProbe:
    """The open probes of a load.

    `session` monitors the server (None: it can't), `is_here` is whether the server runs on this host, `hidden` names
    what the panel's role can't see, and `pooler_pids` are the run's PgBouncer processes on this host.
    """

    session: connect.Connection | None = None
    is_here: bool = False
    hidden: str = ""
    pooler_pids: Sequence[int] = ()


@contextmanager
def opened(run: Run) -> Iterator[ServerProbe]:
    """Open all that the observers of a load need; the run goes on without what can't be had."""
    if run.purpose != Purpose.LOAD:
        yield ServerProbe()
        return
    pids = search(run.pool.pooler) if run.pool else ()
    session = log_in(run) if run.parent_id is None else None  # the whole observes the server, once for all parts
    try:
        is_here, hidden = _open_probes(session) if session else (False, "")
        yield ServerProbe(session, is_here, hidden, pids)
    finally:
        if session:
            session.close()


def search(pooler: Pooler) -> Sequence[int]:
    """Return the pooler's processes as a list that a thread fills; it is full at once on most hosts.

    The search reads all sockets of the host: beside ten thousand of them it took longer than the lease of a run.
    """
    found: list[int] = []
    if pooler.ssh_host or not driver(pooler).one_core_program:  # the thread asks the database nothing
        return found

    def fill() -> None:
        try:
            found.extend(pooler_processes(pooler))
        finally:
            connections.close_all()

    thread = threading.Thread(target=fill, name=f"processes of {pooler.pk}", daemon=True)
    thread.start()
    thread.join(FOUND_WITHIN_S)
    return found


def pooler_processes(pooler: Pooler) -> tuple[int, ...]:
    """Return the pooler's processes on this host, where each uses one core at most."""
    program = driver(pooler).one_core_program
    return local_process.pids(pooler, program) if program else ()


def log_in(run: Run) -> connect.Connection | None:
    """Open a monitoring session on the run's server, past any pooler and outside the loaded database; else None."""
    if run.cluster is None:
        return None
    try:
        session = connect.connect(run.cluster, application_name=NAME)
        session.execute(f"SET statement_timeout = {STATEMENT_TIMEOUT_MS}")
    except (PoolsError, SealBroken, psycopg.Error) as error:
        log.warning("run %s: its server can't be observed: %s", run.pk, error)
        return None
    return session


def _open_probes(session: connect.Connection) -> tuple[bool, str]:
    """Return whether the server is on this host, and what is hidden from the session's role."""
    try:
        with session.cursor(row_factory=dict_row) as cursor:
            own, sees_all = activity.own_session(cursor)
    except psycopg.Error as error:
        log.warning("the server's own session could not be read: %s", error)
        return False, ""
    return process_memory.is_here(own), "" if sees_all else str(HIDDEN)
