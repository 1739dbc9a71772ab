"""Datasets: whose a database's tables for load programs are, what may be done to them, and keeping the ones made."""

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from typing import Any

import psycopg
from django.utils.translation import gettext as _
from psycopg import sql

from benchmarks.engines import DEFAULT_ENGINE, engine
from benchmarks.engines.base import Tables
from benchmarks.errors import Refused
from benchmarks.models import FINAL, Dataset, Purpose, Run, Status
from benchmarks.targets import dataset_facts
from benchmarks.targets.dataset_facts import DatasetFacts
from benchmarks.targets.resolve import OpenSession, Target, cluster_of
from core.lib.addresses import is_local
from pools.clusters import connect
from pools.models import Cluster, Pool

__all__ = ["DatasetFacts", "facts", "guard_load", "guard_prepare", "keep", "mark", "tables_made"]

LOCK_TIMEOUT_MS, STATEMENT_TIMEOUT_MS = 2_000, 15_000

_FOUND = """
    SELECT c.oid, c.relname, pg_get_userbyid(c.relowner), obj_description(c.oid, 'pg_class'),
           pg_total_relation_size(c.oid) + coalesce(partitions.size, 0)
    FROM unnest(%s::text[]) AS wanted JOIN pg_class c ON c.oid = to_regclass(wanted)
    LEFT JOIN LATERAL (
        SELECT sum(pg_total_relation_size(inhrelid))::bigint AS size FROM pg_inherits WHERE inhparent = c.oid
    ) partitions ON true
"""
_OIDS = "SELECT to_regclass(wanted)::oid::bigint FROM unnest(%s::text[]) AS wanted"  # locks none of them
_DEPENDENTS = """
    SELECT DISTINCT conrelid::regclass::text FROM pg_constraint
    WHERE contype = 'f' AND confrelid = ANY(%(tables)s) AND NOT conrelid = ANY(%(tables)s)
      AND NOT EXISTS (SELECT FROM pg_inherits WHERE inhrelid = conrelid AND inhparent = ANY(%(tables)s))
    ORDER BY 1
"""
# serial columns draw their numbers from sequences that belong to them
_SEQUENCES = """
    SELECT n.nspname, s.relname FROM pg_depend d
    JOIN pg_class s ON s.oid = d.objid AND s.relkind = 'S' JOIN pg_namespace n ON n.oid = s.relnamespace
    WHERE d.classid = 'pg_class'::regclass AND d.refclassid = 'pg_class'::regclass
      AND d.refobjid IN (SELECT to_regclass(name) FROM unnest(%s::text[]) AS name)
"""
_ANY_TABLE = """
    SELECT tablename FROM pg_tables
    WHERE schemaname <> 'information_schema' AND schemaname !~ '^pg_' ORDER BY 1 LIMIT 1
"""
# Everybody who may create tables may do so in the database's own tablespace.
_TABLESPACES = """
    SELECT name, spcname IS NOT NULL AND name <> 'pg_global',
           t.oid = d.dattablespace OR has_tablespace_privilege(%s, t.oid, 'CREATE')
    FROM unnest(%s::text[]) AS name LEFT JOIN pg_tablespace t ON spcname = name
    JOIN pg_database d ON datname = current_database()
"""
_OWNER = "SELECT pg_get_userbyid(datdba) FROM pg_database WHERE datname = current_database()"


def oids(cluster: Cluster, database: str, wanted: Tables) -> list[int]:
    """Return the oids of these tables as far as they exist, also while a preparation has them locked.

    Raises `ClusterUnreachable` (of the pools app) and `Refused`.
    """
    with _session(cluster, database) as connection:
        return [oid for (oid,) in connection.execute(_OIDS, (list(wanted.names),)) if oid]


def facts(cluster: Cluster, database: str, wanted: Tables | None = None) -> DatasetFacts:
    """Query the tables in the database (default: pgbench's) as the panel's admin. Raises `ClusterUnreachable`.

    Raises `ClusterUnreachable`.
    """
    with _session(cluster, database) as connection:
        return _facts(connection, cluster, database, wanted or engine(DEFAULT_ENGINE).prepared_tables({}))


@contextmanager
def _session(cluster: Cluster, database: str, user: str | None = None) -> Iterator[connect.Connection]:
    """Open a session for `_asking`."""
    with connect.connect(cluster, database=database, user=user) as connection, _asking(connection, cluster, database):
        yield connection


@contextmanager
def _asking(connection: connect.Connection, cluster: Cluster, database: str) -> Iterator[None]:
    """Keep the session from waiting for locks; what the server refuses in it becomes `Refused`."""
    try:
        connection.execute(f"SET lock_timeout = {LOCK_TIMEOUT_MS}; SET statement_timeout = {STATEMENT_TIMEOUT_MS}")
        yield
    except psycopg.errors.LockNotAvailable:
        raise Refused(
            _("tables of %(database)s are locked by another session: try again later") % {"database": database}
        ) from None
    except psycopg.Error as error:
        raise Refused(
            _("%(database)s on %(cluster)s refused: %(error)s")
            % {"database": database, "cluster": cluster.name, "error": str(error).splitlines()[0]}
        ) from None


def _facts(connection: connect.Connection, cluster: Cluster, database: str, wanted: Tables) -> DatasetFacts:
    owner = _one(connection, _OWNER)
    known = DatasetFacts(database, cluster.protected, owner, wanted, free_bytes=_free_bytes(cluster, connection))
    found = connection.execute(_FOUND, (list(wanted.names),)).fetchall()
    return _with_tables(known, cluster, connection, found) if found else known


def _with_tables(
    known: DatasetFacts, cluster: Cluster, connection: connect.Connection, found: list[tuple[Any, ...]]
) -> DatasetFacts:
    found_oids = [row[0] for row in found]
    comments = {row[1]: row[3] for row in found}
    tables = known.wanted
    scale = _one(connection, tables.size_query) if tables.counted in comments else None
    finished, unfinished = _marked(cluster, known, comments)
    unfinished = unfinished or _left_unmarked(cluster, known, found_oids, comments)
    return replace(
        known,
        tables=tuple(row[1] for row in found),
        oids=tuple(found_oids),
        table_owner=found[0][2],
        ours=finished or unfinished or _left_empty(cluster, known, connection, comments),
        unfinished=unfinished,
        scale=scale,
        size_bytes=sum(row[4] for row in found),
        dependents=tuple(row[0] for row in connection.execute(_DEPENDENTS, {"tables": found_oids})),
    )


def _one(connection: connect.Connection, query: str, *parameters: object) -> Any:  # noqa: ANN401 (psycopg types columns so)
    row = connection.execute(query.encode(), parameters).fetchone()
    return row[0] if row else None


def _marked(cluster: Cluster, known: DatasetFacts, comments: dict[str, str | None]) -> tuple[bool, bool]:
    """Return whether the panel finished these tables, and whether a broken-off preparation left all that exist."""
    dataset = Dataset.objects.filter(cluster=cluster, database=known.database, engine=known.wanted.engine).first()
    if dataset is None:
        return False, False
    is_marked = set(comments.values()) == {dataset.unfinished_marker}
    return comments.get(known.wanted.marked) == dataset.marker, is_marked


def _left_unmarked(
    cluster: Cluster, known: DatasetFacts, found: Sequence[int], comments: dict[str, str | None]
) -> bool:
    """Test whether a preparation that broke off was filling these very tables, and could not mark them.

    The server was away at its end, or for longer than its worker lived.
    """
    here = {"cluster": cluster, "database": known.database, "engine": known.wanted.engine}
    prepared = Run.objects.filter(**here, purpose=Purpose.PREPARE, conditions__has_key="tables_made").first()
    if prepared is None or prepared.status not in FINAL or prepared.status == Status.SUCCEEDED:
        return False
    return not any(comments.values()) and set(found) <= set(prepared.conditions["tables_made"])


def _left_empty(
    cluster: Cluster, known: DatasetFacts, connection: connect.Connection, comments: dict[str, str | None]
) -> bool:
    """Test whether tables without a marker and without rows follow a preparation that broke off.

    They look like that where the server could not be reached to mark them.
    """
    here = {"cluster": cluster, "database": known.database, "engine": known.wanted.engine}
    last = Run.objects.filter(**here, purpose=Purpose.PREPARE, status__in=FINAL).first()
    if last is None or last.status == Status.SUCCEEDED or any(comments.values()):
        return False
    has_rows = (sql.SQL("SELECT EXISTS (SELECT FROM {})").format(sql.Identifier(name)) for name in comments)
    return not any(row[0] for query in has_rows for row in connection.execute(query))


def _free_bytes(cluster: Cluster, connection: connect.Connection) -> int | None:
    """Return the free space under the data directory, where that is on this host and visible to the admin."""
    if not is_local(cluster.host):
        return None
    try:
        disk = os.statvfs(_one(connection, "SELECT current_setting('data_directory')"))
    except (psycopg.errors.InsufficientPrivilege, OSError):
        return None
    return disk.f_bavail * disk.f_frsize


def guard_prepare(target: Target, wanted: Tables, confirm: str, session: OpenSession) -> Target:
    """Return the target with the role that should own the tables made there; raise `Refused` where data would be lost.

    The database's owner makes the tables where its password is known, so that its pools may use them. `session` is one
    of the panel's admin with that database.
    """
    cluster, database = cluster_of(target), target.database
    with _asking(session(), cluster, database):
        found = _facts(session(), cluster, database, wanted)
        _refuse_losses(found, cluster, wanted, confirm)
        if wanted.alone and not wanted.dropped:
            _refuse_company(session(), database, wanted)
        maker = found.table_owner or found.database_owner
        known = maker != cluster.admin_user and cluster.password_of(maker) is not None
        _refuse_tablespaces(session(), cluster, wanted, maker if known else cluster.admin_user)
    return Target(cluster, database, role=maker if known else "")


def _refuse_losses(found: DatasetFacts, cluster: Cluster, wanted: Tables, confirm: str) -> None:
    """Refuse to drop what others refer to or made, and to fill the disk."""
    database = found.database
    if found.dependents:
        text = _(
            "other tables of %(database)s refer to its %(kind)s tables by foreign keys (%(dependents)s), and "
            "preparing drops the %(kind)s tables: choose another database"
        )
        dependents = ", ".join(found.dependents)
        raise Refused(text % {"dependents": dependents, "kind": wanted.kind, "database": database})
    if not wanted.dropped and found.fits(wanted.takes_bytes) is False:
        text = _(
            "a dataset of this size (%(size)s) takes about %(needed)s and %(free)s are free on the disk of "
            "%(cluster)s: choose a smaller size or make room"
        )
        sizes = {"needed": _mb(wanted.takes_bytes), "free": _mb(found.free_bytes or 0)}
        raise Refused(text % (sizes | {"size": wanted.of_size(wanted.size), "cluster": cluster.name}))
    if confirm != database and (reason := dataset_facts.why_confirm(found, cluster.name)):
        raise Refused(reason)


def _refuse_tablespaces(connection: connect.Connection, cluster: Cluster, wanted: Tables, maker: str) -> None:
    """Refuse unusable tablespaces, which the program would find only after it has dropped the old tables."""
    if not wanted.tablespaces:
        return
    for name, exists, may in connection.execute(_TABLESPACES, (maker, list(wanted.tablespaces))):
        if not exists:
            raise Refused(
                _("%(cluster)s has no tablespace %(tablespace)s for tables: choose another, or leave it out")
                % {"cluster": cluster.name, "tablespace": name}
            )
        if not may:
            raise Refused(
                _("role %(role)s may not make tables in tablespace %(tablespace)s: GRANT it CREATE there")
                % {"role": maker, "tablespace": name}
            )


def _refuse_company(connection: connect.Connection, database: str, wanted: Tables) -> None:
    if (name := _one(connection, _ANY_TABLE)) is not None:
        raise Refused(
            _(
                "%(database)s holds table %(name)s, and the %(kind)s tables are made in an empty database only: drop "
                "all tables there first, or choose another database"
            )
            % {"database": database, "name": name, "kind": wanted.kind}
        )


def _mb(size: int) -> str:
    return f"{size / 1024 / 1024:,.0f} MB"


def guard_load(target: Target, wanted: Tables, confirm: str, session: OpenSession) -> None:
    """Refuse a load that lacks its tables, or writes to a protected cluster unconfirmed; raise `Refused`.

    Nothing is known of a server that is not registered: there the load itself fails where tables are missing.
    `session` is one of the panel's admin with the target's database.
    """
    if wanted.writes and target.is_protected and confirm != target.database:
        raise Refused(_why_unasked(target, wanted))
    if target.cluster is None:
        return
    with _asking(session(), target.cluster, target.database):
        found = _facts(session(), target.cluster, target.database, wanted)
        if fault := dataset_facts.fault(found):
            raise Refused(fault)
        _admit(session(), target.cluster, target, found, "UPDATE" if wanted.writes else "SELECT")


def _why_unasked(target: Target, wanted: Tables) -> str:
    if target.cluster:
        text = _(
            "cluster %(place)s is protected and %(script)s writes to it: type the database's name, %(database)s, to go "
            "on, or choose %(sparing)s"
        )
    else:
        text = _(
            "no cluster is registered behind %(place)s and %(script)s writes to it: type the database's name, "
            "%(database)s, to go on, or choose %(sparing)s"
        )
    names = {"place": target.place, "database": target.database}
    return text % (names | {"script": wanted.writes, "sparing": wanted.sparing})


def _admit(
    connection: connect.Connection, cluster: Cluster, target: Target, found: DatasetFacts, privilege: str
) -> None:
    """Ensure that the role may use the tables: grant it our own; others' tables are left as they are."""
    may = "SELECT bool_and(has_table_privilege(%s, to_regclass(t), %s)) FROM unnest(%s::text[]) AS t"
    if _one(connection, may, target.login, privilege, list(found.wanted.names)):
        return
    if not found.ours:
        text = _(
            "role %(role)s may not %(privilege)s in the %(kind)s tables of %(database)s, which the panel did not "
            "make: GRANT it that, or prepare a dataset in a database of its own"
        )
        names = {"role": target.login, "database": target.database, "kind": found.wanted.kind}
        raise Refused(text % (names | {"privilege": privilege}))
    _grant(cluster, target.database, found.table_owner, [target.login], found.wanted)


def _grant(cluster: Cluster, database: str, owner: str, roles: Iterable[str], wanted: Tables) -> None:
    tables = sql.SQL(", ").join(map(sql.Identifier, wanted.names))
    with _as_owner(cluster, database, owner) as connection:
        drawn = [sql.Identifier(*row) for row in connection.execute(_SEQUENCES, (list(wanted.names),))]
        for role in map(sql.Identifier, roles):
            command = sql.SQL("GRANT SELECT, INSERT, UPDATE, DELETE, TRUNCATE ON {} TO {}")
            connection.execute(command.format(tables, role))
            if drawn:
                command = sql.SQL("GRANT USAGE, SELECT, UPDATE ON SEQUENCE {} TO {}")
                connection.execute(command.format(sql.SQL(", ").join(drawn), role))


def _as_owner(cluster: Cluster, database: str, owner: str) -> AbstractContextManager[connect.Connection]:
    """Open a session as the tables' owner where its password is known, else as the admin."""
    known = owner and owner != cluster.admin_user and cluster.password_of(owner) is not None
    return _session(cluster, database, owner if known else None)


def keep(run: Run) -> None:
    """Mark the tables that this run made as the panel's, grant them to the database's pools, and record the dataset.

    The record of a dropped dataset is deleted.
    """
    cluster, database, tables = run.cluster, run.database, tables_made(run)
    if cluster is None:
        raise Refused(
            _("the cluster of %(target)s was removed: its tables can't be marked") % {"target": run.target_label}
        )
    known = Dataset.objects.filter(cluster=cluster, database=database, engine=run.engine)
    if tables.dropped:
        known.delete()
        return
    dataset = known.first() or Dataset(cluster=cluster, database=database, engine=run.engine)
    mark(cluster, database, run.role, [tables.marked], dataset.marker)
    with _as_owner(cluster, database, run.role) as connection:
        owner = _one(connection, _OWNER)
        roles = _one(connection, "SELECT array_agg(rolname::text) FROM pg_roles") or []
    users = set(Pool.objects.wanted().filter(cluster=cluster, database=database).values_list("user", flat=True))
    _grant(
        cluster, database, run.role, sorted(({*users, owner} - {run.role or cluster.admin_user}) & set(roles)), tables
    )
    dataset.scale, dataset.run, dataset.prepared_at = tables.size, run, run.started_at or dataset.prepared_at
    dataset.save()


def mark(cluster: Cluster, database: str, owner: str, tables: Iterable[str], comment: str) -> None:
    """Set a comment of the panel's on these tables; raise `Refused`."""
    with _as_owner(cluster, database, owner) as connection:
        for name in tables:
            command = sql.SQL("COMMENT ON TABLE {} IS {}")
            connection.execute(command.format(sql.Identifier(name), sql.Literal(comment)))


def tables_made(run: Run) -> Tables:
    """Return the tables that a preparation makes or drops."""
    return engine(run.engine).prepared_tables(run.options)
