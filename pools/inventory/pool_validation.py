"""Validates a pool without querying a server."""

from django.utils.translation import gettext as _

from pools.clusters import topology
from pools.models import Mode, NodeRole, Pool, Pooler, identifiers
from pools.poolers import KINDS, driver
from pools.poolers.base import Problems

LARGEST_SIZE = 100_000  # far beyond any max_connections (at most 262,143), within every column


def problems(spec: Pool) -> Problems:
    """Yield (field, message) for every invalid value of an unsaved pool."""
    if message := identifiers.pool_name_problem(spec.name):
        yield "name", message
    if message := identifiers.identifier_problem(spec.database):
        yield "database", message
    if spec.user and (message := identifiers.identifier_problem(spec.user)):
        yield "user", message
    yield from _size_problems(spec)
    yield from _target_problems(spec)
    if spec.mode not in Mode.values:
        text = _("%(mode)r is no mode: choose one of %(choices)s")
        yield "mode", text % {"mode": spec.mode, "choices": ", ".join(Mode.values)}
    if not isinstance(spec.settings, dict):
        text = _("%(settings)r is no object of settings: use name and value pairs")
        yield "settings", text % {"settings": spec.settings}
    else:
        yield from KINDS[spec.pooler.kind].problems(spec)
    if spec.through and spec.through != spec.pooler:
        yield from _chain_problems(spec, spec.through)


def _target_problems(spec: Pool) -> Problems:
    """Yield problems of the target: a known standby, and a pooler that does not spread reads itself."""
    if spec.target not in NodeRole.values:
        text = _("%(target)r is no target: choose one of %(choices)s")
        yield "target", text % {"target": spec.target, "choices": ", ".join(NodeRole.values)}
    elif spec.target != NodeRole.STANDBY:
        return
    elif spec.through_id or driver(spec.pooler).leads_to_all_nodes:
        yield "target", _("a Pgpool-II spreads reads over the standbys by itself: let the pool lead to the primary")
    elif not topology.standbys(spec.cluster):
        text = _("cluster %(cluster)s has no standby that the panel knows: add it among the cluster's nodes")
        yield "target", text % {"cluster": spec.cluster}


def _size_problems(spec: Pool) -> Problems:
    if not isinstance(spec.size, int) or isinstance(spec.size, bool):
        yield "size", _("a whole number of server connections is needed: at least 1")
    elif not 1 <= spec.size <= LARGEST_SIZE:
        text = _("size %(size)s is no size of a pool: use 1 to %(largest)s, within the cluster's budget")
        yield "size", text % {"size": spec.size, "largest": LARGEST_SIZE}


def _chain_problems(spec: Pool, through: Pooler) -> Problems:
    """Yield problems of a chain: the Pgpool-II needs a pool of the same database and user, and enough children."""
    if not driver(through).is_chainable:
        text = _("pooler %(pooler)s is no Pgpool-II: a PgBouncer leads to its servers itself")
        yield "through", text % {"pooler": through}
        return
    admitted = through.pools.wanted().filter(cluster=spec.cluster_id, database=spec.database)
    if not any(one.user in ("", spec.login) for one in admitted):
        if spec.login:
            text = _(
                "pooler %(pooler)s has no pool that lets %(role)r in to database %(database)r of cluster %(cluster)s: "
                "create it there first"
            )
        else:
            text = _(
                "pooler %(pooler)s has no pool that lets every role in to database %(database)r of cluster "
                "%(cluster)s: create it there first"
            )
        words = {"pooler": through, "role": spec.login, "database": spec.database, "cluster": spec.cluster}
        yield "through", text % words
    children = KINDS[through.kind].usual_size(through)
    if children and isinstance(spec.size, int) and spec.size > children:
        text = _("size %(size)s is more than the %(children)s children of pooler %(pooler)s: the rest would wait")
        yield "size", text % {"size": spec.size, "children": children, "pooler": through}
