"""The connections a cluster can give to pools, how many are given, and where the figures come from."""

from collections.abc import Iterable
from dataclasses import dataclass
from uuid import UUID

from django.db.models import Sum

from pools.models import Cluster, ClusterStatus, Pool

CONNECTIONS_PER_GB = 25  # the managed providers' rule of thumb: 25 per GB of memory, less 3 for maintenance
KEPT_FOR_MAINTENANCE = 3


@dataclass(frozen=True)
class Budget:
    """Connections; `available` and `free` are None where neither a check nor the memory tells them.

    `free` is negative when more is given than there is. `sources` add up to `available` (but never below 0).
    """

    available: int | None
    allocated: int
    free: int | None
    sources: list[tuple[str, int]]


def of_cluster(cluster: Cluster, *, without: Pool | None = None) -> Budget:
    """The budget of one cluster, as if the pool `without` did not exist."""
    pools = Pool.objects.wanted().filter(cluster=cluster)
    if without is not None:
        pools = pools.exclude(pk=without.pk)
    status = ClusterStatus.objects.filter(cluster=cluster).first()
    return _budget(cluster, status, pools.connections())


def of_clusters(clusters: Iterable[Cluster]) -> dict[UUID, Budget]:
    """The budgets of many clusters by their ids, in two queries whatever their number."""
    listed = {cluster.pk: cluster for cluster in clusters}
    statuses = ClusterStatus.objects.in_bulk(list(listed))
    given = Pool.objects.wanted().filter(cluster__in=listed).order_by().values_list("cluster").annotate(Sum("size"))
    allocated = dict(given)
    return {pk: _budget(cluster, statuses.get(pk), allocated.get(pk, 0)) for pk, cluster in listed.items()}


def _budget(cluster: Cluster, status: ClusterStatus | None, allocated: int) -> Budget:
    sources = _sources(cluster, status)
    if not sources:
        return Budget(None, allocated, None, [])
    available = max(0, sum(number for _, number in sources))
    return Budget(available, allocated, available - allocated, sources)


def _sources(cluster: Cluster, status: ClusterStatus | None) -> list[tuple[str, int]]:
    if status and status.max_connections is not None:
        found = [
            ("max_connections", status.max_connections),
            ("superuser_reserved_connections", -(status.superuser_reserved_connections or 0)),
            ("reserved_connections", -(status.reserved_connections or 0)),
        ]
    elif cluster.memory_mb:
        found = [
            (f"{CONNECTIONS_PER_GB} per GB of {cluster.memory_mb} MB memory", memory_connections(cluster.memory_mb)),
            ("kept for maintenance", -KEPT_FOR_MAINTENANCE),
        ]
    else:
        return []
    return [*found, ("set aside for direct logins", -cluster.set_aside_connections)]


def memory_connections(memory_mb: int) -> int:
    """What a server of this memory is supposed to carry, before the 3 kept back."""
    return CONNECTIONS_PER_GB * memory_mb // 1024
