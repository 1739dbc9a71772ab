"""The REST API of clusters, with their current databases and roles."""

from django.db.models import QuerySet
from drf_spectacular.utils import extend_schema
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.serializers import BaseSerializer
from rest_framework.viewsets import ModelViewSet

from core.accounts.people.placement import Placement
from core.accounts.permissions import person
from core.rest.compiled import listed
from pools.api.applications import ClusterApplicationAction
from pools.api.approvals import ApprovalRulesActions
from pools.api.auth_query import AuthQueryActions
from pools.api.cluster_connection import ConnectionActions
from pools.api.cluster_serializers import ClusterSerializer
from pools.api.databases import DatabaseActions
from pools.api.filters import ClusterFilter
from pools.api.insights import InsightActions
from pools.api.nodes import NodeActions
from pools.api.roles import RoleActions
from pools.api.sessions import SessionActions
from pools.api.versions import expected_version
from pools.clusters import health_check
from pools.inventory import clusters
from pools.models import Cluster


class ClusterViewSet(
    ConnectionActions,
    DatabaseActions,
    RoleActions,
    InsightActions,
    NodeActions,
    AuthQueryActions,
    ApprovalRulesActions,
    SessionActions,
    ClusterApplicationAction,
    ModelViewSet[Cluster],
):
    """PostgreSQL servers that the panel can log in to; saving one tries that, and `status` has the result."""

    queryset = Cluster.objects.select_related("status").prefetch_related("nodes", "shared_with")
    serializer_class = ClusterSerializer
    lookup_value_converter = "uuid"
    destructive = frozenset({"reset_password", "cancel_statement", "terminate_session"})
    operations = {
        "list": "cluster.view",
        "retrieve": "cluster.view",
        "create": "cluster.create",
        "update": "cluster.change",
        "partial_update": "cluster.change",
        "destroy": "cluster.remove",
        "check": "cluster.check",
        "connection": "cluster.view",
        "reveal": "cluster.reveal",
        "insights": "cluster.view",
        "apps": "cluster.view",
        "cancel_statement": "cluster.end_session",
        "terminate_session": "cluster.end_session",
        "auth_query": "cluster.view",
        "set_up_auth_query": "cluster.change",
        "take_auth_query_away": "cluster.change",
        "approval_rules": "cluster.view",
        "set_approval_rules": "cluster.change",
        "nodes": "cluster.view",
        "add_node": "cluster.change",
        "node": "cluster.view",
        "remove_node": "cluster.change",
        "check_node": "cluster.check",
        "databases": "cluster.view",
        "create_database": "database.change",
        "database": "cluster.view",
        "change_database": "database.change",
        "drop_database": "database.change",
        "users": "cluster.view",
        "create_user": "role.change",
        "user": "cluster.view",
        "change_user": "role.change",
        "drop_user": "role.change",
        "reset_password": "role.change",
    }
    filterset_class = ClusterFilter
    search_fields = ["name", "host"]
    ordering_fields = ["name", "host", "created_at", "updated_at"]

    def get_queryset(self) -> QuerySet[Cluster]:
        """Leave out of lists what they do not show of each status: the names of a thousand databases and roles."""
        clusters: QuerySet[Cluster] = super().get_queryset()
        if self.action != "list":
            return clusters
        unread = clusters.defer("status__databases", "status__roles", "status__replication")
        return unread.prefetch_related(None).prefetch_related("nodes", listed("shared_with"))

    def perform_create(self, serializer: BaseSerializer[Cluster]) -> None:
        """Register a cluster; an unreachable one is saved too."""
        values = serializer.validated_data
        placement = Placement.out_of(values)
        team = placement.team_of_new(self.request, "cluster.create")
        cluster, _ = clusters.register(values, team=team, author=person(self.request.user))
        placement.put(self.request, cluster)
        serializer.instance = cluster

    def perform_update(self, serializer: BaseSerializer[Cluster]) -> None:
        """Change a cluster unless it was edited since `version`; without `admin_password` the stored one stays.

        A body of nothing but `team` and `shared_with` moves or shares it, without a login to its server.
        """
        cluster, values = self.get_object(), serializer.validated_data
        placement = Placement.out_of(values)
        placement.check(self.request, cluster)
        version, author = expected_version(self.request, values), person(self.request.user)
        if placement.is_asked and values.keys() <= {"version"}:
            cluster.edit(version)
        else:
            cluster, _ = clusters.change(cluster, values, version, author=author)
        placement.put(self.request, cluster)
        serializer.instance = cluster

    def perform_destroy(self, instance: Cluster) -> None:
        """Remove a cluster's record; 409 while it has pools."""
        clusters.remove(instance, author=person(self.request.user))

    @extend_schema(request=None, responses=ClusterSerializer)
    @action(detail=True, methods=["post"])
    def check(self, request: Request, pk: str) -> Response:
        """Log in now and record the result; an unreachable cluster is reported in `status`."""
        cluster = self.get_object()
        health_check.check_cluster(cluster)
        return Response(self.get_serializer(cluster).data)
