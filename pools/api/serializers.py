"""Clusters, poolers, pools and revisions as JSON; passwords go in only. Rules live with the verbs."""

from functools import cached_property
from typing import Any
from uuid import UUID

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from pools import budget, connection_strings, endpoints
from pools.endpoints import Endpoint
from pools.models import Cluster, ClusterState, ClusterStatus, Pool, Pooler, Revision


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


class ClusterStatusSerializer(serializers.Serializer[dict[str, Any]]):
    """What the last check found, and the connections that pools may take."""

    state = serializers.ChoiceField(ClusterState.choices)
    server_version = serializers.CharField(allow_blank=True)
    max_connections = serializers.IntegerField(allow_null=True)
    reserved_connections = serializers.IntegerField(allow_null=True, help_text="Both of PostgreSQL's reserves together")
    available_connections = serializers.IntegerField(allow_null=True, help_text="What pools may take altogether")
    allocated_connections = serializers.IntegerField(help_text="What pools were given")
    used_connections = serializers.IntegerField(allow_null=True)
    in_recovery = serializers.BooleanField(allow_null=True)
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
        "checked_at": found.checked_at,
        "error": found.error,
    }


class ClusterSerializer(serializers.ModelSerializer[Cluster]):
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
        extra_kwargs: dict[str, Any] = {"name": {"validators": []}}  # pools.clusters says which names are taken

    @cached_property
    def budgets(self) -> dict[UUID, budget.Budget]:
        """The budgets of all the rows of this answer, by cluster."""
        rows: Any = self.parent.instance if self.parent else [self.instance]
        return budget.of_clusters(rows)

    @extend_schema_field(ClusterStatusSerializer())
    def get_status(self, cluster: Cluster) -> Any:
        """The last check, and the budget."""
        return ClusterStatusSerializer(status_of(cluster, self.budgets[cluster.pk])).data


class PoolerSerializer(serializers.ModelSerializer[Pooler]):
    """A pooler with what its console last said."""

    version = serializers.IntegerField(required=False, min_value=1)
    admin_password = password_field()

    class Meta:
        model = Pooler
        fields = [
            "id",
            "version",
            "name",
            "kind",
            "host",
            "port",
            "admin_user",
            "admin_password",
            "config_dir",
            "generator",
            "state",
            "server_version",
            "checked_at",
            "error",
            "created_at",
            "updated_at",
        ]
        read_only_fields = ["state", "server_version", "checked_at", "error"]
        extra_kwargs: dict[str, Any] = {"name": {"validators": []}}  # pools.poolers_admin says which names are taken


class AskedApplySerializer(serializers.Serializer[Any]):
    """What is to become of changes that somebody made to the files by hand; without an order they stay."""

    drift = serializers.ChoiceField(["overwrite"], required=False)


class FileSerializer(serializers.Serializer[dict[str, str]]):
    """A configuration file, each secret replaced by dots."""

    name = serializers.CharField()
    content = serializers.CharField(allow_blank=True)


class ConfigSerializer(serializers.Serializer[dict[str, Any]]):
    """What is live on a pooler: the revision's number and its files."""

    state = serializers.CharField()
    revision = serializers.IntegerField(allow_null=True)
    files = FileSerializer(many=True)
    error = serializers.CharField(default="", help_text="Why the files can't be read")


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
        fields = ["id", "number", "state", "reason", "steps", "author", "created_at", "finished_at"]
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


class PoolSerializer(serializers.ModelSerializer[Pool]):
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
            "connection",
            "created_at",
            "updated_at",
        ]
        read_only_fields = ["over_budget_by", "state", "state_reason"]
        validators: list[Any] = []  # pools.pool_changes says which names are taken

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
