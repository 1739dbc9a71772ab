"""Datasets: what pgbench's tables in a database are and whose, what may be done to them, and keeping the ones made."""

import ipaddress
import os
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from typing import Any

import psycopg
from psycopg import sql

from benchmarks.engines.pgbench.initialize import ACCOUNTS_PER_SCALE, estimated_bytes
from benchmarks.errors import Refused
from benchmarks.models import FINAL, Dataset, Purpose, Run, Status
from benchmarks.targets import Target
from pools.errors import ClusterUnreachable
from pools.models import Cluster, Pool
from pools.servers import postgres

TABLES = ("pgbench_accounts", "pgbench_branches", "pgbench_history", "pgbench_tellers")
LOCK_TIMEOUT_MS, STATEMENT_TIMEOUT_MS = 2_000, 15_000
WRITING_SCRIPTS = frozenset({"tpcb-like", "simple-update"})

_FOUND = """
    SELECT c.oid, c.relname, pg_get_userbyid(c.relowner), obj_description(c.oid, 'pg_class'),
           pg_total_relation_size(c.oid)
    FROM unnest(%s::text[]) AS wanted JOIN pg_class c ON c.oid = to_regclass(wanted)
"""
_DEPENDENTS = """
    SELECT DISTINCT conrelid::regclass::text FROM pg_constraint
    WHERE contype = 'f' AND confrelid = ANY(%s) AND NOT conrelid = ANY(%s) ORDER BY 1
"""
_OWNER = "SELECT pg_get_userbyid(datdba) FROM pg_database WHERE datname = current_database()"


@dataclass(frozen=True)
class DatasetFacts:
    """What a database holds of pgbench's tables; sizes in bytes, `free_bytes` None where it can't be known."""

    database: str
    protected: bool
    database_owner: str
    tables: tuple[str, ...] = ()
    table_owner: str = ""
    ours: bool = False
    scale: int | None = None
    size_bytes: int = 0
    free_bytes: int | None = None
    dependents: tuple[str, ...] = ()

    @property
    def tables_exist(self) -> bool:
        """Whether any of the four is there."""
        return bool(self.tables)

    @property
    def complete(self) -> bool:
        """Whether all four are there, with rows."""
        return len(self.tables) == len(TABLES) and bool(self.scale)

    @property
    def rows(self) -> int:
        """The accounts."""
        return ACCOUNTS_PER_SCALE * (self.scale or 0)

    def fits(self, size_bytes: int) -> bool | None:
        """Whether that fits beside what is there, whose place it takes; None where the free space is unknown."""
        return None if self.free_bytes is None else size_bytes <= self.free_bytes + self.size_bytes


def facts(cluster: Cluster, database: str) -> DatasetFacts:
    """What the database holds now, asked as the panel's admin; raises `ClusterUnreachable`."""
    with _session(cluster, database) as connection:
        owner = _one(connection, _OWNER)
        known = DatasetFacts(database, cluster.protected, owner, free_bytes=_free_bytes(cluster, connection))
        found = connection.execute(_FOUND, (list(TABLES),)).fetchall()
        return _with_tables(known, cluster, connection, found) if found else known


@contextmanager
def _session(cluster: Cluster, database: str, user: str | None = None) -> Iterator[postgres.Connection]:
    """A session that waits for nobody's locks; what the server refuses in it becomes `Refused`."""
    with postgres.connect(cluster, database=database, user=user) as connection:
        try:
            connection.execute(f"SET lock_timeout = {LOCK_TIMEOUT_MS}; SET statement_timeout = {STATEMENT_TIMEOUT_MS}")
            yield connection
        except psycopg.errors.LockNotAvailable:
            raise Refused(f"the pgbench tables of {database} are locked by another session: try again later") from None
        except psycopg.Error as error:
            raise Refused(f"{database} on {cluster.name} refused: {str(error).splitlines()[0]}") from None


def _with_tables(
    known: DatasetFacts, cluster: Cluster, connection: postgres.Connection, found: list[tuple[Any, ...]]
) -> DatasetFacts:
    oids = [row[0] for row in found]
    comments = {row[1]: row[3] for row in found}
    scale = _one(connection, "SELECT count(*) FROM pgbench_branches") if "pgbench_branches" in comments else None
    return replace(
        known,
        tables=tuple(row[1] for row in found),
        table_owner=found[0][2],
        ours=_ours(cluster, known.database, comments.get("pgbench_accounts"), rows=bool(scale)),
        scale=scale,
        size_bytes=sum(row[4] for row in found),
        dependents=tuple(row[0] for row in connection.execute(_DEPENDENTS, (oids, oids))),
    )


def _one(connection: postgres.Connection, query: str, *parameters: object) -> Any:
    row = connection.execute(query, parameters).fetchone()
    return row[0] if row else None


def _ours(cluster: Cluster, database: str, comment: str | None, *, rows: bool) -> bool:
    """Whether the panel made the tables: by its comment, or empty ones that a broken-off preparation left."""
    dataset = Dataset.objects.filter(cluster=cluster, database=database).first()
    if dataset is not None and comment == dataset.marker:
        return True
    last = Run.objects.filter(cluster=cluster, database=database, purpose=Purpose.PREPARE, status__in=FINAL).first()
    return not rows and not comment and last is not None and last.status != Status.SUCCEEDED


def _free_bytes(cluster: Cluster, connection: postgres.Connection) -> int | None:
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


def guard_prepare(cluster: Cluster, database: str, options: dict[str, Any], confirm: str = "") -> Target:
    """The target to prepare, with the role that should own the tables; raises `Refused` where that would destroy.

    A database's owner makes them where its password is known, so that its pools use them as of right.
    """
    found = facts(cluster, database)
    if found.dependents:
        raise Refused(
            f"{', '.join(found.dependents)} refer to the pgbench tables in {database} by foreign keys, and preparing "
            "drops those tables: choose another database"
        )
    takes = estimated_bytes(options["scale"], options["fillfactor"])
    if found.fits(takes) is False:
        raise Refused(
            f"scale {options['scale']} takes about {_mb(takes)} and {_mb(found.free_bytes or 0)} are free on the "
            f"disk of {cluster.name}: choose a smaller scale or make room"
        )
    if confirm != database and (reason := _why_confirm(found, cluster)):
        raise Refused(f"{reason}: type the database's name, {database}, to go on")
    maker = found.table_owner or found.database_owner
    known = maker != cluster.admin_user and cluster.password_of(maker) is not None
    return Target(cluster, database, role=maker if known else "")


def _why_confirm(found: DatasetFacts, cluster: Cluster) -> str:
    if found.tables_exist and not found.ours:
        return f"{found.database} holds {', '.join(found.tables)} that this panel did not make, and they would be lost"
    return f"cluster {cluster.name} is protected, and preparing writes to it" if found.protected else ""


def _mb(size: int) -> str:
    return f"{size / 1024 / 1024:,.0f} MB"


def guard_load(target: Target, options: dict[str, Any], confirm: str = "") -> None:
    """Refuse a load that would lack its tables, or write to a protected cluster unasked; raises `Refused`."""
    writes = options.get("builtin") in WRITING_SCRIPTS
    if writes and target.cluster.protected and confirm != target.database:
        raise Refused(
            f"cluster {target.cluster.name} is protected and {options['builtin']} writes to it: type the database's "
            f"name, {target.database}, to go on, or choose select-only"
        )
    found = facts(target.cluster, target.database)
    if not found.complete:
        state = "holds no rows in its" if len(found.tables) == len(TABLES) else "lacks"
        raise Refused(f"{target.database} {state} pgbench tables: prepare a dataset first")
    _admit(target, found, "UPDATE" if writes else "SELECT")


def _admit(target: Target, found: DatasetFacts, privilege: str) -> None:
    """See to it that the role may use the tables; our own are opened to it, others' are left as they are."""
    with _session(target.cluster, target.database) as connection:
        may = "SELECT bool_and(has_table_privilege(%s, to_regclass(t), %s)) FROM unnest(%s::text[]) AS t"
        if _one(connection, may, target.login, privilege, list(TABLES)):
            return
    if not found.ours:
        raise Refused(
            f"role {target.login} may not {privilege} in the pgbench tables of {target.database}, which the panel did "
            "not make: GRANT it that, or prepare a dataset in a database of its own"
        )
    _grant(target.cluster, target.database, found.table_owner, [target.login])


def _grant(cluster: Cluster, database: str, owner: str, roles: Iterable[str]) -> None:
    tables = sql.SQL(", ").join(map(sql.Identifier, TABLES))
    with _as_owner(cluster, database, owner) as connection:
        for role in roles:
            command = sql.SQL("GRANT SELECT, INSERT, UPDATE, DELETE, TRUNCATE ON {} TO {}")
            connection.execute(command.format(tables, sql.Identifier(role)))


def _as_owner(cluster: Cluster, database: str, owner: str) -> AbstractContextManager[postgres.Connection]:
    """A session of the tables' owner where its password is known, else of the admin."""
    known = owner and owner != cluster.admin_user and cluster.password_of(owner) is not None
    return _session(cluster, database, owner if known else None)


def keep(run: Run) -> Dataset:
    """Mark the tables that this run made as the panel's, open them to the database's pools, and remember them."""
    cluster, database = run.cluster, run.database
    if cluster is None:
        raise Refused(f"the cluster of {run.target_label} was removed: its tables can't be marked")
    dataset = Dataset.objects.filter(cluster=cluster, database=database).first() or Dataset(
        cluster=cluster, database=database
    )
    with _as_owner(cluster, database, run.role) as connection:
        comment = sql.SQL("COMMENT ON TABLE pgbench_accounts IS {}").format(sql.Literal(dataset.marker))
        connection.execute(comment)
        owner = _one(connection, _OWNER)
        roles = _one(connection, "SELECT array_agg(rolname::text) FROM pg_roles") or []
    users = set(Pool.objects.wanted().filter(cluster=cluster, database=database).values_list("user", flat=True))
    _grant(cluster, database, run.role, sorted(({*users, owner} - {run.role or cluster.admin_user}) & set(roles)))
    dataset.scale, dataset.run, dataset.prepared_at = run.options["scale"], run, run.started_at or dataset.prepared_at
    dataset.save()
    return dataset


def remains(run: Run) -> str:
    """What a broken-off preparation left, in words; empty where that can't be asked."""
    try:
        found = facts(run.cluster, run.database) if run.cluster else None
    except (ClusterUnreachable, Refused):
        return ""
    if found is None or found.complete:
        return ""
    left = "empty" if found.tables_exist else "gone"
    return f"the pgbench tables of {run.database} are {left} now: prepare again"
