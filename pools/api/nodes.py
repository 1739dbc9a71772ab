"""The REST API of the nodes of a cluster."""

from typing import Any

from django.utils.translation import gettext_lazy as _
from drf_spectacular.utils import extend_schema
from rest_framework import serializers, status
from rest_framework.decorators import action
from rest_framework.generics import get_object_or_404
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.viewsets import GenericViewSet

from core.accounts.permissions import person
from core.lib.known_fields import KnownFields
from pools.api.cluster_serializers import NodeSerializer
from pools.api.fields import password_field
from pools.clusters import nodes
from pools.models import Cluster, ClusterNode


class NewNodeSerializer(KnownFields):
    """A node to add; the panel logs in there with the cluster's own login."""

    host = serializers.CharField(max_length=255)
    port = serializers.IntegerField(default=5432)
    admin_password = password_field(_("The cluster's own, again: a stored one is never sent to a new address"))

    example: dict[str, object] = {"host": "db2.example.org", "port": 5432, "admin_password": "ADMIN-PASSWORD"}


class NodeActions(GenericViewSet[Cluster]):
    """Actions of a cluster on its nodes."""

    @extend_schema(responses=NodeSerializer(many=True), filters=False)
    @action(detail=True)
    def nodes(self, request: Request, pk: str) -> Response:
        """List the servers besides the cluster's own address, as the last check found them."""
        page: Any = self.paginate_queryset(list(self.get_object().nodes.all()))
        return self.get_paginated_response(NodeSerializer(page, many=True).data)

    @extend_schema(request=NewNodeSerializer, responses={201: NodeSerializer}, filters=False)
    @nodes.mapping.post
    def add_node(self, request: Request, pk: str) -> Response:
        """Add a server after logging in there; 502 if that fails, 400 if it belongs to another system."""
        serializer = NewNodeSerializer(data=request.data)
        serializer.is_valid(raise_exception=True)
        node = nodes.add(self.get_object(), serializer.validated_data, person(request.user))
        headers = {"Location": f"{request.path}{node.pk}/"}
        return Response(NodeSerializer(node).data, status=status.HTTP_201_CREATED, headers=headers)

    @extend_schema(responses=NodeSerializer, filters=False)
    @action(detail=True, url_path="nodes/<int:node>")
    def node(self, request: Request, pk: str, node: int) -> Response:
        """Return one server, as the last check found it."""
        return Response(NodeSerializer(self._node(node)).data)

    @extend_schema(responses={204: None}, filters=False)
    @node.mapping.delete
    def remove_node(self, request: Request, pk: str, node: int) -> Response:
        """Remove a server's record; 409 while the cluster's pools need it. Nothing on it changes."""
        nodes.remove(self._node(node), person(request.user))
        return Response(status=status.HTTP_204_NO_CONTENT)

    @extend_schema(request=None, responses=NodeSerializer, filters=False)
    @action(detail=True, methods=["post"], url_path="nodes/<int:node>/check")
    def check_node(self, request: Request, pk: str, node: int) -> Response:
        """Check the server now; an unreachable one is reported in `state` and `error`."""
        return Response(NodeSerializer(nodes.check(self._node(node), person(request.user))).data)

    def _node(self, node: int) -> ClusterNode:
        found: ClusterNode = get_object_or_404(self.get_object().nodes.select_related("cluster"), pk=node)
        return found
