"""Datasets: whose a database's tables for load programs are, what may be done to them, and keeping the ones made."""

import ipaddress
import os
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from typing import Any

import psycopg
from psycopg import sql

from benchmarks.engines import DEFAULT_ENGINE, engine
from benchmarks.engines.base import Tables
from benchmarks.errors import Refused
from benchmarks.models import FINAL, Dataset, Purpose, Run, Status
from benchmarks.targets.resolve import Target
from pools.clusters import connect
from pools.models import Cluster, Pool

LOCK_TIMEOUT_MS, STATEMENT_TIMEOUT_MS = 2_000, 15_000

_FOUND = """
    SELECT c.oid, c.relname, pg_get_userbyid(c.relowner), obj_description(c.oid, 'pg_class'),
           pg_total_relation_size(c.oid) + coalesce(partitions.size, 0)
    FROM unnest(%s::text[]) AS wanted JOIN pg_class c ON c.oid = to_regclass(wanted)
    LEFT JOIN LATERAL (
        SELECT sum(pg_total_relation_size(inhrelid))::bigint AS size FROM pg_inherits WHERE inhparent = c.oid
    ) partitions ON true
"""
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
# in the database's own tablespace anybody may make tables who may make them at all
_TABLESPACES = """
    SELECT name, spcname IS NOT NULL AND name <> 'pg_global',
           t.oid = d.dattablespace OR has_tablespace_privilege(%s, t.oid, 'CREATE')
    FROM unnest(%s::text[]) AS name LEFT JOIN pg_tablespace t ON spcname = name
    JOIN pg_database d ON datname = current_database()
"""
_OWNER = "SELECT pg_get_userbyid(datdba) FROM pg_database WHERE datname = current_database()"


@dataclass(frozen=True)
class DatasetFacts:
    """What a database holds of the wanted tables; sizes in bytes, `free_bytes` None where it can't be known.

    `scale` is their size in the engine's own measure, None where they can't tell. `unfinished` is whether they are
    what a broken-off preparation left; `oids` are in the order of `tables`.
    """

    database: str
    protected: bool
    database_owner: str
    wanted: Tables
    tables: tuple[str, ...] = ()
    oids: tuple[int, ...] = ()
    table_owner: str = ""
    ours: bool = False
    unfinished: bool = False
    scale: int | None = None
    size_bytes: int = 0
    free_bytes: int | None = None
    dependents: tuple[str, ...] = ()

    @property
    def tables_exist(self) -> bool:
        """Whether any of them is there."""
        return bool(self.tables)

    @property
    def complete(self) -> bool:
        """Whether all of them are there and finished, with rows unless they are needed empty."""
        whole = len(self.tables) == len(self.wanted.names) and not self.unfinished
        return whole and bool(self.scale) != self.wanted.needed_empty

    @property
    def rows(self) -> int:
        """Those of the tables that grow."""
        return self.wanted.rows_each * (self.scale or 0)

    @property
    def sized(self) -> str:
        """How large they are, in words."""
        return self.wanted.of_size(self.scale)

    def fits(self, size_bytes: int) -> bool | None:
        """Whether that fits beside what is there, whose place it takes; None where the free space is unknown."""
        return None if self.free_bytes is None else size_bytes <= self.free_bytes + self.size_bytes


def facts(cluster: Cluster, database: str, wanted: Tables | None = None) -> DatasetFacts:
    """What the database holds now of these tables (pgbench's where none are named), asked as the panel's admin.

    Raises `ClusterUnreachable`.
    """
    wanted = wanted or engine(DEFAULT_ENGINE).prepared_tables({})
    with _session(cluster, database) as connection:
        owner = _one(connection, _OWNER)
        known = DatasetFacts(database, cluster.protected, owner, wanted, free_bytes=_free_bytes(cluster, connection))
        found = connection.execute(_FOUND, (list(wanted.names),)).fetchall()
        return _with_tables(known, cluster, connection, found) if found else known


@contextmanager
def _session(cluster: Cluster, database: str, user: str | None = None) -> Iterator[connect.Connection]:
    """A session that waits for nobody's locks; what the server refuses in it becomes `Refused`."""
    with connect.connect(cluster, database=database, user=user) as connection:
        try:
            connection.execute(f"SET lock_timeout = {LOCK_TIMEOUT_MS}; SET statement_timeout = {STATEMENT_TIMEOUT_MS}")
            yield connection
        except psycopg.errors.LockNotAvailable:
            raise Refused(f"tables of {database} are locked by another session: try again later") from None
        except psycopg.Error as error:
            raise Refused(f"{database} on {cluster.name} refused: {str(error).splitlines()[0]}") from None


def _with_tables(
    known: DatasetFacts, cluster: Cluster, connection: connect.Connection, found: list[tuple[Any, ...]]
) -> DatasetFacts:
    oids = [row[0] for row in found]
    comments = {row[1]: row[3] for row in found}
    wanted = known.wanted
    scale = _one(connection, wanted.size_query) if wanted.counted in comments else None
    finished, unfinished = _marked(cluster, known, comments)
    return replace(
        known,
        tables=tuple(row[1] for row in found),
        oids=tuple(oids),
        table_owner=found[0][2],
        ours=finished or unfinished or _left_empty(cluster, known, connection, comments),
        unfinished=unfinished,
        scale=scale,
        size_bytes=sum(row[4] for row in found),
        dependents=tuple(row[0] for row in connection.execute(_DEPENDENTS, {"tables": oids})),
    )


def _one(connection: connect.Connection, query: str, *parameters: object) -> Any:
    row = connection.execute(query.encode(), parameters).fetchone()
    return row[0] if row else None


def _marked(cluster: Cluster, known: DatasetFacts, comments: dict[str, str | None]) -> tuple[bool, bool]:
    """Whether the panel finished these tables, and whether all that are there were left by one that broke off."""
    dataset = Dataset.objects.filter(cluster=cluster, database=known.database, engine=known.wanted.engine).first()
    if dataset is None:
        return False, False
    left = set(comments.values()) == {dataset.unfinished_marker}
    return comments.get(known.wanted.marked) == dataset.marker, left


def _left_empty(
    cluster: Cluster, known: DatasetFacts, connection: connect.Connection, comments: dict[str, str | None]
) -> bool:
    """Whether they are without a mark and without a row after a preparation that broke off.

    So they are where the server could not be asked to mark them any more.
    """
    here = {"cluster": cluster, "database": known.database, "engine": known.wanted.engine}
    last = Run.objects.filter(**here, purpose=Purpose.PREPARE, status__in=FINAL).first()
    if last is None or last.status == Status.SUCCEEDED or any(comments.values()):
        return False
    has_rows = (sql.SQL("SELECT EXISTS (SELECT FROM {})").format(sql.Identifier(name)) for name in comments)
    return not any(row[0] for query in has_rows for row in connection.execute(query))


def _free_bytes(cluster: Cluster, connection: connect.Connection) -> int | None:
    """Free space under the data directory, where that lies on this host and the admin may know it."""
    if not _is_local(cluster.host):
        return None
    try:
        disk = os.statvfs(_one(connection, "SELECT current_setting('data_directory')"))
    except (psycopg.errors.InsufficientPrivilege, OSError):
        return None
    return disk.f_bavail * disk.f_frsize


def _is_local(host: str) -> bool:
    if host.startswith("/") or host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def guard_prepare(cluster: Cluster, database: str, wanted: Tables, confirm: str = "") -> Target:
    """The target to prepare, with the role that should own the tables; raises `Refused` where that would destroy.

    A database's owner makes them where its password is known, so that its pools use them as of right.
    """
    found = facts(cluster, database, wanted)
    if found.dependents:
        raise Refused(
            f"{', '.join(found.dependents)} refer to {wanted.called} in {database} by foreign keys, and preparing "
            "drops those tables: choose another database"
        )
    if not wanted.dropped and found.fits(wanted.takes_bytes) is False:
        raise Refused(
            f"{wanted.of_size(wanted.size)} takes about {_mb(wanted.takes_bytes)} and {_mb(found.free_bytes or 0)} "
            f"are free on the disk of {cluster.name}: choose a smaller size or make room"
        )
    if wanted.alone and not wanted.dropped:
        _refuse_company(cluster, database, wanted)
    if confirm != database and (reason := _why_confirm(found, cluster)):
        raise Refused(f"{reason}: type the database's name, {database}, to go on")
    maker = found.table_owner or found.database_owner
    known = maker != cluster.admin_user and cluster.password_of(maker) is not None
    _refuse_tablespaces(cluster, database, wanted, maker if known else cluster.admin_user)
    return Target(cluster, database, role=maker if known else "")


def _refuse_tablespaces(cluster: Cluster, database: str, wanted: Tables, maker: str) -> None:
    """The program would find out only when it has dropped the tables that were there."""
    if not wanted.tablespaces:
        return
    with _session(cluster, database) as connection:
        for name, exists, may in connection.execute(_TABLESPACES, (maker, list(wanted.tablespaces))):
            if not exists:
                raise Refused(f"{cluster.name} has no tablespace {name} for tables: choose another, or leave it out")
            if not may:
                raise Refused(f"role {maker} may not make tables in tablespace {name}: GRANT it CREATE there")


def _refuse_company(cluster: Cluster, database: str, wanted: Tables) -> None:
    with _session(cluster, database) as connection:
        name = _one(connection, _ANY_TABLE)
    if name is not None:
        raise Refused(
            f"{database} holds table {name}, and {wanted.called} are made in an empty database only: drop them there "
            "first, or choose another database"
        )


def _why_confirm(found: DatasetFacts, cluster: Cluster) -> str:
    if found.tables_exist and not found.ours:
        return f"{found.database} holds {', '.join(found.tables)} that this panel did not make, and they would be lost"
    return f"cluster {cluster.name} is protected, and preparing writes to it" if found.protected else ""


def _mb(size: int) -> str:
    return f"{size / 1024 / 1024:,.0f} MB"


def guard_load(target: Target, wanted: Tables, confirm: str = "") -> None:
    """Refuse a load that would lack its tables, or write to a protected cluster unasked; raises `Refused`.

    Of a server that is not registered nothing is known: there the load itself says what it lacks.
    """
    if wanted.writes and target.is_protected and confirm != target.database:
        raise Refused(
            f"{target.protection} and {wanted.writes} writes to it: type the database's "
            f"name, {target.database}, to go on, or {wanted.sparing}"
        )
    if target.cluster is None:
        return
    found = facts(target.cluster, target.database, wanted)
    if fault := _fault(found):
        raise Refused(f"{target.database} {fault}")
    _admit(target.cluster, target, found, "UPDATE" if wanted.writes else "SELECT")


def _fault(found: DatasetFacts) -> str:
    """What keeps a load from these tables; empty where nothing does."""
    wanted, plain = found.wanted, found.wanted.called.removeprefix("the ")
    if found.unfinished:
        return f"holds {plain} that a broken-off preparation left: prepare again"
    if len(found.tables) < len(wanted.names):
        return f"lacks {plain}: prepare a dataset first"
    if wanted.needed_empty:
        return f"holds rows in its {plain}, which this load fills from the start: prepare again" if found.scale else ""
    if not found.scale:
        return f"holds no rows in its {plain}: prepare a dataset first"
    if found.scale < wanted.size:
        asked = wanted.of_size(wanted.size)
        return f"holds {plain} of {found.sized}, and {asked} is asked for: prepare a larger dataset or ask for less"
    return ""


def _admit(cluster: Cluster, target: Target, found: DatasetFacts, privilege: str) -> None:
    """See to it that the role may use the tables; our own are opened to it, others' are left as they are."""
    with _session(cluster, target.database) as connection:
        may = "SELECT bool_and(has_table_privilege(%s, to_regclass(t), %s)) FROM unnest(%s::text[]) AS t"
        if _one(connection, may, target.login, privilege, list(found.wanted.names)):
            return
    if not found.ours:
        raise Refused(
            f"role {target.login} may not {privilege} in {found.wanted.called} of {target.database}, which the panel "
            "did not make: GRANT it that, or prepare a dataset in a database of its own"
        )
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
    """A session of the tables' owner where its password is known, else of the admin."""
    known = owner and owner != cluster.admin_user and cluster.password_of(owner) is not None
    return _session(cluster, database, owner if known else None)


def keep(run: Run) -> None:
    """Mark the tables that this run made as the panel's, open them to the database's pools, and remember them.

    What it dropped is forgotten.
    """
    cluster, database, made = run.cluster, run.database, tables_made(run)
    if cluster is None:
        raise Refused(f"the cluster of {run.target_label} was removed: its tables can't be marked")
    known = Dataset.objects.filter(cluster=cluster, database=database, engine=run.engine)
    if made.dropped:
        known.delete()
        return
    dataset = known.first() or Dataset(cluster=cluster, database=database, engine=run.engine)
    mark(cluster, database, run.role, [made.marked], dataset.marker)
    with _as_owner(cluster, database, run.role) as connection:
        owner = _one(connection, _OWNER)
        roles = _one(connection, "SELECT array_agg(rolname::text) FROM pg_roles") or []
    users = set(Pool.objects.wanted().filter(cluster=cluster, database=database).values_list("user", flat=True))
    _grant(cluster, database, run.role, sorted(({*users, owner} - {run.role or cluster.admin_user}) & set(roles)), made)
    dataset.scale, dataset.run, dataset.prepared_at = made.size, run, run.started_at or dataset.prepared_at
    dataset.save()


def mark(cluster: Cluster, database: str, owner: str, tables: Iterable[str], comment: str) -> None:
    """Let these tables carry a comment of the panel's; raises `Refused`."""
    with _as_owner(cluster, database, owner) as connection:
        for name in tables:
            command = sql.SQL("COMMENT ON TABLE {} IS {}")
            connection.execute(command.format(sql.Identifier(name), sql.Literal(comment)))


def tables_made(run: Run) -> Tables:
    """What a preparation makes or drops."""
    return engine(run.engine).prepared_tables(run.options)
