"""The models of this app, one module for each noun."""

from pools.models.approvals import Act, ApprovalMoment, ApprovalNotice, ApprovalRequest, ApprovalRules, ApprovalState
from pools.models.channels import Channel, NotificationChannel
from pools.models.clusters import Cluster, ClusterNode, ClusterStatus, RolePassword, SslMode
from pools.models.creations import ClusterCreation, CreationState
from pools.models.entries import Entry, LineSource
from pools.models.events import (
    Event,
    EventKind,
    Severity,
    SubjectType,
    Threshold,
)
from pools.models.fetches import FileFetch
from pools.models.findings import (
    Difference,
    FoundPooler,
    FoundProcess,
    ListedDatabase,
    ListedRole,
    ProcessRow,
    Step,
    WaitingSetting,
)
from pools.models.hosts import Host, HostCheck, HostState
from pools.models.monitoring import EntryMinute, PoolerMinute, PoolMinute, Restart, RestartEvidence
from pools.models.notices import Moment, Notice
from pools.models.pool_set import PoolSet
from pools.models.poolers import (
    DELIVERY_ANSWERS,
    KIND_ANSWERS,
    Management,
    Pooler,
    PoolerFile,
    PoolerKind,
    PoolerState,
    ProcessState,
    delivery_choices,
    usual_kind,
)
from pools.models.pools import EVERYONE, AuthMethod, Mode, Pool, PoolFinding, admitted_roles
from pools.models.revisions import PoolSpec, Revision, RevisionContent, RevisionFields, RevisionState, Specs
from pools.models.shelf import ShelfEntry
from pools.models.states import AS_APPLIED, LIVE_STATES, REFUSED_STATES, ClusterState, NodeRole, PoolState
from pools.models.take_overs import Original, TakeOver, TakeOverState

__all__ = [
    "AS_APPLIED",
    "DELIVERY_ANSWERS",
    "EVERYONE",
    "KIND_ANSWERS",
    "LIVE_STATES",
    "REFUSED_STATES",
    "Act",
    "ApprovalMoment",
    "ApprovalNotice",
    "ApprovalRequest",
    "ApprovalRules",
    "ApprovalState",
    "AuthMethod",
    "Channel",
    "Cluster",
    "ClusterCreation",
    "ClusterNode",
    "ClusterState",
    "ClusterStatus",
    "CreationState",
    "Difference",
    "Entry",
    "EntryMinute",
    "Event",
    "EventKind",
    "FileFetch",
    "FoundPooler",
    "FoundProcess",
    "Host",
    "HostCheck",
    "HostState",
    "LineSource",
    "ListedDatabase",
    "ListedRole",
    "Management",
    "Mode",
    "Moment",
    "NodeRole",
    "Notice",
    "NotificationChannel",
    "Original",
    "Pool",
    "PoolFinding",
    "PoolMinute",
    "PoolSet",
    "PoolSpec",
    "PoolState",
    "Pooler",
    "PoolerFile",
    "PoolerKind",
    "PoolerMinute",
    "PoolerState",
    "ProcessRow",
    "ProcessState",
    "Restart",
    "RestartEvidence",
    "Revision",
    "RevisionContent",
    "RevisionFields",
    "RevisionState",
    "RolePassword",
    "Severity",
    "ShelfEntry",
    "Specs",
    "SslMode",
    "Step",
    "SubjectType",
    "TakeOver",
    "TakeOverState",
    "Threshold",
    "WaitingSetting",
    "admitted_roles",
    "delivery_choices",
    "usual_kind",
]
