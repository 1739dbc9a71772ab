"""What a pool may be, as far as it can be told without asking a server."""

from pools.clusters import topology
from pools.models import Mode, NodeRole, Pool, Pooler, PoolerKind, identifiers
from pools.poolers import KINDS
from pools.poolers.base import Problems

LARGEST_SIZE = 100_000  # far beyond any max_connections (at most 262,143), within every column


def problems(wish: Pool) -> Problems:
    """(field, message) for every value of an unsaved pool that can't be taken."""
    if message := identifiers.pool_name_problem(wish.name):
        yield "name", message
    if message := identifiers.identifier_problem(wish.database):
        yield "database", message
    if wish.user and (message := identifiers.identifier_problem(wish.user)):
        yield "user", message
    yield from _size_problems(wish)
    yield from _target_problems(wish)
    if wish.mode not in Mode.values:
        yield "mode", f"{wish.mode!r} is no mode: choose one of {', '.join(Mode.values)}"
    if not isinstance(wish.settings, dict):
        yield "settings", f"{wish.settings!r} is no object of settings: use name and value pairs"
    else:
        yield from KINDS[wish.pooler.kind].problems(wish)
    if wish.through and wish.through != wish.pooler:
        yield from _chain_problems(wish, wish.through)


def _target_problems(wish: Pool) -> Problems:
    """A pool leads to standbys that are known, and only where its pooler does not spread the reads by itself."""
    if wish.target not in NodeRole.values:
        yield "target", f"{wish.target!r} is no target: choose one of {', '.join(NodeRole.values)}"
    elif wish.target != NodeRole.STANDBY:
        return
    elif wish.through_id or wish.pooler.kind == PoolerKind.PGPOOL:
        yield "target", "a Pgpool-II spreads reads over the standbys by itself: let the pool lead to the primary"
    elif not topology.standbys(wish.cluster):
        yield "target", f"cluster {wish.cluster} has no standby that the panel knows: add it among the cluster's nodes"


def _size_problems(wish: Pool) -> Problems:
    if not isinstance(wish.size, int) or isinstance(wish.size, bool):
        yield "size", "a whole number of server connections is needed: at least 1"
    elif not 1 <= wish.size <= LARGEST_SIZE:
        yield "size", f"size {wish.size} is no size of a pool: use 1 to {LARGEST_SIZE}, within the cluster's budget"


def _chain_problems(wish: Pool, through: Pooler) -> Problems:
    """A pool that leads through a Pgpool-II needs a pool of the same database and user there, and enough children."""
    if through.kind != PoolerKind.PGPOOL:
        yield "through", f"pooler {through} is no Pgpool-II: a PgBouncer leads to its servers itself"
        return
    admitted = through.pools.wanted().filter(cluster=wish.cluster_id, database=wish.database)
    if not any(one.user in ("", wish.login) for one in admitted):
        who = repr(wish.login) if wish.login else "every role"
        yield (
            "through",
            f"pooler {through} has no pool that lets {who} in to database {wish.database!r} of cluster "
            f"{wish.cluster}: make it there first",
        )
    children = KINDS[through.kind].usual_size(through)
    if children and isinstance(wish.size, int) and wish.size > children:
        yield "size", f"size {wish.size} is more than the {children} children of pooler {through}: the rest would wait"
