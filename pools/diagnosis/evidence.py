"""What is known of a pool whose clients wait: the queue, the sessions of its servers, and a login to its server."""

from dataclasses import dataclass
from functools import cached_property

from django.utils.translation import gettext as _

from pools.diagnosis.sessions import ServerSessions, Session
from pools.poolers.pool_queue import PoolQueue, ServerConnection

LONG_S = 1.0  # from which on a statement is slow, and a transaction without one is left open


@dataclass(frozen=True)
class Evidence:
    """All that a cause is judged by.

    `sessions` is None where the server can't be asked, for the reason `server_error`. `login_error` is why a login as
    the pool's role failed; empty where it worked, None where none was tried. `logged_error` is why the server lately
    refused the pooler's own login, by its log; empty where that tells of none. `panel_is_refused`: the panel's own
    login failed, and not a question after it. `names_sessions`: its reader may know whose sessions the server has, and
    what the server says. `database` is the one that the pool's connections lead to, empty where that is not known, and
    `at_others` are those that lead to other servers than the one that was asked.
    """

    queue: PoolQueue
    sessions: ServerSessions | None = None
    server_error: str = ""
    login_error: str | None = None
    logged_error: str = ""
    panel_is_refused: bool = False
    names_sessions: bool = True
    database: str = ""
    at_others: frozenset[ServerConnection] = frozenset()

    def session_of(self, connection: ServerConnection) -> Session | None:
        """Return the session that a server connection is on the server that was asked; None where none is known.

        Its pid is another process's on another server, and on this one once its own has ended: database and role tell.
        """
        session = self.sessions.by_pid.get(connection.pid) if self.sessions else None
        if session is None or connection in self.at_others:
            return None
        database = self.database if connection.pool == self.queue.name else ""
        pairs = (session.database, database), (session.role, connection.user)
        return None if any(found and wanted and found != wanted for found, wanted in pairs) else session

    def name_of(self, pid: int) -> str:
        """Name a session in the words of pg_stat_activity, where the reader may know whose it is."""
        if not self.names_sessions:
            return _("a session")
        session = self.sessions.by_pid.get(pid) if self.sessions else None
        return session.description if session else _("process %(pid)s") % {"pid": pid}

    @property
    def is_without_address(self) -> bool:
        """Whether the pooler can have no connection since it finds no address for its server's name."""
        return bool(self.queue.unresolved) and not self.queue.usable

    @cached_property
    def held(self) -> tuple[Session, ...]:
        """The sessions of the server connections that clients have, or of the whole database where none are known."""
        if self.sessions is None:
            return ()
        if not self.queue.sees_servers:
            found_by_pid = self.sessions.by_pid.values()
            return tuple(one for one in found_by_pid if one.is_of_client and one.state not in ("", "idle"))
        found = ((one, self.session_of(one)) for one in self.queue.busy)
        return tuple(session for one, session in found if session and not _may_work_elsewhere(one, session))

    @cached_property
    def locked(self) -> tuple[Session, ...]:
        """Those that wait for a lock, and those among them that hold it."""
        waiting = [one for one in self.held if one.blocked_by]
        if self.sessions is None or not waiting:
            return ()
        ends = {pid for one in waiting for pid in self.sessions.blockers_of(one)}
        return tuple(one for one in self.held if one.blocked_by or one.pid in ends)

    @cached_property
    def left_open(self) -> tuple[Session, ...]:
        """Those whose transaction is open while nothing runs for long."""
        return tuple(one for one in self._unlocked if one.is_in_transaction and (one.in_state_s or 0.0) >= LONG_S)

    @cached_property
    def slow(self) -> tuple[Session, ...]:
        """Those whose statement has run for long."""
        return tuple(one for one in self._unlocked if one.state == "active" and (one.statement_s or 0.0) >= LONG_S)

    @cached_property
    def idle(self) -> tuple[Session, ...]:
        """Those that have run nothing for long: a client keeps them without using them."""
        return tuple(one for one in self._unlocked if one.state == "idle" and (one.in_state_s or 0.0) >= LONG_S)

    @cached_property
    def hidden(self) -> tuple[Session, ...]:
        """Those of which the panel's role may not see what they do."""
        return tuple(one for one in self._unlocked if one.is_hidden)

    @cached_property
    def quick(self) -> tuple[Session, ...]:
        """All others: what they do takes less than a second."""
        others = {one.pid for part in (self.left_open, self.slow, self.idle, self.hidden) for one in part}
        return tuple(one for one in self._unlocked if one.pid not in others)

    @property
    def _unlocked(self) -> tuple[Session, ...]:
        return tuple(one for one in self.held if one not in self.locked)

    @property
    def unseen(self) -> int:
        """The clients that use a limit up beside those whose sessions are known: of other pools, or idle ones."""
        limit = self.queue.kernels_queue if self.queue.sees_servers else self.queue.exhausted
        return max(0, limit.used - len(self.held)) if limit else 0

    def is_most(self, part: tuple[Session, ...]) -> bool:
        """Whether no other part of the held connections is larger."""
        parts = (self.locked, self.left_open, self.slow, self.idle, self.hidden, self.quick)
        return bool(part) and len(part) >= max(self.unseen, *map(len, parts))


def _may_work_elsewhere(connection: ServerConnection, session: Session) -> bool:
    """Tell whether nothing runs in a session whose client has connections to other servers, where its reads may run."""
    return connection.is_one_of_several and session.state.startswith("idle")
