"""Clusters, poolers, pools and revisions as JSON; passwords go in only. Rules live with the verbs."""

from functools import cached_property
from typing import Any
from uuid import UUID

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from panel.lib.known_fields import KnownFields
from pools import connection_strings
from pools.clusters import endpoints, topology
from pools.clusters.endpoints import Endpoint
from pools.inventory import budget
from pools.models import Cluster, ClusterNode, ClusterState, ClusterStatus, NodeRole, Pool, Pooler, Revision
from pools.poolers import KINDS
from pools.poolers.advisory import Advisory


def password_field(help_text: str = "") -> serializers.CharField:
    """A password: taken as typed, never answered."""
    return serializers.CharField(
        write_only=True,
        required=False,
        allow_blank=True,
        trim_whitespace=False,
        help_text=help_text,
        style={"input_type": "password"},
    )


OF_PROGRAM = "Of the program; null takes one away, and so does an empty text where it may not be meant (may_be_empty)"
OF_CHILDREN = "Of a Pgpool-II: its children that were busy at the last apply and have not read its passwords yet"


class NodeSerializer(serializers.ModelSerializer[ClusterNode]):
    """A further server of a cluster, as the last check found it."""

    role = serializers.ChoiceField(NodeRole.choices, read_only=True, allow_null=True)

    class Meta:
        model = ClusterNode
        fields = [
            "id",
            "host",
            "port",
            "role",
            "state",
            "error",
            "streaming",
            "lag_bytes",
            "lag_s",
            "timeline",
            "checked_at",
        ]
        read_only_fields = fields


class AddressSerializer(serializers.Serializer[dict[str, Any]]):
    """Where a server listens."""

    host = serializers.CharField()
    port = serializers.IntegerField()


class ClusterStatusSerializer(serializers.Serializer[dict[str, Any]]):
    """What the last check found, and the connections that pools may take."""

    state = serializers.ChoiceField(ClusterState.choices)
    server_version = serializers.CharField(allow_blank=True)
    max_connections = serializers.IntegerField(allow_null=True)
    reserved_connections = serializers.IntegerField(allow_null=True, help_text="Both of PostgreSQL's reserves together")
    available_connections = serializers.IntegerField(allow_null=True, help_text="What pools may take altogether")
    allocated_connections = serializers.IntegerField(help_text="What pools were given")
    used_connections = serializers.IntegerField(allow_null=True)
    in_recovery = serializers.BooleanField(allow_null=True, help_text="Of the cluster's own address")
    primary = AddressSerializer(help_text="Where pools and the panel find the primary: a node after a failover")
    nodes = NodeSerializer(many=True)
    checked_at = serializers.DateTimeField(allow_null=True)
    error = serializers.CharField(allow_blank=True)


def status_of(cluster: Cluster, given: budget.Budget) -> dict[str, Any]:
    """The status of a cluster and its budget, as `ClusterStatusSerializer` shows them."""
    found = getattr(cluster, "status", None) or ClusterStatus(cluster=cluster)
    reserves = [found.superuser_reserved_connections, found.reserved_connections]
    return {
        "state": found.state,
        "server_version": found.server_version,
        "max_connections": found.max_connections,
        "reserved_connections": None if None in reserves else sum(reserve or 0 for reserve in reserves),
        "available_connections": given.available,
        "allocated_connections": given.allocated,
        "used_connections": found.used_connections,
        "in_recovery": found.in_recovery,
        "primary": dict(zip(("host", "port"), topology.primary(cluster).address, strict=True)),
        "nodes": cluster.nodes.all(),
        "checked_at": found.checked_at,
        "error": found.error,
    }


class ClusterSerializer(KnownFields, serializers.ModelSerializer[Cluster]):
    """A cluster; `version` is what an edit may carry so that nobody's is lost."""

    version = serializers.IntegerField(required=False, min_value=1)
    admin_password = password_field()
    status = serializers.SerializerMethodField()

    class Meta:
        model = Cluster
        fields = [
            "id",
            "version",
            "name",
            "host",
            "port",
            "admin_user",
            "admin_password",
            "maintenance_database",
            "sslmode",
            "sslrootcert",
            "memory_mb",
            "vcpus",
            "disk_gb",
            "set_aside_connections",
            "protected",
            "status",
            "created_at",
            "updated_at",
        ]
        extra_kwargs: dict[str, Any] = {
            "name": {"validators": []}
        }  # pools.inventory.clusters says which names are taken

    @cached_property
    def budgets(self) -> dict[UUID, budget.Budget]:
        """The budgets of all the rows of this answer, by cluster."""
        rows: Any = self.parent.instance if self.parent else [self.instance]
        return budget.of_clusters(rows)

    @extend_schema_field(ClusterStatusSerializer())
    def get_status(self, cluster: Cluster) -> Any:
        """The last check, and the budget."""
        return ClusterStatusSerializer(status_of(cluster, self.budgets[cluster.pk])).data


class WaitingSettingSerializer(serializers.Serializer[dict[str, str]]):
    """A setting whose file says what the program takes only when it starts."""

    name = serializers.CharField()
    live = serializers.CharField(allow_blank=True)
    wanted = serializers.CharField(allow_blank=True)


class AdvisorySerializer(serializers.Serializer[Advisory]):
    """A published weakness of a release."""

    cve = serializers.CharField()
    summary = serializers.CharField()
    only_if = serializers.CharField(allow_blank=True)
    fixed_in = serializers.CharField()
    packages = serializers.ListField(child=serializers.CharField(), help_text="Older ones that have it corrected")


class PoolerSerializer(KnownFields, serializers.ModelSerializer[Pooler]):
    """A pooler with what its console last said."""

    version = serializers.IntegerField(required=False, min_value=1)
    admin_password = password_field()
    settings = serializers.DictField(required=False, help_text=OF_PROGRAM)
    user_settings = serializers.DictField(child=serializers.DictField(), required=False)
    needs_restart = WaitingSettingSerializer(many=True, read_only=True)
    children_behind = serializers.IntegerField(source="behind", read_only=True, help_text=OF_CHILDREN)
    advisories = serializers.SerializerMethodField()
    files_looked_at = serializers.DateTimeField(source="files_checked_at", read_only=True, allow_null=True)

    class Meta:
        model = Pooler
        fields = [
            "id",
            "version",
            "name",
            "kind",
            "host",
            "port",
            "pcp_port",
            "admin_user",
            "admin_password",
            "config_dir",
            "generator",
            "settings",
            "user_settings",
            "settings_state",
            "settings_reason",
            "needs_restart",
            "children_behind",
            "advisories",
            "state",
            "server_version",
            "checked_at",
            "files_looked_at",
            "error",
            "created_at",
            "updated_at",
        ]
        read_only_fields = [
            "settings_state",
            "settings_reason",
            "state",
            "server_version",
            "checked_at",
            "files_looked_at",
            "error",
        ]
        extra_kwargs: dict[str, Any] = {
            "name": {"validators": []}
        }  # pools.inventory.poolers says which names are taken

    @extend_schema_field(AdvisorySerializer(many=True))
    def get_advisories(self, pooler: Pooler) -> Any:
        """The published weaknesses of its release; a distribution may have corrected some in its package."""
        found: Any = KINDS[pooler.kind].advisories(pooler.server_version)
        return AdvisorySerializer(found, many=True).data


class AskedApplySerializer(KnownFields):
    """What is to become of changes that somebody made to the files by hand; without an order they stay."""

    drift = serializers.ChoiceField(["adopt", "overwrite"], required=False)


class FileSerializer(serializers.Serializer[dict[str, str]]):
    """A configuration file, each secret replaced by dots."""

    name = serializers.CharField()
    content = serializers.CharField(allow_blank=True)


class ConfigSerializer(serializers.Serializer[dict[str, Any]]):
    """What is live on a pooler: the revision's number and its files."""

    state = serializers.CharField(
        help_text="in sync, drifted, not applied yet, unreadable, not looked at (by the worker that has the files), or "
        "unverified (while the panel is paused)"
    )
    revision = serializers.IntegerField(allow_null=True)
    files = FileSerializer(many=True)
    error = serializers.CharField(default="", help_text="Why the files can't be read, or are not looked at")
    generator = serializers.CharField(
        required=False, help_text="Whose worker has the files, where that is elsewhere: they are shown as applied"
    )
    looked_at = serializers.DateTimeField(required=False, help_text="When that worker last saw them")


class StepSerializer(serializers.Serializer[dict[str, str]]):
    """A step of an apply as it was taken."""

    at = serializers.DateTimeField()
    step = serializers.CharField()
    detail = serializers.CharField(allow_blank=True)


class RevisionSerializer(serializers.ModelSerializer[Revision]):
    """A rendered configuration and what became of it."""

    steps = StepSerializer(many=True, read_only=True)
    author = serializers.CharField(source="author.username", default=None, read_only=True, allow_null=True)

    class Meta:
        model = Revision
        fields = ["id", "number", "state", "reason", "cause", "summary", "steps", "author", "created_at", "finished_at"]
        read_only_fields = fields


class EndpointSerializer(serializers.Serializer[Endpoint]):
    """Where clients of a pool log in; the password is not among it."""

    host = serializers.CharField()
    port = serializers.IntegerField()
    database = serializers.CharField()
    user = serializers.CharField()
    uri = serializers.SerializerMethodField()

    def get_uri(self, endpoint: Endpoint) -> str:
        """The URI without a password."""
        return connection_strings.render(endpoint, "uri", reveal=False)


class PoolSerializer(KnownFields, serializers.ModelSerializer[Pool]):
    """A pool; an empty `user` is the inbound user, `state` says whether what is asked for is live."""

    version = serializers.IntegerField(required=False, min_value=1)
    user_password = password_field(help_text="Of `user`, where the panel does not know it; verified by a login")
    settings = serializers.DictField(required=False)
    over_budget_confirm = serializers.CharField(
        write_only=True, required=False, allow_blank=True, help_text="The cluster's name: takes more than it has free"
    )
    connection = serializers.SerializerMethodField()

    class Meta:
        model = Pool
        fields = [
            "id",
            "version",
            "name",
            "pooler",
            "cluster",
            "through",
            "target",
            "database",
            "user",
            "user_password",
            "mode",
            "size",
            "over_budget_confirm",
            "over_budget_by",
            "settings",
            "state",
            "state_reason",
            "paused_until",
            "connection",
            "created_at",
            "updated_at",
        ]
        read_only_fields = ["over_budget_by", "state", "state_reason", "paused_until"]
        extra_kwargs: dict[str, Any] = {"size": {"required": False, "help_text": "A Pgpool-II's is its children's"}}
        validators: list[Any] = []  # pools.inventory.pools says which names are taken

    @extend_schema_field(EndpointSerializer())
    def get_connection(self, pool: Pool) -> Any:
        """Where its clients log in."""
        return EndpointSerializer(endpoints.address_of_pool(pool)).data


class ConnectionSerializer(serializers.Serializer[dict[str, str]]):
    """An endpoint in the words of one client: `{as, text}`."""

    text = serializers.CharField()

    def get_fields(self) -> dict[str, serializers.Field[Any, Any, Any, Any]]:
        """`as` is a word of Python's, so it can't be declared above."""
        return {"as": serializers.CharField(), **super().get_fields()}


class AskedSerializer(PoolerSerializer):
    """A pooler that was asked to apply; `detail` says why there was nothing to do."""

    detail = serializers.CharField(read_only=True, allow_blank=True)

    class Meta(PoolerSerializer.Meta):
        fields = [*PoolerSerializer.Meta.fields, "detail"]
