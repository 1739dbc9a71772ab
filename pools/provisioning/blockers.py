"""What blocks dropping a database or a role: sessions that are logged in, and pools that lead there."""

from collections import Counter
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Self

from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from psycopg import sql

from pools.clusters import connect
from pools.errors import PoolerUnreachable, PoolsError
from pools.models import Cluster, Pool, Pooler
from pools.poolers import KINDS, driver

AT_ONCE = 16
# Autovacuum and parallel workers end by themselves (dropdb's own rule; the latter end with their leader).
SESSIONS = sql.SQL("""
    SELECT pid, usename, datname, coalesce(application_name, ''), coalesce(host(client_addr), '')
      FROM pg_stat_activity
     WHERE {column} = {name} AND pid <> pg_backend_pid()
       AND coalesce(backend_type, '') NOT IN ('autovacuum worker', 'parallel worker')
     ORDER BY usename, application_name, client_addr, pid
""")


@dataclass(frozen=True)
class Obstacle:
    """One thing that blocks a drop, its remedy, and the pool where it is one."""

    text: str
    remedy: str
    pool: Pool | None = None

    def __str__(self) -> str:
        return f"{self.text} ({self.remedy})"


class DropBlocked(PoolsError):
    """The database or role can't be dropped; the message lists everything that blocks it."""

    status = 409

    def __init__(self, message: str, obstacles: Sequence[Obstacle]) -> None:
        super().__init__(message)
        self.obstacles = obstacles

    @classmethod
    def database(cls, name: str, obstacles: Sequence[Obstacle]) -> Self:
        """Return the error for a database."""
        text = _("database %(name)r can't be dropped: %(blockers)s")
        return cls(text % {"name": name, "blockers": joined(obstacles)}, obstacles)

    @classmethod
    def role(cls, name: str, obstacles: Sequence[Obstacle]) -> Self:
        """Return the error for a role."""
        text = _("role %(name)r can't be dropped: %(blockers)s")
        return cls(text % {"name": name, "blockers": joined(obstacles)}, obstacles)


def joined(obstacles: Iterable[Obstacle]) -> str:
    """Join the obstacles' sentences by semicolons."""
    return "; ".join(str(obstacle) for obstacle in obstacles)


@dataclass(frozen=True)
class Session:
    """A session as pg_stat_activity shows it, and the panel's pooler that holds it."""

    user: str
    database: str
    application: str
    address: str
    pooler: Pooler | None = None


def of_leading_pools(pools: Iterable[Pool]) -> list[Obstacle]:
    """Return the pools that lead to a database, including those whose removal is not done yet."""
    return [_of_pool(pool, _("pool %(pool)s on pooler %(pooler)s leads there")) for pool in pools]


def of_pools_of_role(pools: Iterable[Pool]) -> list[Obstacle]:
    """Return the pools that log in with a role, including those whose removal is not done yet."""
    return [_of_pool(pool, _("pool %(pool)s on pooler %(pooler)s logs in with it")) for pool in pools]


def _of_pool(pool: Pool, text: str) -> Obstacle:
    remedy = _("it is being removed: wait for that") if pool.removal_requested_at else _("remove it first")
    return Obstacle(text % {"pool": pool, "pooler": pool.pooler}, remedy, pool)


def in_database(cluster: Cluster, connection: connect.Connection, database: str) -> list[Obstacle]:
    """Return the sessions in a database, counted by role, application and address."""
    return _of_sessions(_sessions(cluster, connection, "datname", database))


def of_role(cluster: Cluster, connection: connect.Connection, role: str) -> list[Obstacle]:
    """Return the sessions of a role, counted by database, application and address."""
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
    params = {**vars(session), "count": count}
    if session.pooler:
        text = ngettext(
            "%(count)s server connection that pooler %(pooler)s keeps as %(user)r to %(database)r",
            "%(count)s server connections that pooler %(pooler)s keeps as %(user)r to %(database)r",
            count,
        )
        servers = driver(session.pooler).servers
        return Obstacle(text % params, str(servers.remedy) if servers else "")
    remedy = ngettext("end it there first", "end them there first", count)
    return Obstacle(_session_text(session, count) % params, remedy)


def _session_text(session: Session, count: int) -> str:
    if session.application and session.address:
        return ngettext(
            "%(count)s session of %(user)r in %(database)r with application %(application)r from %(address)s",
            "%(count)s sessions of %(user)r in %(database)r with application %(application)r from %(address)s",
            count,
        )
    if session.application:
        return ngettext(
            "%(count)s session of %(user)r in %(database)r with application %(application)r by the local socket",
            "%(count)s sessions of %(user)r in %(database)r with application %(application)r by the local socket",
            count,
        )
    if session.address:
        return ngettext(
            "%(count)s session of %(user)r in %(database)r with an application without a name from %(address)s",
            "%(count)s sessions of %(user)r in %(database)r with an application without a name from %(address)s",
            count,
        )
    return ngettext(
        "%(count)s session of %(user)r in %(database)r with an application without a name by the local socket",
        "%(count)s sessions of %(user)r in %(database)r with an application without a name by the local socket",
        count,
    )


def _holders(cluster: Cluster) -> dict[tuple[int, str], Pooler]:
    """Map (backend pid, role) to the pooler that holds it, of those with pools of this cluster.

    A pooler that does not answer holds none; its sessions are then listed by application and address.
    """
    poolers = Pooler.objects.filter(pools__cluster=cluster).distinct()
    with ThreadPoolExecutor(AT_ONCE, thread_name_prefix="servers") as threads:
        found = threads.map(_held_by, list(poolers))
    return {session: pooler for pooler, sessions in found for session in sessions}


def _held_by(pooler: Pooler) -> tuple[Pooler, list[tuple[int, str]]]:
    kind = KINDS[pooler.kind]
    servers = kind.servers
    if servers is None:
        return pooler, []
    try:
        rows = kind.show(pooler, servers.word)
    except PoolerUnreachable:
        return pooler, []
    return pooler, [(int(str(row[servers.pid])), str(row[servers.user])) for row in rows if row[servers.pid]]
