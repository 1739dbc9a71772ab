"""What a pool may be, as far as it can be told without asking a server."""

from pools.clusters import topology
from pools.models import Mode, NodeRole, Pool, Pooler, identifiers
from pools.poolers import KINDS, driver
from pools.poolers.base import Problems

LARGEST_SIZE = 100_000  # far beyond any max_connections (at most 262,143), within every column


def problems(spec: Pool) -> Problems:
    """(field, message) for every value of an unsaved pool that can't be taken."""
    if message := identifiers.pool_name_problem(spec.name):
        yield "name", message
    if message := identifiers.identifier_problem(spec.database):
        yield "database", message
    if spec.user and (message := identifiers.identifier_problem(spec.user)):
        yield "user", message
    yield from _size_problems(spec)
    yield from _target_problems(spec)
    if spec.mode not in Mode.values:
        yield "mode", f"{spec.mode!r} is no mode: choose one of {', '.join(Mode.values)}"
    if not isinstance(spec.settings, dict):
        yield "settings", f"{spec.settings!r} is no object of settings: use name and value pairs"
    else:
        yield from KINDS[spec.pooler.kind].problems(spec)
    if spec.through and spec.through != spec.pooler:
        yield from _chain_problems(spec, spec.through)


def _target_problems(spec: Pool) -> Problems:
    """A pool leads to standbys that are known, and only where its pooler does not spread the reads by itself."""
    if spec.target not in NodeRole.values:
        yield "target", f"{spec.target!r} is no target: choose one of {', '.join(NodeRole.values)}"
    elif spec.target != NodeRole.STANDBY:
        return
    elif spec.through_id or driver(spec.pooler).leads_to_all_nodes:
        yield "target", "a Pgpool-II spreads reads over the standbys by itself: let the pool lead to the primary"
    elif not topology.standbys(spec.cluster):
        yield "target", f"cluster {spec.cluster} has no standby that the panel knows: add it among the cluster's nodes"


def _size_problems(spec: Pool) -> Problems:
    if not isinstance(spec.size, int) or isinstance(spec.size, bool):
        yield "size", "a whole number of server connections is needed: at least 1"
    elif not 1 <= spec.size <= LARGEST_SIZE:
        yield "size", f"size {spec.size} is no size of a pool: use 1 to {LARGEST_SIZE}, within the cluster's budget"


def _chain_problems(spec: Pool, through: Pooler) -> Problems:
    """A pool that leads through a Pgpool-II needs a pool of the same database and user there, and enough children."""
    if not driver(through).is_chainable:
        yield "through", f"pooler {through} is no Pgpool-II: a PgBouncer leads to its servers itself"
        return
    admitted = through.pools.wanted().filter(cluster=spec.cluster_id, database=spec.database)
    if not any(one.user in ("", spec.login) for one in admitted):
        who = repr(spec.login) if spec.login else "every role"
        yield (
            "through",
            f"pooler {through} has no pool that lets {who} in to database {spec.database!r} of cluster "
            f"{spec.cluster}: make it there first",
        )
    children = KINDS[through.kind].usual_size(through)
    if children and isinstance(spec.size, int) and spec.size > children:
        yield "size", f"size {spec.size} is more than the {children} children of pooler {through}: the rest would wait"
