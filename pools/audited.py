"""What the audit trail follows of clusters, poolers and pools."""

from core.audit.causes import follows
from core.audit.tracking import OptionsOfOwner, track
from pools.models import (
    ApprovalRequest,
    ApprovalRules,
    Cluster,
    ClusterCreation,
    ClusterNode,
    Event,
    Host,
    NotificationChannel,
    Pool,
    Pooler,
    PoolerFile,
    Revision,
    RolePassword,
    ShelfEntry,
    TakeOver,
    Threshold,
)

ORDERED = ("name", "size", "region", "version", "nodes", "tags", "state", "reason", "removal_requested_at")
NODE_ACTIONS = {"create": "cluster.add_node", "change": "cluster.change_node", "delete": "cluster.remove_node"}
PASSWORD_ACTIONS = {
    "create": "cluster.keep_password",
    "change": "cluster.keep_password",
    "delete": "cluster.forget_password",
}
FILE_ACTIONS = {"create": "pooler.set_file", "change": "pooler.set_file", "delete": "pooler.remove_file"}
HOST_ACTIONS = {"host_key": "host.confirm_key"}
TAKE_OVER_ACTIONS = {
    "create": "pooler.take_over",
    "change": "pooler.take_over",
    "let_go_at": "pooler.let_go",
    "delete": "",
}
OF_CLUSTER: OptionsOfOwner = {"cluster": "cluster_id", "team": ("cluster__team_id",)}

track(
    Cluster, "cluster", also=["maintenance_window"], secrets=["sealed_admin_password"], cluster="pk", team=("team_id",)
)
track(
    ApprovalRules,
    "cluster",
    only=["acts", "pool_size"],
    path="cluster",
    cluster="cluster_id",
    team=("cluster__team_id",),
    actions=dict.fromkeys(("create", "change", "delete"), "cluster.change_approval_rules"),
)
track(
    ApprovalRequest,
    "approval",
    only=["text", "state", "decided_by", "outcome", "reason"],
    name="text",
    cluster="cluster_id",
    team=("cluster__team_id",),
    author="requester__username",
    outcome=("state", "outcome"),
    actions={"create": "approval.ask", "change": "approval.decide"},
)
track(
    ClusterNode,
    "cluster",
    only=["host", "port"],
    path="cluster",
    actions=NODE_ACTIONS,
    named_by=("host", "port"),
    **OF_CLUSTER,
)
track(
    RolePassword,
    "cluster",
    only=["role"],
    secrets=["sealed_password"],
    path="cluster",
    actions=PASSWORD_ACTIONS,
    named_by=("role",),
    **OF_CLUSTER,
)
track(
    ClusterCreation,
    "cluster",
    only=ORDERED,
    cluster="pk",
    team=("cluster__team_id",),
    author="author__username",
    outcome=("state", "reason"),
    actions={"create": "cluster.order", "change": "cluster.order", "delete": "cluster.forget_order"},
)
track(ShelfEntry, "shelf_entry", also=["claimed_at", "claimed_by_id"], **OF_CLUSTER)
track(Host, "host", also=["host_key"], secrets=["sealed_private_key"], team=("team_id",), actions=HOST_ACTIONS)
track(Pooler, "pooler", secrets=["sealed_admin_password"], team=("team_id",))
track(
    PoolerFile,
    "pooler",
    only=["setting"],
    secrets=["sealed_content"],
    path="pooler",
    team=("pooler__team_id",),
    actions=FILE_ACTIONS,
    named_by=("setting",),
)
track(
    Pool,
    "pool",
    also=["over_budget_by", "removal_requested_at"],
    actions={"removal_requested_at": "pool.remove"},
    **OF_CLUSTER,
)
track(
    Revision,
    "pooler",
    only=["number", "state", "reason", "summary"],
    path="pooler",
    team=("pooler__team_id",),
    author="author__username",
    outcome=("state", "reason", "summary"),
    actions={"create": "", "change": "pooler.apply", "delete": ""},
    named_by=("number",),
)
track(
    TakeOver,
    "pooler",
    only=["state", "reason", "config_file", "names", "let_go_at"],
    path="pooler",
    team=("pooler__team_id",),
    author="author__username",
    outcome=("state", "reason"),
    actions=TAKE_OVER_ACTIONS,
)
follows("pool.delete", "pool.remove")
follows("pooler.take_over", "pooler.take_over", "pooler.let_go")
follows("pooler.let_go", "pooler.take_over", "pooler.let_go")
follows("pooler.apply", "pooler.roll_back", "pooler.adopt", "pooler.overwrite", is_repeated=True)
track(Threshold, "threshold", name="kind")
track(NotificationChannel, "channel", secrets=["sealed_url"])
track(
    Event,
    "event",
    only=["acknowledged_by"],
    name="subject_name",
    actions={"create": "", "change": "event.acknowledge", "delete": ""},
)
