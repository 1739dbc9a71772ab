"""The REST API of a cluster's lookup of inbound users."""

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers, status
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.viewsets import GenericViewSet

from core.accounts.permissions import person
from core.lib.known_fields import KnownFields
from pools.models import Cluster
from pools.provisioning import auth_query
from pools.provisioning.auth_query import Finding


class FindingSerializer(serializers.Serializer[Finding]):
    """The result of a test look-up of inbound users in a database, with the reason of a failure."""

    database = serializers.CharField()
    works = serializers.BooleanField()
    fault = serializers.CharField()

    example: dict[str, object] = {"database": "orders", "works": True, "fault": ""}


class AuthQuerySerializer(serializers.Serializer[Any]):
    """The role that looks up inbound users (empty: none was set up), and whether that works in each database now."""

    role = serializers.CharField()
    databases = FindingSerializer(many=True)

    example: dict[str, object] = {"role": "pooldeck_auth"}


class NewAuthQuerySerializer(KnownFields):
    """The name of the role to create; the default is the existing role, or the usual name."""

    role = serializers.CharField(required=False, allow_blank=True, trim_whitespace=False)

    example: dict[str, object] = {"role": "pooldeck_auth"}


class AuthQueryActions(GenericViewSet[Cluster]):
    """Actions of a cluster on its lookup of inbound users."""

    @extend_schema(responses=AuthQuerySerializer, filters=False)
    @action(detail=True, url_path="auth-query")
    def auth_query(self, request: Request, pk: str) -> Response:
        """Check in every database whether inbound users can be looked up; 502 when the cluster does not answer."""
        cluster = self.get_object()
        return _answer(cluster, auth_query.check(cluster))

    @extend_schema(request=NewAuthQuerySerializer, responses=AuthQuerySerializer, filters=False)
    @auth_query.mapping.post
    def set_up_auth_query(self, request: Request, pk: str) -> Response:
        """Create the role and its function in each database; repeat it to repair them, or for new databases."""
        serializer = NewAuthQuerySerializer(data=request.data)
        serializer.is_valid(raise_exception=True)
        cluster = self.get_object()
        return _answer(
            cluster, auth_query.install(cluster, serializer.validated_data.get("role", ""), person(request.user))
        )

    @extend_schema(responses={204: None}, filters=False)
    @auth_query.mapping.delete
    def take_auth_query_away(self, request: Request, pk: str) -> Response:
        """Drop the role and its functions; 409 while a pool of the inbound user leads to the cluster."""
        auth_query.uninstall(self.get_object(), person(request.user))
        return Response(status=status.HTTP_204_NO_CONTENT)


def _answer(cluster: Cluster, found: list[Finding]) -> Response:
    return Response(AuthQuerySerializer({"role": cluster.auth_role, "databases": found}).data)
