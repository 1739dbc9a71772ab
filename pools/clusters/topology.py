"""The servers of a cluster, and which of them is its primary as the last checks found it; asks no server."""

from dataclasses import dataclass

from pools.errors import NotThere
from pools.models import Cluster, ClusterNode, ClusterState, ClusterStatus, NodeRole

Address = tuple[str, int]  # host, port


@dataclass(frozen=True)
class Place:
    """One server of a cluster; `node` is None at the cluster's own address."""

    cluster: Cluster
    node: ClusterNode | None = None

    def __str__(self) -> str:
        return written(self.address)

    @property
    def address(self) -> Address:
        """Where it is logged in to."""
        at: Cluster | ClusterNode = self.node or self.cluster
        return at.host, at.port

    @property
    def key(self) -> str:
        """The node's id, or `own`; what addresses of pages name it by."""
        return str(self.node.pk) if self.node else "own"

    @property
    def found(self) -> ClusterStatus | ClusterNode:
        """What its last check found; an empty record before the first."""
        return self.node or getattr(self.cluster, "status", None) or ClusterStatus(cluster=self.cluster)

    @property
    def role(self) -> NodeRole | None:
        """What it was when it last answered; None where it never did."""
        return self.found.role


def of_cluster(cluster: Cluster) -> list[Place]:
    """The cluster's own address first, then its nodes; one query each unless `status` and `nodes` were prefetched."""
    own = Place(cluster)
    nodes = [Place(cluster, node) for node in cluster.nodes.all()]
    return [own, *(place for place in nodes if place.address != own.address)]


def primary(cluster: Cluster) -> Place:
    """Where the cluster is written to.

    Of several that say they are (an old primary that came back after a failover), the one on the latest timeline,
    even while it is down: writing to the other would split the data. Where none is known, the cluster's own address.
    """
    own, *others = of_cluster(cluster)
    candidates = [place for place in others if place.role == NodeRole.PRIMARY]
    if own.role != NodeRole.STANDBY or not candidates:
        candidates.append(own)
    return max(candidates, key=_precedence)


def standbys(cluster: Cluster) -> list[Place]:
    """Those last seen in recovery; the ones that answered the last check first."""
    found = [place for place in of_cluster(cluster) if place.role == NodeRole.STANDBY]
    return sorted(found, key=lambda place: place.found.state != ClusterState.ONLINE)


def strays(cluster: Cluster) -> list[Place]:
    """Servers that say they are primary beside the one that is: an old primary that must be rebuilt as a standby."""
    leading = primary(cluster)
    return [place for place in of_cluster(cluster) if place.role == NodeRole.PRIMARY and place != leading]


def addresses(cluster: Cluster, role: NodeRole) -> list[Address]:
    """Host and port of the primary (always exactly one), or of the standbys (none, one or more; the best first)."""
    places = [primary(cluster)] if role == NodeRole.PRIMARY else standbys(cluster)
    return [place.address for place in places]


def written(address: Address) -> str:
    """Host and port as people write them."""
    host, port = address
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _precedence(place: Place) -> tuple[int, bool, bool]:
    return place.found.timeline or 0, place.found.state == ClusterState.ONLINE, place.node is None


def chosen(cluster: Cluster, node: str) -> Place:
    """The node of that id, `own` for the cluster's own address, and the primary without one. Raises `NotThere`."""
    if not node:
        return primary(cluster)
    for place in of_cluster(cluster):
        if place.key == node:
            return place
    raise NotThere(f"cluster {cluster} has no node {node!r}: see the list of its nodes")


def identifier_of(cluster: Cluster) -> str:
    """The system identifier that initdb gave the cluster, as its own address told it, else a node; '' if none did."""
    described = (place.found.system_identifier for place in of_cluster(cluster))
    return next(filter(None, described), "")
