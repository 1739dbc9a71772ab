"""What a pool may be, as far as it can be told without asking a server."""

from collections.abc import Callable, Iterator

from pools import names
from pools.models import Mode, Pool, PoolerKind
from pools.poolers.pgbouncer import settings as pgbouncer_settings

Problems = Iterator[tuple[str, str]]
LARGEST_SIZE = 100_000  # far beyond any max_connections (at most 262,143), within every column


def problems(wish: Pool) -> Problems:
    """(field, message) for every value of an unsaved pool that can't be taken."""
    if message := names.pool_name_problem(wish.name):
        yield "name", message
    if message := names.identifier_problem(wish.database):
        yield "database", message
    if wish.user and (message := names.identifier_problem(wish.user)):
        yield "user", message
    yield from _size_problems(wish)
    if wish.mode not in Mode.values:
        yield "mode", f"{wish.mode!r} is no mode: choose one of {', '.join(Mode.values)}"
    if not isinstance(wish.settings, dict):
        yield "settings", f"{wish.settings!r} is no object of settings: use name and value pairs"
    else:
        yield from OF_KIND[PoolerKind(wish.pooler.kind)](wish)


def _size_problems(wish: Pool) -> Problems:
    if not isinstance(wish.size, int) or isinstance(wish.size, bool):
        yield "size", "a whole number of server connections is needed: at least 1"
    elif not 1 <= wish.size <= LARGEST_SIZE:
        yield "size", f"size {wish.size} is no size of a pool: use 1 to {LARGEST_SIZE}, within the cluster's budget"


def _pgbouncer_problems(wish: Pool) -> Problems:
    version = pgbouncer_settings.version_of(wish.pooler.server_version)
    for name, value in wish.settings.items():
        message = pgbouncer_settings.fault_of(name, value, version) or names.line_problem(str(value))
        if message:
            yield "settings", message


def _pgpool_problems(wish: Pool) -> Problems:
    """Pgpool-II caches session connections; it has neither other modes nor names of its own (its manual, pooling)."""
    if wish.mode != Mode.SESSION:
        yield "mode", f"Pgpool-II keeps a server connection for a whole session: {wish.mode} mode needs a PgBouncer"
    if wish.name != wish.database:
        yield "name", f"Pgpool-II has no names of its own for databases: name the pool {wish.database!r}"
    if wish.settings:
        yield "settings", "Pgpool-II has no settings per pool: leave them out"


OF_KIND: dict[PoolerKind, Callable[[Pool], Problems]] = {
    PoolerKind.PGBOUNCER: _pgbouncer_problems,
    PoolerKind.PGPOOL: _pgpool_problems,
}
