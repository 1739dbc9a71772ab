"""Leads pools after the servers of their cluster when these change their roles."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from uuid import UUID

from django.db.models import Q

from pools.clusters import topology
from pools.clusters.topology import Address
from pools.models import Cluster, NodeRole, Pool, PoolerKind, PoolState

logger = logging.getLogger(__name__)
Roles = dict[NodeRole, list[Address]]

# Pgpool-II has all servers of the cluster as backends; PgBouncer only those that a pool leads to.
WITH_STANDBYS = Q(target=NodeRole.STANDBY) | Q(pooler__kind=PoolerKind.PGPOOL)


@contextmanager
def pools_of(cluster: Cluster) -> Iterator[set[UUID]]:
    """Around a change of what is known of a cluster's servers: mark the pools that must be led elsewhere as pending.

    The set that is given holds, after the block, the ids of their poolers. Whoever can't ask the queue for an apply
    leaves it to beat, which looks for pending pools every few seconds.
    """
    poolers: set[UUID] = set()
    before = _roles(cluster)
    yield poolers
    poolers |= _mark(cluster, before, _roles(cluster))


def _roles(cluster: Cluster) -> Roles:
    cluster = Cluster.objects.get(pk=cluster.pk)  # the caller's may have prefetched the nodes of before
    return {role: topology.addresses(cluster, role) for role in NodeRole}


def _mark(cluster: Cluster, before: Roles, after: Roles) -> set[UUID]:
    pools = Pool.objects.wanted().filter(cluster=cluster)
    if before[NodeRole.PRIMARY] != after[NodeRole.PRIMARY]:
        was, now = (_written(roles[NodeRole.PRIMARY]) for roles in (before, after))
        reason = f"the primary moved from {was} to {now}"
    elif set(before[NodeRole.STANDBY]) != set(after[NodeRole.STANDBY]):
        pools = pools.filter(WITH_STANDBYS)
        reason = f"the standbys are now {_written(after[NodeRole.STANDBY]) or 'none'}"
    elif before[NodeRole.STANDBY][:1] != after[NodeRole.STANDBY][:1]:
        pools = pools.filter(target=NodeRole.STANDBY)
        reason = f"the first standby is now {_written(after[NodeRole.STANDBY][:1])}, as another stopped answering"
    else:
        return set()
    logger.warning("cluster %s: %s", cluster.pk, reason)
    poolers = set(pools.values_list("pooler_id", flat=True))
    pools.update(state=PoolState.PENDING, state_reason=reason)
    return poolers


def _written(addresses: list[Address]) -> str:
    return ", ".join(topology.written(address) for address in addresses)
