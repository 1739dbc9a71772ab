"""The servers of a cluster, and which of them the last checks found to be its primary; connects to none."""

from dataclasses import dataclass

from django.utils.translation import gettext as _

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
        """Host and port that the panel logs in to."""
        at: Cluster | ClusterNode = self.node or self.cluster
        return at.host, at.port

    @property
    def key(self) -> str:
        """The node's id, or `own`: its name in URLs."""
        return str(self.node.pk) if self.node else "own"

    @property
    def found(self) -> ClusterStatus | ClusterNode:
        """The findings of its last check; an empty record before the first."""
        return self.node or getattr(self.cluster, "status", None) or ClusterStatus(cluster=self.cluster)

    @property
    def role(self) -> NodeRole | None:
        """Its role when it last answered; None where it never did."""
        return self.found.role


def of_cluster(cluster: Cluster) -> list[Place]:
    """List the cluster's own address, then its nodes; one query each unless `status` and `nodes` were prefetched."""
    own = Place(cluster)
    nodes = [Place(cluster, node) for node in cluster.nodes.all()]
    return [own, *(place for place in nodes if place.address != own.address)]


def primary(cluster: Cluster) -> Place:
    """Return the primary of the cluster; its own address where none is known.

    Of several that claim to be primary (an old primary that came back after a failover), return the one on the latest
    timeline, even while it is down: writes to the other would split the data.
    """
    own, *others = of_cluster(cluster)
    candidates = [place for place in others if place.role == NodeRole.PRIMARY]
    if own.role != NodeRole.STANDBY or not candidates:
        candidates.append(own)
    return max(candidates, key=_precedence)


def standbys(cluster: Cluster) -> list[Place]:
    """List the servers last seen in recovery; those that answered the last check first."""
    places = [place for place in of_cluster(cluster) if place.role == NodeRole.STANDBY]
    return sorted(places, key=lambda place: place.found.state != ClusterState.ONLINE)


def other_primaries(cluster: Cluster) -> list[Place]:
    """List further servers that claim to be primary: old primaries that must be rebuilt as standbys."""
    leading = primary(cluster)
    return [place for place in of_cluster(cluster) if place.role == NodeRole.PRIMARY and place != leading]


def addresses(cluster: Cluster, role: NodeRole) -> list[Address]:
    """List host and port of the primary (always exactly one), or of the standbys (any number; the best first)."""
    places = [primary(cluster)] if role == NodeRole.PRIMARY else standbys(cluster)
    return [place.address for place in places]


def written(address: Address) -> str:
    """Format host and port as `host:port`; an IPv6 address in brackets."""
    host, port = address
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _precedence(place: Place) -> tuple[int, bool, bool]:
    return place.found.timeline or 0, place.found.state == ClusterState.ONLINE, place.node is None


def chosen(cluster: Cluster, node: str) -> Place:
    """Return the node of that id, the cluster's own address for `own`, the primary for ''. Raises `NotThere`."""
    if not node:
        return primary(cluster)
    for place in of_cluster(cluster):
        if place.key == node:
            return place
    raise NotThere(
        _("cluster %(cluster)s has no node %(node)r: see the list of its nodes") % {"cluster": cluster, "node": node}
    )


def identifier_of(cluster: Cluster) -> str:
    """Return the system identifier that initdb gave the cluster, as any server reported it; '' if none did."""
    identifiers = (place.found.system_identifier for place in of_cluster(cluster))
    return next(filter(None, identifiers), "")
