"""What stands in the way of dropping a database or a role: who is logged in, and which pools lead there."""

from collections import Counter
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from psycopg import sql

from pools.clusters import connect
from pools.errors import PoolerUnreachable, PoolsError
from pools.models import Cluster, Pool, Pooler
from pools.poolers import KINDS, driver

AT_ONCE = 16
# Autovacuum and parallel workers give way by themselves (dropdb's own rule; the latter end with their leader).
SESSIONS = sql.SQL("""
    SELECT pid, usename, datname, coalesce(application_name, ''), coalesce(host(client_addr), '')
      FROM pg_stat_activity
     WHERE {column} = {name} AND pid <> pg_backend_pid()
       AND coalesce(backend_type, '') NOT IN ('autovacuum worker', 'parallel worker')
     ORDER BY usename, application_name, client_addr, pid
""")


@dataclass(frozen=True)
class Obstacle:
    """One thing that stands in the way, what to do about it, and the pool where it is one."""

    text: str
    remedy: str
    pool: Pool | None = None

    def __str__(self) -> str:
        return f"{self.text} ({self.remedy})"


class DropBlocked(PoolsError):
    """It can't be dropped while this stands in the way; the message names it all."""

    status = 409

    def __init__(self, what: str, obstacles: Sequence[Obstacle]) -> None:
        super().__init__(f"{what} can't be dropped: " + "; ".join(str(obstacle) for obstacle in obstacles))
        self.obstacles = obstacles


@dataclass(frozen=True)
class Session:
    """A login as others see it, and which of the panel's own poolers holds it."""

    user: str
    database: str
    application: str
    address: str
    pooler: Pooler | None = None


def of_pools(pools: Iterable[Pool], does: str) -> list[Obstacle]:
    """Pools and what each `does`, such as "leads there"; one that waits for its removal still does."""
    return [
        Obstacle(
            f"pool {pool} on pooler {pool.pooler} {does}",
            "it is being removed: wait for that" if pool.removal_requested_at else "remove it first",
            pool,
        )
        for pool in pools
    ]


def in_database(cluster: Cluster, connection: connect.Connection, database: str) -> list[Obstacle]:
    """Who is logged in to a database, counted by role, application and address."""
    return _of_sessions(_sessions(cluster, connection, "datname", database))


def of_role(cluster: Cluster, connection: connect.Connection, role: str) -> list[Obstacle]:
    """Where a role is logged in, counted by database, application and address."""
    return _of_sessions(_sessions(cluster, connection, "usename", role))


def _sessions(cluster: Cluster, connection: connect.Connection, column: str, name: str) -> list[Session]:
    query = SESSIONS.format(column=sql.Identifier(column), name=sql.Literal(name))
    rows = connection.execute(query).fetchall()
    holders = _holders(cluster) if rows else {}
    return [
        Session(user or "", database or "", application, address, holders.get((pid, user)))
        for pid, user, database, application, address in rows
    ]


def _of_sessions(sessions: Iterable[Session]) -> list[Obstacle]:
    return [_obstacle(session, count) for session, count in Counter(sessions).items()]


def _obstacle(session: Session, count: int) -> Obstacle:
    plural = "s" if count > 1 else ""
    if session.pooler:
        held = f"{count} server connection{plural} that pooler {session.pooler} keeps"
        shown = driver(session.pooler).servers
        remedy = shown.remedy if shown else ""
        return Obstacle(f"{held} as {session.user!r} to {session.database!r}", remedy)
    where = f"from {session.address}" if session.address else "by the local socket"
    program = f"application {session.application!r}" if session.application else "an application without a name"
    return Obstacle(
        f"{count} session{plural} of {session.user!r} in {session.database!r} with {program} {where}",
        "end it there first" if count == 1 else "end them there first",
    )


def _holders(cluster: Cluster) -> dict[tuple[int, str], Pooler]:
    """(backend pid, role) → the pooler that holds it, of those with pools of this cluster.

    A pooler that does not answer claims nothing; its sessions are then told by application and address.
    """
    poolers = Pooler.objects.filter(pools__cluster=cluster).distinct()
    with ThreadPoolExecutor(AT_ONCE, thread_name_prefix="servers") as threads:
        found = threads.map(_held_by, list(poolers))
    return {held: pooler for pooler, all_held in found for held in all_held}


def _held_by(pooler: Pooler) -> tuple[Pooler, list[tuple[int, str]]]:
    kind = KINDS[pooler.kind]
    shown = kind.servers
    if shown is None:
        return pooler, []
    try:
        rows = kind.show(pooler, shown.word)
    except PoolerUnreachable:
        return pooler, []
    return pooler, [(int(str(row[shown.pid])), str(row[shown.user])) for row in rows if row[shown.pid]]
