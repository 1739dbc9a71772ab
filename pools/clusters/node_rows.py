"""What the page of a cluster's servers shows of each."""

from dataclasses import dataclass

from django.db.models import Count

from pools.clusters import topology
from pools.clusters.topology import Place
from pools.models import Cluster, ClusterNode, ClusterState, ClusterStatus, NodeRole


@dataclass(frozen=True)
class ServerRow:
    """One server; `lag_percent` is its lag's share of the longest one, for the length of its bar."""

    place: Place
    is_primary: bool
    is_stray: bool
    lag_percent: float

    @property
    def found(self) -> ClusterStatus | ClusterNode:
        """What the last check found."""
        return self.place.found

    @property
    def is_online(self) -> bool:
        """Whether that is of now."""
        return self.found.state == ClusterState.ONLINE

    @property
    def is_cut_off(self) -> bool:
        """Whether it is a standby that answers, and receives nothing."""
        return self.is_online and self.place.role == NodeRole.STANDBY and not self.found.streaming


def of_cluster(cluster: Cluster) -> list[ServerRow]:
    """All servers of a cluster, its own address first."""
    all_places, strays, leading = topology.of_cluster(cluster), topology.strays(cluster), topology.primary(cluster)
    longest = max((place.found.lag_bytes or 0 for place in all_places), default=0)
    return [
        ServerRow(place, place == leading, place in strays, _percent(place.found.lag_bytes or 0, longest))
        for place in all_places
    ]


def pools_by_role(cluster: Cluster) -> dict[str, int]:
    """How many pools lead to the primary, and how many to a standby."""
    counted = cluster.pools.wanted().order_by().values_list("target").annotate(Count("pk"))
    return dict.fromkeys(NodeRole.values, 0) | dict(counted)


def _percent(part: int, whole: int) -> float:
    return round(100 * part / whole, 1) if whole else 0.0
