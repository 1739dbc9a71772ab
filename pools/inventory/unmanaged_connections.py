"""The connections that entries which no pool stands for may open to clusters: they count in the budget as well."""

from collections import defaultdict
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from uuid import UUID

from django.db.models import Case, Count, Exists, F, Max, OuterRef, Q, Sum, Value, When
from django.db.models.functions import Coalesce, Least

from pools.models import ClusterNode, Entry, NodeRole, Pool
from pools.models.entries import EntryQuerySet
from pools.models.poolers import taking_clients
from pools.poolers import kinds_that

SHARED = Q(pooler__kind__in=kinds_that("shares_connections"))
ANY_NUMBER = Q(user="", max_connections=0)  # one pool for each role that logs in, and as many roles as there are


@dataclass(frozen=True)
class UnmanagedConnections:
    """The connections of a cluster's entries; `unlimited` of them have no limit and count with those that are open."""

    connections: int = 0
    unlimited: int = 0

    def __add__(self, other: "UnmanagedConnections") -> "UnmanagedConnections":
        return UnmanagedConnections(self.connections + other.connections, self.unlimited + other.unlimited)


NOTHING = UnmanagedConnections()


def by_cluster(cluster_ids: Collection[UUID], target: str) -> dict[UUID, UnmanagedConnections]:
    """Return the connections that entries may open to each cluster's primary or to one standby, in two queries."""
    standby = ClusterNode.objects.filter(
        cluster=OuterRef("cluster"), host=OuterRef("host"), port=OuterRef("port"), in_recovery=True
    )
    entries = Entry.objects.unmanaged().filter(cluster__in=cluster_ids).alias(is_standby=Exists(standby))
    entries = entries.filter(is_standby=target == NodeRole.STANDBY).order_by()
    own = entries.exclude(SHARED)
    sums = own.values_list("cluster", "pooler__processes", "pooler__desired_processes").annotate(
        most=Sum(_most(), filter=~ANY_NUMBER, default=0),
        open=Sum("connections", filter=ANY_NUMBER, default=0),
        unlimited=Count("pk", filter=ANY_NUMBER),
    )
    found: dict[UUID, UnmanagedConnections] = defaultdict(UnmanagedConnections)
    for cluster, processes, desired, most, connections, unlimited in sums:
        found[cluster] += UnmanagedConnections(most * taking_clients(processes, desired) + connections, unlimited)
    for cluster, connections in _shared(entries):
        found[cluster] += UnmanagedConnections(connections)
    return dict(found)


def _shared(entries: EntryQuerySet) -> Iterator[tuple[UUID, int]]:
    """Yield cluster and connections of each pooler whose entries share them all: they count once, or with its pools."""
    with_pools = Pool.objects.filter(pooler=OuterRef("pooler"), cluster=OuterRef("cluster"))
    once = (
        entries.filter(SHARED)
        .exclude(Exists(with_pools))
        .values_list("cluster", "pooler")
        .annotate(most=Max("max_connections"))
    )
    for cluster, _pooler, connections in once:
        yield cluster, connections


def _most() -> Case:
    """Return the expression of what a limited entry may open in each process, as `Entry.most_connections` says."""
    of_one = Coalesce(F("size"), Value(0)) + F("reserve")
    return Case(
        When(user="", then=F("max_connections")),
        When(max_connections=0, then=of_one),
        default=Least(of_one, F("max_connections")),
    )
