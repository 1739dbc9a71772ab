"""What to change in a client for the mode of its pool, by the release and the settings of the PgBouncer before it."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from django.utils.translation import gettext as _

from pools.advice.client_limits import ClientLimits
from pools.models import Mode
from pools.poolers.settings_schema import Version

CLOSES_STATEMENTS = (1, 22)  # accepts the protocol's Close, which psycopg needs
READS_OPTIONS = (1, 20)  # takes the parameters in `options` one by one (PgBouncer's NEWS)
DIGITS, OPTIONS = "extra_float_digits", "options"


@dataclass(frozen=True)
class Situation:
    """The mode of a pool, and what its pooler lets clients do."""

    mode: str
    limits: ClientLimits

    @property
    def version(self) -> Version:
        """The pooler's release."""
        return self.limits.version

    @property
    def keeps_prepared(self) -> bool:
        """True if statements prepared by the protocol survive in this pool."""
        return self.mode == Mode.SESSION or self.limits.keeps_prepared

    @property
    def refuses_digits(self) -> bool:
        """True if the pooler is known to refuse clients that send extra_float_digits when they connect."""
        return self.limits.checks_startup and self.limits.ignored is not None and DIGITS not in self.limits.ignored


@dataclass(frozen=True)
class Advice:
    """One client: what to do (`needed` False: nothing breaks without it), and the lines to write."""

    client: str
    text: str
    snippet: str = ""
    needed: bool = True


def advise(now: Situation) -> list[Advice]:
    """Return the advice for every client that the panel knows; in session mode for those that can't connect."""
    if now.mode == Mode.SESSION:
        return [Advice(client, _refused_digits(), _digits_line(now)) for client in SENDING_DIGITS if now.refuses_digits]
    return [writer(now) for writer in WRITERS]


def general(now: Situation) -> list[str]:
    """Return the advice that holds for any client, a sentence each."""
    return [*_of_mode(now.mode), *_of_startup(now.limits), *_of_authentication(now.limits)]


def _of_mode(mode: str) -> Iterator[str]:
    if mode == Mode.SESSION:
        yield _("Statements can stay as they are: a client has the server connection for itself until it disconnects.")
        yield _("Close idle connections, and keep a client's own pool no larger than this one.")
        return
    if mode == Mode.STATEMENT:
        yield _("Every statement commits by itself: turn autocommit on, because BEGIN is refused.")
    yield _(
        "Keep session state inside transactions: SET LOCAL, pg_advisory_xact_lock, temporary tables ON COMMIT DROP."
    )
    yield _("LISTEN, and tools that hold a session (migrations, pg_dump), go directly to the cluster.")


def _of_startup(limits: ClientLimits) -> Iterator[str]:
    """Yield sentences about the startup parameters that the pooler refuses or ignores, in every mode.

    Seen on 1.18.0, 1.24.1 and 1.26.1: one that is neither tracked nor ignored is refused (08P01), in `options` too.
    """
    if not limits.checks_startup:
        return
    if limits.ignored is None:
        yield _(
            "JDBC, R2DBC and ODBC send extra_float_digits when they connect, which PgBouncer refuses in every mode "
            "unless its ignore_startup_parameters has it."
        )
    elif DIGITS in limits.ignored:
        yield _("JDBC, R2DBC and ODBC can connect: this pooler ignores the extra_float_digits that they send.")
    else:
        yield _(
            "JDBC, R2DBC and ODBC can't connect now: they send extra_float_digits, which this pooler's "
            "ignore_startup_parameters lacks."
        )
    yield _of_options(limits)


def _of_options(limits: ClientLimits) -> str:
    if OPTIONS in (limits.ignored or ()):
        return _(
            "Parameters in options=-c … have no effect, because this pooler's ignore_startup_parameters has options: "
            "set them for the role with ALTER ROLE … SET."
        )
    if limits.version < READS_OPTIONS:
        return _(
            "A client that sends options=-c …, such as a search_path, is refused: set it for the role with "
            "ALTER ROLE … SET."
        )
    return _(
        "A client that sends options=-c NAME=VALUE is refused unless the pooler keeps that parameter for each client "
        "(track_extra_parameters): set others for the role with ALTER ROLE … SET."
    )


def _of_authentication(limits: ClientLimits) -> Iterator[str]:
    if limits.auth_type in ("any", "trust"):
        yield _(
            "The pooler's auth_type is %(auth_type)s: it asks no client for a password, so anyone who can reach its "
            "port can use its pools."
        ) % {"auth_type": limits.auth_type}


def _refused_digits() -> str:
    return _("It sends extra_float_digits when it connects, which the pooler refuses: change the pooler's setting.")


def _digits_line(now: Situation) -> str:
    """Return the line of pgbouncer.ini that lets it in, with the names that stand there now."""
    return f"ignore_startup_parameters = {', '.join([*sorted(now.limits.ignored or ()), DIGITS])}"


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
    if now.refuses_digits:
        line = "" if now.keeps_prepared else "jdbc:postgresql://…?prepareThreshold=0\n"
        return Advice("JDBC", _refused_digits(), line + _digits_line(now))
    if now.keeps_prepared:
        return Advice("JDBC", _("Prepared statements are kept."), needed=False)
    text = _("It prepares a statement that runs for the fifth time.")
    return Advice("JDBC", text, "jdbc:postgresql://…?prepareThreshold=0")


def _r2dbc(now: Situation) -> Advice:
    if now.refuses_digits:
        line = "" if now.keeps_prepared else "r2dbc:postgresql://…?preparedStatementCacheQueries=0\n"
        return Advice("R2DBC", _refused_digits(), line + _digits_line(now))
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


SENDING_DIGITS = ("JDBC", "R2DBC", "ODBC")
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
