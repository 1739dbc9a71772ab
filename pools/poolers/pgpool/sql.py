"""Pgpool-II's SQL side: SHOW with columns by name, answered by the program itself and not by a server."""

import psycopg
from django.utils.translation import gettext as _
from psycopg.rows import DictRow, dict_row

from core.lib.crypto import SealBroken
from pools.errors import PoolerUnreachable
from pools.models import Pooler
from pools.poolers.console_sample import FoundEntry, PoolFigures
from pools.poolers.faults import Rejected
from pools.poolers.pooler_login import LoginAddress, connected, reason_of, refusing_cleartext

CONNECT_TIMEOUT_S = 5
DATABASE = "postgres"
Session = psycopg.Connection[DictRow]
Rows = list[dict[str, object]]
STATEMENTS: dict[str, bytes] = {
    "pool_nodes": b"SHOW POOL_NODES",
    "pool_processes": b"SHOW POOL_PROCESSES",
    "pool_pools": b"SHOW POOL_POOLS",
    "pool_backend_stats": b"SHOW POOL_BACKEND_STATS",
    "pool_health_check_stats": b"SHOW POOL_HEALTH_CHECK_STATS",
    "pool_cache": b"SHOW POOL_CACHE",
    "config": b"PGPOOL SHOW ALL",
    "version": b"SHOW POOL_VERSION",
}
CAPACITY = ("num_init_children", "max_pool")
PRIMARY = ("primary", "main")  # "main" without streaming replication (SHOW POOL_NODES, role)
DATABASES = b"SELECT datname FROM pg_database WHERE datallowconn AND NOT datistemplate ORDER BY datname LIMIT 1000"
WORDS = tuple(word for word in STATEMENTS if word != "version")


def open(pooler: Pooler) -> Session:
    """Log in through the program as the panel's role, which takes one of its children while it lasts.

    Raises `PoolerUnreachable` saying why it failed.
    """
    try:
        return connect(pooler, DATABASE, pooler.admin_user, pooler.admin_password)
    except SealBroken:
        raise PoolerUnreachable(
            _("the stored password of pooler %(pooler)s can't be decrypted: enter it again") % {"pooler": pooler}
        ) from None
    except psycopg.errors.ConnectionTimeout:
        text = _("pooler %(pooler)s gave no connection in %(seconds)s s: it is down, or all its children are taken")
        raise PoolerUnreachable.at(pooler, text % {"pooler": pooler, "seconds": CONNECT_TIMEOUT_S}) from None
    except psycopg.Error as error:
        reason = _("pooler %(pooler)s can't be reached: %(reason)s") % {"pooler": pooler, "reason": reason_of(error)}
        raise PoolerUnreachable.at(pooler, reason) from None


def connect(pooler: Pooler, database: str, user: str, password: str) -> Session:
    """Open a client's session through the program; raises what psycopg raises, and `PoolerUnreachable`."""

    def log_in(address: LoginAddress) -> Session:
        return psycopg.connect(
            **address,
            user=user,
            password=password,
            dbname=database,
            application_name="pooldeck",
            connect_timeout=CONNECT_TIMEOUT_S,
            gssencmode="disable",
            **refusing_cleartext(pooler),
            autocommit=True,
            prepare_threshold=None,
            row_factory=dict_row,
        )

    return connected(pooler, log_in)


def is_full(error: psycopg.Error) -> bool:
    """Return whether a login failed because all children are taken.

    Without reserved_connections such clients stand in the kernel's queue; with it, Pgpool-II says so.
    """
    return isinstance(error, psycopg.errors.ConnectionTimeout) or "too many clients" in str(error)


def show(pooler: Pooler, word: str) -> Rows:
    """Return the rows of a SHOW command, columns by name; `word` is in `STATEMENTS`. Raises `PoolerUnreachable`."""
    with open(pooler) as session:
        return rows(session, word)


def rows(session: Session, word: str) -> Rows:
    """Return the rows over an open session. 4.3 answers some with an empty result first (seen)."""
    if word not in STATEMENTS:
        raise Rejected(
            _("SHOW %(word)s is not offered: use one of %(words)s") % {"word": word, "words": ", ".join(WORDS)}
        )
    try:
        cursor = session.execute(STATEMENTS[word])
        found: Rows = list(cursor.fetchall()) if cursor.description else []
        while cursor.nextset():
            found += cursor.fetchall() if cursor.description else []
    except psycopg.Error as error:
        raise PoolerUnreachable(
            _("the pooler closed the connection during SHOW %(word)s: %(reason)s")
            % {"word": word, "reason": reason_of(error)}
        ) from None
    return found


def settings(session: Session) -> dict[str, str]:
    """Name → value of PGPOOL SHOW ALL, as the child that serves this session has them."""
    return {str(row["item"]): str(row["value"]) for row in rows(session, "config")}


def version(session: Session) -> str:
    """`Pgpool-II 4.3.5`."""
    found = rows(session, "version")
    return f"Pgpool-II {str(next(iter(found[0].values()))).split()[0]}" if found else "Pgpool-II"


def others(pools: Rows, admin_user: str) -> Rows:
    """SHOW POOL_POOLS without one child that serves the panel's login: the session that asked, most of the time."""
    own_rows = [row for row in pools if (row["database"], row["username"]) == (DATABASE, admin_user) and is_taken(row)]
    return [row for row in pools if row not in own_rows or row["pool_pid"] != own_rows[0]["pool_pid"]]


def figures(pools: Rows) -> dict[str, PoolFigures]:
    """Return the connections of each database, from SHOW POOL_POOLS; waiting clients are in the kernel's queue."""
    found: dict[str, PoolFigures] = {}
    for row in pools:
        name = str(row["database"] or "")
        if not name or str(row["backend_id"]) != "0":
            continue
        other, taken = found.get(name, PoolFigures()), is_taken(row)
        found[name] = PoolFigures(
            cl_active=other.cl_active + taken,
            sv_active=other.sv_active + taken,
            sv_idle=other.sv_idle + (not taken),
        )
    return found


def entries(session: Session, admin_user: str) -> list[FoundEntry]:
    """Return each database that clients can name, with its kept connections and the address of the primary.

    Raises `PoolerUnreachable`.
    """
    settings_now = settings(session)
    children, kept = (int(settings_now[name]) if settings_now.get(name, "").isdigit() else 0 for name in CAPACITY)
    host, port = _primary(rows(session, "pool_nodes"))
    found = figures(others(rows(session, "pool_pools"), admin_user))
    listed = []
    for row in _ask(session, DATABASES):
        name = str(row["datname"])
        counted = found.get(name, PoolFigures())
        listed.append(
            FoundEntry(
                name=name,
                host=host,
                port=port,
                database=name,
                size=children or None,
                max_connections=children * kept,
                connections=counted.sv_active + counted.sv_idle,
            )
        )
    return listed


def _ask(session: Session, query: bytes) -> Rows:
    try:
        return list(session.execute(query).fetchall())
    except psycopg.Error as error:
        text = _("the pooler's servers did not list their databases: %(reason)s")
        raise PoolerUnreachable(text % {"reason": reason_of(error)}) from None


def _primary(nodes: Rows) -> tuple[str, int | None]:
    """Return the address of the primary as Pgpool-II has it; of the first backend where none is known."""
    for row in [*(row for row in nodes if row.get("role") in PRIMARY), *nodes]:
        return str(row["hostname"]), int(str(row["port"]))
    return "", None


def is_taken(row: dict[str, object]) -> bool:
    """Return whether a client has the connection of this row."""
    return str(row["pool_connected"]) == "1"
