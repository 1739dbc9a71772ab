"""Adds, checks and removes the nodes of a cluster, and locates its primary and its standbys."""

import logging
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from typing import TypedDict

from django.db import IntegrityError, transaction
from django.db.models import Count, Model
from django.utils.crypto import constant_time_compare
from django.utils.translation import gettext as _

from core.lib.addresses import refusal
from core.lib.crypto import SealBroken
from pools import task_queue
from pools.clusters import failover, health_check, replication, topology
from pools.clusters.replication import Finding
from pools.clusters.topology import Place, addresses
from pools.errors import ClusterUnreachable, IllegalTransition, InvalidValues
from pools.models import Cluster, ClusterNode, ClusterState, ClusterStatus, NodeRole, Pool, identifiers

__all__ = ["InvalidNode", "add", "addresses", "check", "remove"]

logger = logging.getLogger(__name__)


class InvalidNode(InvalidValues):
    """The values given for a node are not valid."""


class NodeValues(TypedDict, total=False):
    """The fields that `add` accepts."""

    host: str
    port: int
    # the cluster's password, entered again: the panel never sends it to a new address unasked
    admin_password: str | None


def add(cluster: Cluster, values: NodeValues, author: Model | None = None) -> ClusterNode:
    """Save another server of the cluster (`host`, `port`) after logging in there with the cluster's own login.

    A stored password never goes to a new address unasked, so it is given again as `admin_password`. Raises
    `InvalidNode` (also for a server of another system) and `ClusterUnreachable`; then nothing is saved.
    """
    node = ClusterNode(cluster=cluster, host=values.get("host") or "", port=values.get("port", 5432))
    password = values.get("admin_password") or ""
    InvalidNode.refuse(chain(_address_problems(node), _password_problems(node, password)))
    finding = health_check.inspect_node(Place(cluster, node))
    if finding["state"] != ClusterState.ONLINE:
        raise ClusterUnreachable(finding["error"])
    InvalidNode.refuse(_stranger_problems(cluster, finding))
    with transaction.atomic(), failover.pools_of(cluster) as pooler_ids:
        _save_new(node)
        health_check.record_node(node, finding)
    task_queue.ask(pooler_ids, author)
    logger.info("node %s of cluster %s added by %s", node, cluster.pk, author)
    return node


def check(node: ClusterNode, author: Model | None = None) -> ClusterNode:
    """Check a node and record what was found; pools follow a primary that moved."""
    finding = health_check.inspect_node(Place(node.cluster, node))
    with failover.pools_of(node.cluster) as pooler_ids:
        health_check.record_node(node, finding)
    replication.measure_disconnected_standbys(node.cluster)
    task_queue.ask(pooler_ids, author)
    return node


def remove(node: ClusterNode, author: Model | None = None) -> None:
    """Delete a node's record; nothing on its server changes. Refused while the cluster's pools need it."""
    cluster = node.cluster
    with transaction.atomic(), failover.pools_of(cluster) as pooler_ids:
        _refuse_while_needed(node)
        ClusterNode.objects.filter(pk=node.pk).delete()
    task_queue.ask(pooler_ids, author)
    logger.info("node %s of cluster %s removed by %s", node, cluster.pk, author)


def _save_new(node: ClusterNode) -> None:
    try:
        with transaction.atomic():
            node.save(force_insert=True)
    except IntegrityError:
        InvalidNode.refuse(_address_taken(node))
        raise


def _address_problems(node: ClusterNode) -> Iterator[tuple[str, str]]:
    if (message := identifiers.host_problem(node.host)) or (message := refusal(node.host, node.port)):
        yield "host", message
    if not 1 <= node.port <= 65535:
        yield "port", _("%(port)s is not a port: enter a number from 1 to 65535") % {"port": node.port}
    if (node.host, node.port) == Place(node.cluster).address:
        yield "host", _("%(node)s is the cluster's own address: add its other servers here") % {"node": node}
    yield from _address_taken(node)


def _address_taken(node: ClusterNode) -> Iterator[tuple[str, str]]:
    if ClusterNode.objects.filter(cluster=node.cluster, host=node.host, port=node.port).exists():
        yield "host", _("%(node)s is already a node of cluster %(cluster)s") % {"node": node, "cluster": node.cluster}


def _password_problems(node: ClusterNode, password: str) -> Iterator[tuple[str, str]]:
    cluster = node.cluster
    try:
        stored = cluster.admin_password
    except SealBroken:
        yield (
            "admin_password",
            _("the stored password of %(user)s can't be decrypted with the present keys: enter it on the cluster again")
            % {"user": cluster.admin_user},
        )
        return
    if not stored or constant_time_compare(password, stored):
        return
    own = Place(cluster)
    if not password:
        yield (
            "admin_password",
            _("the stored password belongs to %(user)s@%(own)s: enter it to let the panel use it at %(node)s")
            % {"user": cluster.admin_user, "own": own, "node": node},
        )
    else:
        yield (
            "admin_password",
            _("this is not the password of %(user)s that is stored for %(own)s: enter that one")
            % {"user": cluster.admin_user, "own": own},
        )


def _stranger_problems(cluster: Cluster, finding: Finding) -> Iterator[tuple[str, str]]:
    if problem := replication.identity_problem(cluster, finding):
        yield "host", problem
    elif finding["in_recovery"] is False and _leads_already(cluster) and not _same_system(cluster, finding):
        yield (
            "host",
            _(
                "the server there is a primary, as is %(primary)s, and the panel can't determine whether they belong "
                "together: GRANT EXECUTE ON FUNCTION pg_control_system() to the panel's role on both"
            )
            % {"primary": topology.primary(cluster)},
        )


def _leads_already(cluster: Cluster) -> bool:
    leading = topology.primary(cluster)
    return leading.role == NodeRole.PRIMARY and leading.found.state == ClusterState.ONLINE


def _same_system(cluster: Cluster, finding: Finding) -> bool:
    """Return whether both identifiers are known, and so equal: `identity_problem` refused others."""
    return bool(finding["system_identifier"] and topology.identifier_of(cluster))


def _refuse_while_needed(node: ClusterNode) -> None:
    cluster = node.cluster
    pools = Pool.objects.wanted().filter(cluster=cluster)
    if topology.primary(cluster).node == node and pools.exists():
        raise IllegalTransition(
            _(
                "%(node)s is now the primary of cluster %(cluster)s: give the cluster that address first, "
                "then remove the node"
            )
            % {"node": node, "cluster": cluster}
        )
    standbys = [place for place in topology.standbys(cluster) if place.node != node]
    standby_pool = pools.filter(target=NodeRole.STANDBY).order_by("name").first()
    if standby_pool and not standbys:
        raise IllegalTransition(
            _("pool %(pool)s routes to a standby, and %(node)s is the last one: change the pool first")
            % {"pool": standby_pool, "node": node}
        )


@dataclass(frozen=True)
class ServerRow:
    """One server; `lag_percent` is its lag's share of the longest one, for the length of its bar."""

    place: Place
    is_primary: bool
    is_stray: bool
    lag_percent: float

    @property
    def found(self) -> ClusterStatus | ClusterNode:
        """The findings of the last check."""
        return self.place.found

    @property
    def is_online(self) -> bool:
        """True if the server answered the last check."""
        return self.found.state == ClusterState.ONLINE

    @property
    def is_cut_off(self) -> bool:
        """True if it is a standby that answers, and receives nothing."""
        return self.is_online and self.place.role == NodeRole.STANDBY and not self.found.streaming


def of_cluster(cluster: Cluster) -> list[ServerRow]:
    """List all servers of a cluster, its own address first."""
    all_places, strays, leading = (
        topology.of_cluster(cluster),
        topology.other_primaries(cluster),
        topology.primary(cluster),
    )
    longest = max((place.found.lag_bytes or 0 for place in all_places), default=0)
    return [
        ServerRow(place, place == leading, place in strays, _percent(place.found.lag_bytes or 0, longest))
        for place in all_places
    ]


def pools_by_role(cluster: Cluster) -> dict[str, int]:
    """Count the pools that lead to the primary, and those that lead to a standby."""
    counted = cluster.pools.wanted().order_by().values_list("target").annotate(Count("pk"))
    return dict.fromkeys(NodeRole.values, 0) | dict(counted)


def _percent(part: int, total: int) -> float:
    return round(100 * part / total, 1) if total else 0.0
