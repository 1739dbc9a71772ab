"""What to change in a client for the mode of its pool, by the release of the PgBouncer it goes through."""

from collections.abc import Callable
from dataclasses import dataclass

from django.utils.translation import gettext as _

from pools.models import Mode
from pools.poolers.settings_schema import Version

KEEPS_PREPARED = (1, 21)  # follows statements that the protocol prepares, up to max_prepared_statements
CLOSES_STATEMENTS = (1, 22)  # accepts the protocol's Close, which psycopg needs


@dataclass(frozen=True)
class Situation:
    """The mode, the pooler's release, and whether statements prepared by the protocol survive in this pool."""

    mode: str
    version: Version
    keeps_prepared: bool


@dataclass(frozen=True)
class Advice:
    """One client: what to do (`needed` False: nothing breaks without it), and the lines to write."""

    client: str
    text: str
    snippet: str = ""
    needed: bool = True


def situation(mode: str, version: Version, max_prepared: int | None) -> Situation:
    """Return the situation of a pool; `max_prepared` is its live value, None where unknown: the release's default."""
    default = 200 if version >= (1, 24) else 0
    kept = version >= KEEPS_PREPARED and (default if max_prepared is None else max_prepared) > 0
    return Situation(mode, version, mode == Mode.SESSION or kept)


def advise(now: Situation) -> list[Advice]:
    """Return the advice for every client that the panel knows; in session mode there is only the general one."""
    return [] if now.mode == Mode.SESSION else [writer(now) for writer in WRITERS]


def general(now: Situation) -> list[str]:
    """Return what holds for any client, a sentence each."""
    if now.mode == Mode.SESSION:
        return [
            _("Nothing has to change: a client has the server connection for itself until it disconnects."),
            _("Close idle connections, and keep a client's own pool no larger than this one."),
        ]
    found = [
        _("Keep session state inside transactions: SET LOCAL, pg_advisory_xact_lock, temporary tables ON COMMIT DROP."),
        _("LISTEN, and tools that hold a session (migrations, pg_dump), go directly to the cluster."),
        _(
            "Parameters a client sends when it connects, such as options=-c search_path=…, are refused unless the "
            "pooler has them in ignore_startup_parameters: set them for the role with ALTER ROLE … SET."
        ),
    ]
    if now.mode == Mode.STATEMENT:
        found.insert(0, _("Every statement commits by itself: turn autocommit on, because BEGIN is refused."))
    return found


def _psycopg(now: Situation) -> Advice:
    kept = now.keeps_prepared and now.version >= CLOSES_STATEMENTS
    autocommit = ", autocommit=True" if now.mode == Mode.STATEMENT else ""
    if kept:
        text = _("Statements it prepares by itself are kept with psycopg 3.2, libpq 17 or later; else turn them off.")
        return Advice("psycopg", text, f"psycopg.connect(…, prepare_threshold=None{autocommit})", bool(autocommit))
    text = _("It prepares a statement it runs for the sixth time, which then exists on one server connection only.")
    return Advice("psycopg", text, f"psycopg.connect(…, prepare_threshold=None{autocommit})")


def _asyncpg(now: Situation) -> Advice:
    if now.keeps_prepared:
        return Advice("asyncpg", _("The statements it caches are kept."), needed=False)
    return Advice("asyncpg", _("It prepares every statement."), "asyncpg.connect(…, statement_cache_size=0)")


def _django(now: Situation) -> Advice:
    text = _(
        "Iterators must not use server-side cursors, which outlive a transaction. Django prepares nothing by itself; "
        "leave CONN_MAX_AGE at 0, because the pool holds the connections."
    )
    return Advice("Django", text, '"DISABLE_SERVER_SIDE_CURSORS": True,')


def _sqlalchemy(now: Situation) -> Advice:
    text = _("Let the pool be the only pool, and psycopg prepare nothing.")
    arguments = 'poolclass=NullPool, connect_args={"prepare_threshold": None}'
    if now.mode == Mode.STATEMENT:
        arguments += ', isolation_level="AUTOCOMMIT"'
    return Advice("SQLAlchemy", text, f"create_engine(url, {arguments})")


def _rails(now: Situation) -> Advice:
    if now.keeps_prepared:
        return Advice("Rails", _("Prepared statements are kept; migrations must not lock."), "advisory_locks: false")
    text = _("Active Record prepares statements, and migrations take a session lock.")
    return Advice("Rails", text, "prepared_statements: false\nadvisory_locks: false")


def _node(now: Situation) -> Advice:
    if now.keeps_prepared:
        return Advice("node-postgres", _("Queries with a name are prepared, and kept."), needed=False)
    text = _("Only queries with a name are prepared: leave the name out.")
    return Advice("node-postgres", text, "pool.query({ text, values })  // no name", needed=False)


def _prisma(now: Situation) -> Advice:
    direct = 'directUrl = env("DIRECT_URL")  // the cluster\'s own, for migrate'
    if now.keeps_prepared:
        return Advice("Prisma", _("Statements are kept; migrations need the cluster itself."), direct)
    text = _("It prepares every statement unless pgbouncer=true is set; migrations need the cluster itself.")
    return Advice("Prisma", text, f'DATABASE_URL="postgresql://…?pgbouncer=true"\n{direct}')


def _pgx(now: Situation) -> Advice:
    if now.keeps_prepared:
        return Advice("Go pgx", _("The statements it caches are kept."), needed=False)
    return Advice("Go pgx", _("It prepares and caches every statement."), "default_query_exec_mode=exec")


def _jdbc(now: Situation) -> Advice:
    if now.keeps_prepared:
        text = _(
            "Prepared statements are kept. "
            "The pooler must have extra_float_digits in ignore_startup_parameters, which the driver sends."
        )
        return Advice("JDBC", text, needed=False)
    text = _(
        "It prepares a statement that runs for the fifth time. "
        "The pooler must have extra_float_digits in ignore_startup_parameters, which the driver sends."
    )
    return Advice("JDBC", text, "jdbc:postgresql://…?prepareThreshold=0")


def _r2dbc(now: Situation) -> Advice:
    if now.keeps_prepared:
        return Advice("R2DBC", _("The statements it caches are kept."), needed=False)
    return Advice(
        "R2DBC", _("It prepares and caches statements."), "r2dbc:postgresql://…?preparedStatementCacheQueries=0"
    )


def _dotnet(now: Situation) -> Advice:
    text = _("It resets a session that returns to its own pool, which has no use here; it prepares only on request.")
    return Advice(".NET (Npgsql)", text, "No Reset On Close=true;Max Auto Prepare=0")


def _pgbench(now: Situation) -> Advice:
    if now.mode == Mode.STATEMENT:
        return Advice("pgbench", _("Its TPC-B script begins a transaction, which fails."), "pgbench -S -M simple …")
    if now.keeps_prepared:
        return Advice("pgbench", _("-M prepared works."), needed=False)
    text = _("-M prepared aborts the clients, and still prints a tps.")
    return Advice("pgbench", text, "pgbench -M simple …  # or extended")


WRITERS: tuple[Callable[[Situation], Advice], ...] = (
    _psycopg,
    _asyncpg,
    _django,
    _sqlalchemy,
    _rails,
    _node,
    _prisma,
    _pgx,
    _jdbc,
    _r2dbc,
    _dotnet,
    _pgbench,
)
