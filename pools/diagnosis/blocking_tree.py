"""The tree of who blocks whom: each blocker with those that wait for it below."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from pools.diagnosis.sessions import ServerSessions, Session


@dataclass(frozen=True)
class Branch:
    """A session at its depth of the tree; None for one that is no session, such as a prepared transaction.

    `pool` is the pool of the asked pooler that has it as a server connection, empty for any other session.
    """

    depth: int
    pid: int
    session: Session | None
    pool: str = ""


def of_sessions(sessions: ServerSessions, pools: Mapping[int, str]) -> list[Branch]:
    """Return the branches from each root down; one that waits for several stands below the first of them only.

    `pools` are the pools of the pooler by the pids of their server connections.
    """
    return [replace(branch, pool=pools.get(branch.pid, "")) for branch in _branches(sessions)]


def _branches(sessions: ServerSessions) -> list[Branch]:
    waiting: dict[int, list[int]] = {}
    for session in sorted(sessions.by_pid.values(), key=lambda one: one.pid):
        for pid in session.blocked_by:
            waiting.setdefault(pid, []).append(session.pid)
    blocked = {session.pid for session in sessions.by_pid.values() if session.blocked_by}
    seen: set[int] = set()
    roots = [pid for pid in sorted(waiting) if pid not in blocked]
    found = [branch for pid in roots for branch in _below(sessions, waiting, pid, 0, seen)]
    circles = [pid for pid in sorted(waiting) if pid not in seen]  # a deadlock has no root until PostgreSQL ends it
    return found + [branch for pid in circles for branch in _below(sessions, waiting, pid, 0, seen)]


def _below(
    sessions: ServerSessions, waiting: dict[int, list[int]], pid: int, depth: int, seen: set[int]
) -> Iterator[Branch]:
    if pid in seen:
        return
    seen.add(pid)
    yield Branch(depth, pid, sessions.by_pid.get(pid))
    for other in waiting.get(pid, ()):
        yield from _below(sessions, waiting, other, depth + 1, seen)
