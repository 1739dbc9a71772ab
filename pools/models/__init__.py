"""The records of this app, one module a noun."""

from pools.models.clusters import Cluster, ClusterState, ClusterStatus, RolePassword, SslMode
from pools.models.nodes import ClusterNode, NodeRole
from pools.models.pooler_files import PoolerFile
from pools.models.poolers import Pooler, PoolerKind, PoolerState
from pools.models.pools import Mode, Pool
from pools.models.revisions import Revision, RevisionState
from pools.models.states import PoolState

__all__ = [
    "Cluster",
    "ClusterNode",
    "ClusterState",
    "ClusterStatus",
    "Mode",
    "NodeRole",
    "Pool",
    "PoolState",
    "Pooler",
    "PoolerFile",
    "PoolerKind",
    "PoolerState",
    "Revision",
    "RevisionState",
    "RolePassword",
    "SslMode",
]
