"""The REST API of a pooler's own backends: the list, attach and detach."""

from typing import Any

from django.utils.translation import gettext_lazy as _
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.viewsets import GenericViewSet

from core.accounts.permissions import person
from core.lib.known_fields import KnownFields
from pools.models import Pooler
from pools.poolers import node_admin
from pools.poolers.nodes import Node


class PoolerNodeSerializer(serializers.Serializer[Node]):
    """A backend, as SHOW POOL_NODES shows it."""

    number = serializers.IntegerField()
    host = serializers.CharField()
    port = serializers.IntegerField()
    status = serializers.CharField(help_text=_("Its status in Pgpool-II: up, waiting, down, unused, quarantine"))
    server_status = serializers.CharField(allow_blank=True, help_text=_("Whether the server itself answers"))
    role = serializers.CharField()
    weight = serializers.CharField(help_text=_("Its share of the reads, such as 50%"))
    reads = serializers.CharField()
    delay = serializers.CharField(allow_blank=True)
    changed_at = serializers.CharField(allow_blank=True)

    example: dict[str, object] = {
        "host": "db2.example.org",
        "port": 5432,
        "status": "up",
        "server_status": "up",
        "role": "standby",
        "weight": "50%",
        "reads": "10423",
        "delay": "0",
        "changed_at": "2026-03-05 15:58:03",
    }


class AskedNodeSerializer(KnownFields):
    """The backend to attach or detach."""

    number = serializers.IntegerField(min_value=0, max_value=127)

    example: dict[str, object] = {"number": 1}


class NodeActions(GenericViewSet[Pooler]):
    """Actions of a pooler that is a Pgpool-II; 409 for another."""

    @extend_schema(responses=PoolerNodeSerializer(many=True), filters=False)
    @action(detail=True)
    def nodes(self, request: Request, pk: str) -> Response:
        """List the backends of the pooler with their state."""
        pooler = self.get_object()
        return self._listed(node_admin(pooler).of_pooler(pooler))

    @extend_schema(request=AskedNodeSerializer, responses=PoolerNodeSerializer(many=True), filters=False)
    @action(detail=True, methods=["post"], url_path="attach-node")
    def attach_node(self, request: Request, pk: str) -> Response:
        """Attach a backend, so that it gets queries again."""
        return self._changed(request, "attach")

    @extend_schema(request=AskedNodeSerializer, responses=PoolerNodeSerializer(many=True), filters=False)
    @action(detail=True, methods=["post"], url_path="detach-node")
    def detach_node(self, request: Request, pk: str) -> Response:
        """Detach a backend, so that it gets no queries; Pgpool-II fails over if it is the primary."""
        return self._changed(request, "detach")

    def _changed(self, request: Request, verb: str) -> Response:
        serializer = AskedNodeSerializer(data=request.data)
        serializer.is_valid(raise_exception=True)
        pooler = self.get_object()
        backends = node_admin(pooler)
        backends.change(pooler, serializer.validated_data["number"], verb, person(request.user))
        return self._listed(backends.list_after_change(pooler))

    def _listed(self, nodes: list[Node]) -> Response:
        page: Any = self.paginate_queryset(nodes)
        return self.get_paginated_response(PoolerNodeSerializer(page, many=True).data)
