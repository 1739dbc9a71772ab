"""The connections that a cluster can give to pools, how many are given, and the confirmation for more."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db import models
from django.db.models import F, IntegerField, QuerySet, Sum
from django.db.models.fields.json import KeyTextTransform
from django.db.models.functions import Cast, Coalesce
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from pools.inventory import unmanaged_connections
from pools.inventory.unmanaged_connections import NOTHING, UnmanagedConnections
from pools.models import Cluster, ClusterStatus, NodeRole, Pool, Pooler
from pools.models.poolers import taking_clients
from pools.poolers import KINDS, driver
from pools.poolers.base import Driver, Problems

CONNECTIONS_PER_GB = 25  # the managed providers' rule of thumb: 25 per GB of memory, less 3 for maintenance
KEPT_FOR_MAINTENANCE = 3
# All that is read here: of a status, the names of its databases and roles are the most, of a pooler its findings.
OF_STATUS = ("max_connections", "superuser_reserved_connections", "reserved_connections")
OF_POOLER = ("kind", "settings", "facts", "config_file")
# The kinds that may have a fixed number of connections of their own; pools of the others are counted by their sizes.
WITH_OWN = [kind for kind, driver in KINDS.items() if type(driver).connections_of is not Driver.connections_of]
_SIZE = gettext_lazy("size %(size)s")
_WITH_RESERVE = gettext_lazy("size %(size)s with a reserve of %(reserve)s")
_OF_EACH = gettext_lazy("%(size)s in each of %(count)s processes of pooler %(pooler)s, %(needed)s connections in all,")
_OF_POOLER = gettext_lazy("pooler %(pooler)s, which may open %(needed)s connections whatever its pools are,")
_OVER_CLUSTER = gettext_lazy("%(what)s is over the budget of cluster %(cluster)s")
_OVER_STANDBY = gettext_lazy("%(what)s is over the budget of each standby of cluster %(cluster)s")


@dataclass(frozen=True)
class Budget:
    """Connections; `available` and `free` are None where neither a check nor the memory is known.

    `free` is negative when more is given than there is. `sources` add up to `available` (but never below 0).
    """

    available: int | None
    allocated: int
    free: int | None
    sources: list[tuple[str, int]]
    for_experiments: int = 0  # the part of `allocated` that goes to pools of experiments
    unmanaged: UnmanagedConnections = NOTHING  # connections of entries that no pool of the panel manages

    @property
    def taken(self) -> int:
        """The connections that pools and all other entries take."""
        return self.allocated + self.unmanaged.connections

    @property
    def lasting(self) -> int:
        """The connections of pools that stay and of other entries; warnings are about these."""
        return self.taken - self.for_experiments

    @property
    def to_pools(self) -> int:
        """Connections of the pools that stay, without those of experiments."""
        return self.allocated - self.for_experiments

    @property
    def over(self) -> int:
        """The connections given beyond those available; 0 where that is unknown."""
        return max(0, -self.free) if self.free is not None else 0


def of_cluster(cluster: Cluster, *, target: str = NodeRole.PRIMARY, without: Pool | None = None) -> Budget:
    """Return the budget of a cluster's primary, or of one of its standbys, as if the pool `without` did not exist.

    A standby that serves queries allows at least as many connections as its primary (PostgreSQL's manual,
    "Hot Standby"), so both are judged by the same figures.
    """
    status = ClusterStatus.objects.only(*OF_STATUS).filter(cluster=cluster).first()
    allocated = _allocated([cluster.pk], target, without)
    others = unmanaged_connections.by_cluster([cluster.pk], target)
    return _budget(cluster, status, allocated[cluster.pk], others.get(cluster.pk, NOTHING))


def of_clusters(clusters: Iterable[Cluster], *, target: str = NodeRole.PRIMARY) -> dict[UUID, Budget]:
    """Return the budgets of the clusters' primaries, or of their standbys, by cluster id, in six queries."""
    listed = {cluster.pk: cluster for cluster in clusters}
    if not listed:  # few clusters have standbys, and to build the six queries costs more than to ask them
        return {}
    statuses = ClusterStatus.objects.only(*OF_STATUS).in_bulk(list(listed))
    allocated, others = _allocated(listed, target), unmanaged_connections.by_cluster(listed, target)
    return {
        pk: _budget(cluster, statuses.get(pk), allocated[pk], others.get(pk, NOTHING)) for pk, cluster in listed.items()
    }


def needed_by(pool: Pool) -> int:
    """Return the server connections that this pool (it need not be saved) adds to those of the other pools."""
    if pool.through_id:  # its Pgpool-II opens them
        return 0
    own = KINDS[pool.pooler.kind].connections_of(pool.pooler)
    if own is None:
        return _of_all_processes(pool)
    others = Pool.objects.with_connections().filter(pooler=pool.pooler, cluster=pool.cluster).exclude(pk=pool.pk)
    return 0 if others.exists() else own


def most_connections(pool: Pool) -> int | None:
    """Return the server connections that it may open itself; None where all pools of its pooler share them."""
    if pool.through_id:
        return 0
    return None if driver(pool.pooler).connections_of(pool.pooler) is not None else _of_all_processes(pool)


def _of_all_processes(pool: Pool) -> int:
    """Return its connections: each process that shares the pooler's port opens as many as the size and the reserve."""
    return (pool.size + reserve_of(pool)) * pool.pooler.process_count


def reserve_of(pool: Pool) -> int:
    """Return its reserve pool; a value that is no number counts as 0 (validation refuses it)."""
    text = str(pool.settings.get("reserve_pool") or 0) if isinstance(pool.settings, dict) else "0"
    return int(text) if text.isdigit() else 0


@dataclass
class _PoolConnections:
    """Connections given to all pools of a cluster, and to those of them that no experiment made for itself."""

    to_all: int = 0
    to_people: int = 0


def _allocated(cluster_ids: Collection[UUID], target: str, without: Pool | None = None) -> dict[UUID, _PoolConnections]:
    """Count what is given of each cluster: sizes and reserves of pools, and fixed connections of poolers.

    A Pgpool-II opens as many to each server of its cluster, whichever its pools lead to.
    """
    pools = Pool.objects.with_connections().filter(cluster__in=cluster_ids, through=None).order_by()
    if without is not None:
        pools = pools.exclude(pk=without.pk)
    columns = ("pooler", "cluster", "target", "made_for")
    routes = list(pools.filter(pooler__kind__in=WITH_OWN).values_list(*columns).distinct())
    poolers = Pooler.objects.only(*OF_POOLER).in_bulk({pooler_id for pooler_id, *_ in routes})
    by_pooler = {pk: KINDS[pooler.kind].connections_of(pooler) for pk, pooler in poolers.items()}
    own = [pk for pk, connections in by_pooler.items() if connections is not None]
    found: dict[UUID, _PoolConnections] = defaultdict(_PoolConnections)
    for cluster_id, made_for, connections in _sums(pools.filter(target=target).exclude(pooler__in=own)):
        found[cluster_id].to_all += connections
        found[cluster_id].to_people += 0 if made_for else connections
    there = [route for route in routes if route[2] == target or driver(poolers[route[0]]).leads_to_all_nodes]
    for pooler_id, cluster_id in {route[:2] for route in there}:
        found[cluster_id].to_all += by_pooler[pooler_id] or 0
    for pooler_id, cluster_id in {route[:2] for route in there if not route[3]}:
        found[cluster_id].to_people += by_pooler[pooler_id] or 0
    return found


def _sums(pools: QuerySet[Pool]) -> Iterator[tuple[UUID, str, int]]:
    """Yield a cluster, the experiment or an empty text, and the connections of its pools there, in all processes."""
    reserve = Coalesce(Cast(KeyTextTransform("reserve_pool", "settings"), IntegerField()), 0)
    columns = ("cluster", "made_for", "pooler__processes", "pooler__desired_processes")
    sums = pools.values_list(*columns).annotate(each=Sum(F("size") + reserve))
    return ((cluster, made_for, each * taking_clients(*counted)) for cluster, made_for, *counted, each in sums)


def _budget(
    cluster: Cluster, status: ClusterStatus | None, given: _PoolConnections, others: UnmanagedConnections
) -> Budget:
    sources, for_experiments = _sources(cluster, status), given.to_all - given.to_people
    if not sources:
        return Budget(None, given.to_all, None, [], for_experiments, others)
    available = max(0, sum(number for _, number in sources))
    free = available - given.to_all - others.connections
    return Budget(available, given.to_all, free, sources, for_experiments, others)


def _sources(cluster: Cluster, status: ClusterStatus | None) -> list[tuple[str, int]]:
    if status and status.max_connections is not None:
        found = [
            ("max_connections", status.max_connections),
            ("superuser_reserved_connections", -(status.superuser_reserved_connections or 0)),
            ("reserved_connections", -(status.reserved_connections or 0)),
        ]
    elif cluster.memory_mb:
        found = [
            (_by_memory(cluster.memory_mb), memory_connections(cluster.memory_mb)),
            (_("kept for maintenance"), -KEPT_FOR_MAINTENANCE),
        ]
    else:
        return []
    return [*found, (_("set aside for direct logins"), -cluster.set_aside_connections)]


def _by_memory(memory_mb: int) -> str:
    text = _("%(connections)s per GB of %(memory)s MB memory")
    return text % {"connections": CONNECTIONS_PER_GB, "memory": memory_mb}


def memory_connections(memory_mb: int) -> int:
    """Return the connections that suit a server of this memory, before the 3 kept for maintenance."""
    return CONNECTIONS_PER_GB * memory_mb // 1024


def problems(spec: Pool, confirmed: str, existing: Pool | None = None) -> Problems:
    """Yield (field, message) where the pool needs more than is free and `confirmed` is not the cluster's name.

    A pool may always shrink, or stay as it is, even where the budget shrank below what was given.
    """
    (target, figures), needed = _tightest(spec, existing), needed_by(spec)
    if figures.free is None or needed <= figures.free or not _grows(spec, needed, existing):
        return
    if confirmed == spec.cluster.name:
        return
    if confirmed:
        text = _("%(typed)r is not the cluster's name: type %(name)r to allow it")
        yield "over_budget_confirm", text % {"typed": confirmed, "name": spec.cluster.name}
    params = {"over": _over_message(spec, needed, target), "figures": _figures(figures, has_own=existing is not None)}
    yield "size", _("%(over)s: %(figures)s") % params


def settings_problems(pooler: Pooler, settings: Mapping[str, Any]) -> Problems:
    """Yield (setting, message) where these settings let the pooler open more connections than its clusters have left.

    A HAProxy's maxconn and a Pgpool-II's children hold for all its pools at once. Where one of them was allowed to be
    over the budget, the settings may be too.
    """
    kind, pools = KINDS[pooler.kind], pooler.pools.with_connections()
    before = kind.connections_of(pooler)
    after = kind.connections_of(Pooler(kind=pooler.kind, facts=pooler.facts, settings=dict(settings)))
    changed = [name for name, value in settings.items() if pooler.settings.get(name) != value]
    changed += [name for name in pooler.settings if name not in settings]
    more = (after or 0) - (before or 0)
    if more <= 0 or not changed or pools.exclude(over_budget_by="").exists():
        return
    routes = {(pool.cluster, pool.target) for pool in pools.select_related("cluster")}
    for cluster, target in sorted(routes, key=lambda route: (route[0].name, route[1])):
        free = of_cluster(cluster, target=target).free
        if free is not None and more > free:
            text = _(
                "pooler %(pooler)s could then open %(after)s connections, %(more)s more than now, and cluster "
                "%(cluster)s has %(free)s left for pools: ask for fewer, or make room there"
            )
            params = {"pooler": pooler, "after": after, "more": more, "cluster": cluster, "free": max(0, free)}
            yield changed[0], text % params


def processes_problems(pooler: Pooler, count: int) -> Problems:
    """Yield (field, message) where the pools of so many processes open more connections than their clusters have left.

    Where one of the pools was allowed to be over the budget, the processes may be too.
    """
    pools = list(pooler.pools.with_connections().filter(through=None).select_related("cluster"))
    added = count - pooler.process_count
    if added <= 0 or any(pool.over_budget_by for pool in pools):
        return
    needed: dict[tuple[Cluster, str], int] = defaultdict(int)
    for pool in pools:
        needed[pool.cluster, pool.target] += (pool.size + reserve_of(pool)) * added
    for (cluster, target), more in sorted(needed.items(), key=lambda one: (one[0][0].name, one[0][1])):
        free = of_cluster(cluster, target=target).free
        if free is not None and more > free:
            text = _(
                "its pools could open %(more)s more connections in %(count)s processes, and cluster %(cluster)s has "
                "%(free)s left for pools: ask for fewer processes, or smaller pools"
            )
            words = {"more": more, "count": count, "cluster": cluster, "free": max(0, free)}
            yield "desired_processes", text % words


def _figures(budget: Budget, *, has_own: bool) -> str:
    if has_own:
        text = _("%(available)s available, %(given)s allocated to other pools, %(free)s free")
    else:
        text = _("%(available)s available, %(given)s allocated to pools, %(free)s free")
    figures = text % {"available": budget.available, "given": budget.allocated, "free": budget.free}
    if not budget.unmanaged.connections:
        return figures
    params = {"figures": figures, "others": budget.unmanaged.connections}
    return _("%(figures)s (%(others)s are taken by entries that are not managed here)") % params


def allowed_by(spec: Pool, author: models.Model | None, existing: Pool | None = None) -> str:
    """Return the name of who allowed to exceed the budget: the author, or the last one; empty while the pool fits."""
    (_target, figures), needed = _tightest(spec, existing), needed_by(spec)
    if figures.free is None or needed <= figures.free:
        return ""
    if existing is not None and not _grows(spec, needed, existing):
        return existing.over_budget_by
    return str(author or _("the API"))


def _tightest(spec: Pool, existing: Pool | None) -> tuple[str, Budget]:
    """Return the fullest of the servers that it opens connections to; a Pgpool-II opens them to all."""
    targets = [spec.target]
    if driver(spec.pooler).leads_to_all_nodes and spec.cluster.nodes.exists():
        targets = [NodeRole.PRIMARY, NodeRole.STANDBY]
    found = [(target, of_cluster(spec.cluster, target=target, without=existing)) for target in targets]
    return min(found, key=lambda one: one[1].free or 0)


def _grows(spec: Pool, needed: int, existing: Pool | None) -> bool:
    return existing is None or existing.target != spec.target or needed > needed_by(existing)


def _over_message(spec: Pool, needed: int, target: str) -> str:
    over = _OVER_STANDBY if target == NodeRole.STANDBY else _OVER_CLUSTER
    return over % {"what": _what(spec, needed), "cluster": spec.cluster}


def _what(spec: Pool, needed: int) -> str:
    """Name the size, with the reserve and the number of processes that have them, or the pooler that opens more."""
    reserve, count = reserve_of(spec), spec.pooler.process_count
    size = (_WITH_RESERVE if reserve else _SIZE) % {"size": spec.size, "reserve": reserve}
    params = {"size": size, "count": count, "pooler": spec.pooler, "needed": needed}
    if count > 1 and needed == most_connections(spec):
        return _OF_EACH % params
    return size if reserve or needed == spec.size else _OF_POOLER % params
