"""Moves pools to other servers of their cluster when the servers change roles."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from uuid import UUID

from django.db.models import Q
from django.utils.translation import gettext as _

from pools.clusters import topology
from pools.clusters.topology import Address
from pools.models import KIND_ANSWERS, Cluster, NodeRole, Pool, PoolState

logger = logging.getLogger(__name__)
Roles = dict[NodeRole, list[Address]]


@contextmanager
def pools_of(cluster: Cluster) -> Iterator[set[UUID]]:
    """Mark the pools whose route changes within the block as pending; the block records the servers' new roles.

    After the block, the yielded set holds the ids of their poolers. A caller that can't queue an apply leaves it to
    beat, which polls for pending pools every few seconds.
    """
    pooler_ids: set[UUID] = set()
    before = _roles(cluster)
    yield pooler_ids
    pooler_ids |= _mark(cluster, before, _roles(cluster))


def _roles(cluster: Cluster) -> Roles:
    cluster = Cluster.objects.get(pk=cluster.pk)  # the caller's may have prefetched the nodes of before
    return {role: topology.addresses(cluster, role) for role in NodeRole}


def _mark(cluster: Cluster, before: Roles, after: Roles) -> set[UUID]:
    pools = Pool.objects.wanted().filter(cluster=cluster)
    if before[NodeRole.PRIMARY] != after[NodeRole.PRIMARY]:
        was, now = (_written(roles[NodeRole.PRIMARY]) for roles in (before, after))
        reason = _("the primary moved from %(was)s to %(now)s") % {"was": was, "now": now}
    elif set(before[NodeRole.STANDBY]) != set(after[NodeRole.STANDBY]):
        pools = pools.filter(_leads_to_standbys())
        bytes_behind = _written(after[NodeRole.STANDBY])
        reason = (
            _("the standbys are now %(standbys)s") % {"standbys": bytes_behind}
            if bytes_behind
            else _("no standby is left")
        )
    elif before[NodeRole.STANDBY][:1] != after[NodeRole.STANDBY][:1]:
        pools = pools.filter(target=NodeRole.STANDBY)
        first = _written(after[NodeRole.STANDBY][:1])
        reason = _("the first standby is now %(first)s, as another stopped answering") % {"first": first}
    else:
        return set()
    logger.warning("cluster %s: %s", cluster.pk, reason)
    pooler_ids = set(pools.values_list("pooler_id", flat=True))
    pools.update(state=PoolState.PENDING, state_reason=reason)
    return pooler_ids


def _leads_to_standbys() -> Q:
    """Return the pools of standbys, and those of a kind that has all servers of the cluster as backends."""
    kinds = [kind for kind, answers in KIND_ANSWERS.items() if answers.leads_to_all_nodes]
    return Q(target=NodeRole.STANDBY) | Q(pooler__kind__in=kinds)


def _written(addresses: list[Address]) -> str:
    return ", ".join(topology.written(address) for address in addresses)
