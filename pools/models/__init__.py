"""The records of this app, one module a noun."""

from pools.models.clusters import Cluster, ClusterState, ClusterStatus, RolePassword, SslMode
from pools.models.poolers import Pooler, PoolerKind, PoolerState
from pools.models.pools import Mode, Pool, PoolState
from pools.models.revisions import Revision, RevisionState

__all__ = [
    "Cluster",
    "ClusterState",
    "ClusterStatus",
    "Mode",
    "Pool",
    "PoolState",
    "Pooler",
    "PoolerKind",
    "PoolerState",
    "Revision",
    "RevisionState",
    "RolePassword",
    "SslMode",
]
