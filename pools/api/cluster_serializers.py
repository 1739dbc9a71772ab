"""Clusters and their nodes as JSON; passwords are write-only. The rules are in `pools.inventory`."""

from datetime import datetime
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypedDict
from uuid import UUID

from django.db.models import QuerySet
from django.utils.translation import gettext_lazy as _
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from core.rest.compiled import CompiledSerializer
from core.rest.teams import EXAMPLE, OWNED, OwnedSerializer
from pools.api.example_values import CLUSTER, SERVER
from pools.api.fields import password_field
from pools.clusters import topology
from pools.inventory import budget
from pools.models import Cluster, ClusterNode, ClusterState, ClusterStatus, NodeRole

if TYPE_CHECKING:
    from rest_framework.utils.serializer_helpers import ReturnDict

OF_UNMANAGED = _("What entries of poolers may take besides pools; those without a limit count with what is open")


class NodeSerializer(CompiledSerializer, serializers.ModelSerializer[ClusterNode]):
    """Another server of a cluster, as the last check found it."""

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

    example: dict[str, object] = {
        "id": 7,
        "host": "db2.example.org",
        "port": 5432,
        "role": "standby",
        "state": "online",
        "streaming": True,
        "lag_bytes": 0,
        "lag_s": 0.0,
    }


class Address(TypedDict):
    """The host and port on which a server listens."""

    host: str
    port: int


class AddressSerializer(CompiledSerializer):
    """The host and port on which a server listens."""

    host = serializers.CharField()
    port = serializers.IntegerField()

    example: dict[str, object] = SERVER


class ShownStatus(TypedDict):
    """The values of `ClusterStatusSerializer`, whose fields describe each."""

    state: str
    server_version: str
    max_connections: int | None
    reserved_connections: int | None
    available_connections: int | None
    allocated_connections: int
    experiment_connections: int
    unmanaged_connections: int
    unlimited_entries: int
    used_connections: int | None
    in_recovery: bool | None
    primary: Address
    nodes: QuerySet[ClusterNode]
    checked_at: datetime | None
    error: str


class ClusterStatusSerializer(CompiledSerializer):
    """The findings of the last check, and the connections that pools may take."""

    state = serializers.ChoiceField(ClusterState.choices)
    server_version = serializers.CharField(allow_blank=True)
    max_connections = serializers.IntegerField(allow_null=True)
    reserved_connections = serializers.IntegerField(
        allow_null=True, help_text=_("Both of PostgreSQL's reserves together")
    )
    available_connections = serializers.IntegerField(allow_null=True, help_text=_("What all pools together may take"))
    allocated_connections = serializers.IntegerField(help_text=_("What pools were given"))
    experiment_connections = serializers.IntegerField(help_text=_("Of these, to pools that go with their experiment"))
    unmanaged_connections = serializers.IntegerField(help_text=OF_UNMANAGED)
    unlimited_entries = serializers.IntegerField(help_text=_("Of these entries, those that nothing limits"))
    used_connections = serializers.IntegerField(allow_null=True)
    in_recovery = serializers.BooleanField(allow_null=True, help_text=_("Of the cluster's own address"))
    primary = AddressSerializer(help_text=_("Where pools and the panel find the primary: a node after a failover"))
    nodes = NodeSerializer(many=True)
    checked_at = serializers.DateTimeField(allow_null=True)
    error = serializers.CharField(allow_blank=True)

    example: dict[str, object] = {
        "state": "online",
        "server_version": "17.6",
        "max_connections": 100,
        "reserved_connections": 3,
        "available_connections": 94,
        "allocated_connections": 10,
        "experiment_connections": 0,
        "unmanaged_connections": 20,
        "used_connections": 22,
        "primary": SERVER,
    }


def status_of(cluster: Cluster, given: budget.Budget) -> ShownStatus:
    """Return the status of a cluster and its budget, as `ClusterStatusSerializer` shows them."""
    found: ClusterStatus = getattr(cluster, "status", None) or ClusterStatus(cluster=cluster)
    reserves = [found.superuser_reserved_connections, found.reserved_connections]
    host, port = topology.primary(cluster).address
    return {
        "state": found.state,
        "server_version": found.server_version,
        "max_connections": found.max_connections,
        "reserved_connections": None if None in reserves else sum(reserve or 0 for reserve in reserves),
        "available_connections": given.available,
        "allocated_connections": given.allocated,
        "experiment_connections": given.for_experiments,
        "unmanaged_connections": given.unmanaged.connections,
        "unlimited_entries": given.unmanaged.unlimited,
        "used_connections": found.used_connections,
        "in_recovery": found.in_recovery,
        "primary": {"host": host, "port": port},
        "nodes": cluster.nodes.all(),
        "checked_at": found.checked_at,
        "error": found.error,
    }


class ClusterSerializer(OwnedSerializer, serializers.ModelSerializer[Cluster]):
    """A cluster; an edit may send the `version` that it was made from, so that no other edit is lost."""

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
            *OWNED,
            "status",
            "created_at",
            "updated_at",
        ]
        extra_kwargs: dict[str, object] = {
            "name": {"validators": []}
        }  # pools.inventory.clusters says which names are taken

    example: dict[str, object] = {
        "id": CLUSTER,
        "version": 3,
        "name": "orders",
        **SERVER,
        "admin_user": "pooldeck",
        "admin_password": "ADMIN-PASSWORD",
        "maintenance_database": "postgres",
        "sslmode": "require",
        "sslrootcert": "",
        "memory_mb": 16384,
        "vcpus": 4,
        "disk_gb": 200,
        "set_aside_connections": 3,
        "protected": True,
        **EXAMPLE,
    }

    @cached_property
    def budgets(self) -> dict[UUID, budget.Budget]:
        """The budgets of all the rows of this answer, by cluster."""
        rows: Any = self.parent.instance if self.parent else [self.instance]
        return budget.of_clusters(rows)

    @extend_schema_field(ClusterStatusSerializer())
    def get_status(self, cluster: Cluster) -> "ReturnDict[str, object]":
        """Return the last check, and the budget."""
        return ClusterStatusSerializer(status_of(cluster, self.budgets[cluster.pk])).data
