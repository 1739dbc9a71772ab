"""Cancels the statement of a session, or terminates the session, and reads back what became of it.

A pid alone is no session: the system gives it to another process once that one has ended, and a pooler's server
connection serves one client after the other. So the signal is sent within the query that finds the pid with the start
of its process, and of the transaction or statement that whoever confirmed it was shown.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime

from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from psycopg import sql

from core.audit.acts import subject_of
from core.audit.recording import attempt
from core.audit.tracking import ANNOUNCED
from core.installation import pausing
from core.lib import polling
from pools.clusters.topology import Place
from pools.diagnosis import sessions
from pools.diagnosis.sessions import Cursor, Session
from pools.errors import IllegalTransition, PoolsError

READ_BACK_S = 5.0
CANCEL_ACTION, TERMINATE_ACTION = "cluster.cancel_statement", "cluster.terminate_session"
ANNOUNCED.update({CANCEL_ACTION, TERMINATE_ACTION})
ONE = f"""
    SELECT {sessions.COLUMNS} FROM pg_stat_activity WHERE pid = %(pid)s AND backend_start = %(start)s
"""  # noqa: S608 (constants only)
SIGNAL = sql.SQL("""
    SELECT {function}(pid) AS was_sent FROM pg_stat_activity
     WHERE pid = %(pid)s AND backend_start = %(start)s AND backend_type = 'client backend'
       AND {began} IS NOT DISTINCT FROM %(began)s
""")
KEPT: Mapping[str, str | Promise] = {
    "hidden": gettext_lazy(
        "the panel's role may not see what process %(pid)s is, so it can't be told from a later one with the same pid: "
        "GRANT pg_monitor to the panel's role"
    ),
    "no_client": gettext_lazy(
        "process %(pid)s is a %(kind)s of the server: the panel ends sessions of clients and nothing else"
    ),
    "own": gettext_lazy("process %(pid)s is a session of the panel itself, which ends by itself"),
    "superuser": gettext_lazy("process %(pid)s belongs to the superuser %(role)s: a superuser alone may end it"),
    "other_role": gettext_lazy(
        "process %(pid)s belongs to role %(role)s, and the panel's role may not end it: GRANT pg_signal_backend to the "
        "panel's role"
    ),
}


class SessionGone(PoolsError):
    """The session had ended before anything was sent to it."""

    status = 404


class NotEnded(PoolsError):
    """Nothing was sent to the session, or it is still there; the message says which, and why."""

    status = 409


@dataclass(frozen=True)
class ConfirmedSession:
    """The session that somebody confirmed: its process, and the start of its transaction or statement.

    Without `checks_start` only the process has to be the same; a `start` of None is that of a session that had none.
    """

    pid: int
    backend_start: datetime
    start: datetime | None = None
    checks_start: bool = False


@dataclass(frozen=True)
class EndedSession:
    """What became of the session: whether it is `gone`, and a sentence for people."""

    pid: int
    gone: bool
    detail: str


def find(place: Place, pid: int, backend_start: datetime) -> Session:
    """Read the session as it is now. Raises `SessionGone`, `ClusterUnreachable`."""
    with sessions.asking(place) as cursor:
        if found := _read(cursor, pid, backend_start):
            return found
    raise _gone(pid)


def refusal(session: Session) -> str:
    """Return why the panel does not end a session, as a sentence; empty where it may."""
    if not session.kept:
        return ""
    return KEPT[session.kept] % {"pid": session.pid, "role": session.role, "kind": session.backend_type}


def terminate(place: Place, confirmed: ConfirmedSession) -> EndedSession:
    """End the session, whose transaction is rolled back, and wait until it is gone.

    Raises `SessionGone`, `NotEnded`, `ClusterUnreachable`.
    """

    def end(cursor: Cursor, session: Session) -> EndedSession:
        _send(cursor, "pg_terminate_backend", "xact_start", session, session.transaction_start)
        if _read_back(cursor, session, lambda after: after is None):
            text = _("process %(pid)s was told to end and is still there: it may be within a long system call")
            raise NotEnded(text % {"pid": session.pid})
        return EndedSession(session.pid, True, _terminated(session))

    return _recorded(TERMINATE_ACTION, place, confirmed, "transaction_start", end)


def cancel(place: Place, confirmed: ConfirmedSession) -> EndedSession:
    """Cancel the statement that the session runs, and wait until it has ended.

    Raises `SessionGone`, `NotEnded`, `ClusterUnreachable`.
    """

    def end(cursor: Cursor, session: Session) -> EndedSession:
        if not session.runs:
            text = _("no statement runs in process %(pid)s, which is %(state)s: terminate the session to end it")
            raise NotEnded(text % {"pid": session.pid, "state": session.state})
        _send(cursor, "pg_cancel_backend", "query_start", session, session.statement_start)
        after = _read_back(cursor, session, lambda after: not _still_runs(session, after))
        if _still_runs(session, after):
            text = _("process %(pid)s was told to cancel its statement, which still runs")
            raise NotEnded(text % {"pid": session.pid})
        return EndedSession(session.pid, after is None, _canceled(session, after))

    return _recorded(CANCEL_ACTION, place, confirmed, "statement_start", end)


def _read(cursor: Cursor, pid: int, backend_start: datetime) -> Session | None:
    params = {"pid": pid, "start": backend_start, "longest": sessions.LONGEST_STATEMENT}
    row = cursor.execute(ONE, params).fetchone()
    return sessions.session_of(row) if row else None


def _confirmed(cursor: Cursor, confirmed: ConfirmedSession, start: str) -> Session:
    if pausing.is_paused():
        raise IllegalTransition(pausing.PAUSED)
    session = _read(cursor, confirmed.pid, confirmed.backend_start)
    if session is None:
        raise _gone(confirmed.pid)
    if reason := refusal(session):
        raise NotEnded(reason)
    if confirmed.checks_start and getattr(session, start) != confirmed.start:
        raise _changed(session.pid)
    return session


def _send(cursor: Cursor, function: str, began: str, session: Session, start: datetime | None) -> None:
    query = SIGNAL.format(function=sql.Identifier(function), began=sql.Identifier(began))
    row = cursor.execute(query, {"pid": session.pid, "start": session.backend_start, "began": start}).fetchone()
    if row is None:
        raise _changed(session.pid)
    if not row["was_sent"]:
        raise _gone(session.pid)


def _read_back(cursor: Cursor, session: Session, is_done: Callable[[Session | None], bool]) -> Session | None:
    """Read the session until what was asked for is done, or for `READ_BACK_S`."""

    def read() -> tuple[bool, Session | None]:
        found = _read(cursor, session.pid, session.backend_start) if session.backend_start else None
        return is_done(found), found

    return polling.poll(read, READ_BACK_S)


def _still_runs(before: Session, after: Session | None) -> bool:
    return after is not None and after.state == "active" and after.statement_start == before.statement_start


def _recorded(
    action: str, place: Place, confirmed: ConfirmedSession, start: str, end: Callable[[Cursor, Session], EndedSession]
) -> EndedSession:
    """Record the act before anything is sent, and its outcome; one that is refused at once is recorded too."""
    is_known = False
    try:
        with sessions.asking(place) as cursor:
            session = _confirmed(cursor, confirmed, start)
            is_known = True
            with attempt(action, subject_of(place.cluster), **_about(place, session)):
                return end(cursor, session)
    except PoolsError:
        if is_known:
            raise
        about = {"server": str(place), "pid": confirmed.pid, "backend_start": confirmed.backend_start}
        with attempt(action, subject_of(place.cluster), **about):
            raise


def _about(place: Place, session: Session) -> dict[str, object]:
    """Return whose session it is and what runs there, without literals."""
    return {
        "server": str(place),
        "pid": session.pid,
        "backend_start": session.backend_start,
        "database": session.database,
        "role": session.role,
        "application": session.application,
        "client": session.client,
        "transaction_start": session.transaction_start,
        "query": session.query,
    }


def _gone(pid: int) -> SessionGone:
    return SessionGone(_("process %(pid)s has ended already: nothing was sent") % {"pid": pid})


def _changed(pid: int) -> NotEnded:
    text = _("process %(pid)s does something else by now: nothing was sent, look at it again")
    return NotEnded(text % {"pid": pid})


def _terminated(session: Session) -> str:
    if session.transaction_start:
        text = _("Process %(pid)s is gone, and its transaction is rolled back.")
    else:
        text = _("Process %(pid)s is gone; it had no open transaction.")
    return text % {"pid": session.pid}


def _canceled(session: Session, after: Session | None) -> str:
    if after is None:
        return _("Process %(pid)s is gone.") % {"pid": session.pid}
    text = _("The statement of process %(pid)s has ended; the session is still there, in the state “%(state)s”.")
    return text % {"pid": session.pid, "state": after.state}
