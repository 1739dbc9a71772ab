"""The REST API of who may log in to the pools of a pooler."""

from typing import TypedDict
from uuid import UUID

from django.utils.translation import gettext_lazy as _
from drf_spectacular.utils import extend_schema
from rest_framework import serializers, status
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.viewsets import GenericViewSet

from core.accounts.permissions import person
from core.lib.known_fields import KnownFields
from pools.api.example_values import POOL
from pools.inventory import pool_access
from pools.inventory.pool_access import OpenPool
from pools.models import Pool, Pooler


class OpenPoolSerializer(serializers.Serializer[OpenPool]):
    """A pool that is open to every user that its pooler knows."""

    pool = serializers.UUIDField(source="pool.pk")
    name = serializers.CharField(source="pool.name")
    user = serializers.CharField(source="pool.user", help_text=_("As whom all of them work"))
    refused = serializers.ListField(
        child=serializers.CharField(),
        help_text=_("Whom it would refuse; users that only a look-up knows, if connected"),
    )
    connected = serializers.ListField(child=serializers.CharField(), help_text=_("Those of them in it now"))

    example: dict[str, object] = {
        "pool": POOL,
        "name": "orders",
        "user": "orders_app",
        "refused": ["orders_batch", "reporting"],
        "connected": ["reporting"],
    }


class PoolAccess(TypedDict):
    """The open pools of a pooler, and why rules are not in use there."""

    open_pools: list[pool_access.OpenPool]
    obstacle: str


class PoolAccessSerializer(serializers.Serializer[PoolAccess]):
    """The open pools of a pooler; `obstacle` is why rules are not in use there."""

    open_pools = OpenPoolSerializer(many=True)
    obstacle = serializers.CharField(allow_blank=True)

    example: dict[str, object] = {"obstacle": ""}


class RestrictPoolsSerializer(KnownFields):
    """The pooler's name confirms that the users of the list are to be refused."""

    confirm = serializers.CharField(required=False, allow_blank=True, default="")

    example: dict[str, object] = {"confirm": "pgbouncer-1"}


class RestrictedSerializer(serializers.Serializer[dict[str, list[UUID]]]):
    """The pools that let in only their own user from the next apply on."""

    pools = serializers.ListField(child=serializers.UUIDField())

    example: dict[str, object] = {"pools": [POOL]}


class AccessActions(GenericViewSet[Pooler]):
    """The users that may log in to the pools of a PgBouncer."""

    @extend_schema(responses=PoolAccessSerializer, filters=False)
    @action(detail=True)
    def access(self, request: Request, pk: str) -> Response:
        """List the pools that are open to every user that the pooler knows, and whom they would refuse."""
        pooler = self.get_object()
        found: PoolAccess = {"open_pools": pool_access.review(pooler), "obstacle": pool_access.obstacle(pooler)}
        return Response(PoolAccessSerializer(found).data)

    @extend_schema(request=RestrictPoolsSerializer, responses={202: RestrictedSerializer}, filters=False)
    @action(detail=True, methods=["post"], url_path="restrict-pools")
    def restrict_pools(self, request: Request, pk: str) -> Response:
        """Let only their own users in to the open pools; 400 with the list until it is confirmed."""
        serializer = RestrictPoolsSerializer(data=request.data)
        serializer.is_valid(raise_exception=True)
        pools: list[Pool] = pool_access.restrict(
            self.get_object(), serializer.validated_data["confirm"], person(request.user)
        )
        return Response({"pools": [pool.pk for pool in pools]}, status=status.HTTP_202_ACCEPTED)
