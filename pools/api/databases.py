"""The REST API of the databases of a cluster."""

from typing import Any
from urllib.parse import quote

from django.utils.translation import gettext_lazy as _
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers, status
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.viewsets import GenericViewSet

from core.accounts.permissions import person
from core.lib.known_fields import KnownFields
from core.lib.query_params import is_set
from pools.api.example_values import POOL
from pools.api.filters import EXPERIMENTS
from pools.models import Cluster, Pool
from pools.provisioning import databases
from pools.provisioning.databases import Database

NAME = OpenApiParameter(
    "name", location="path", description=_("Percent-encoded as UTF-8; a name with a slash has none")
)
LIMIT_HELP = _("-1: none")


class LeadingPoolSerializer(serializers.ModelSerializer[Pool]):
    """A pool that leads to a database, or logs in as a role."""

    class Meta:
        model = Pool
        fields = ["id", "name"]
        read_only_fields = fields

    example: dict[str, object] = {"id": POOL, "name": "orders"}


class DatabaseSerializer(serializers.Serializer[Database]):
    """A database as it is now."""

    name = serializers.CharField()
    owner = serializers.CharField()
    size_bytes = serializers.IntegerField(allow_null=True, help_text=_("Null where the panel's login may not read it"))
    encoding = serializers.CharField()
    collation = serializers.CharField()
    connection_limit = serializers.IntegerField(help_text=LIMIT_HELP)
    connections = serializers.IntegerField(help_text=_("Current ones, without the panel's own"))
    pools = LeadingPoolSerializer(many=True)
    made_for = serializers.CharField(help_text=_("The experiment that made it for itself; empty: none"))

    example: dict[str, object] = {
        "name": "orders",
        "owner": "orders_app",
        "size_bytes": 734003200,
        "encoding": "UTF8",
        "collation": "C.UTF-8",
        "made_for": "",
        "connection_limit": -1,
        "connections": 8,
    }


class DatabaseChangeSerializer(KnownFields):
    """The fields of a database that can be changed."""

    owner = serializers.CharField(required=False, trim_whitespace=False)
    connection_limit = serializers.IntegerField(required=False, help_text=LIMIT_HELP)


class NewDatabaseSerializer(DatabaseChangeSerializer):
    """A database to create; its default owner is the panel's login."""

    name = serializers.CharField(trim_whitespace=False)
    encoding = serializers.ChoiceField(databases.ENCODINGS, required=False)
    template = serializers.CharField(required=False, trim_whitespace=False)


class DatabaseActions(GenericViewSet[Cluster]):
    """Actions of a cluster on its databases."""

    @extend_schema(parameters=[EXPERIMENTS], responses=DatabaseSerializer(many=True), filters=False)
    @action(detail=True)
    def databases(self, request: Request, pk: str) -> Response:
        """List the databases of the cluster, without templates; 502 when it does not answer."""
        shows_all = is_set(request.query_params.get(EXPERIMENTS.name))
        found: Any = [one for one in databases.list_all(self.get_object()) if shows_all or not one.made_for]
        page: Any = self.paginate_queryset(found)
        return self.get_paginated_response(DatabaseSerializer(page, many=True).data)

    @extend_schema(request=NewDatabaseSerializer, responses={201: DatabaseSerializer}, filters=False)
    @databases.mapping.post
    def create_database(self, request: Request, pk: str) -> Response:
        """Create a database; an unusual encoding uses template0 and the locale C, which fit any."""
        serializer = NewDatabaseSerializer(data=request.data)
        serializer.is_valid(raise_exception=True)
        database = databases.create(self.get_object(), serializer.validated_data, person(request.user))
        headers = {"Location": f"{request.path}{quote(database.name, safe='')}/"}
        return Response(DatabaseSerializer(database).data, status=status.HTTP_201_CREATED, headers=headers)

    @extend_schema(parameters=[NAME], responses=DatabaseSerializer, filters=False)
    @action(detail=True, url_path="databases/<str:name>")
    def database(self, request: Request, pk: str, name: str) -> Response:
        """Return one database; 404 if the cluster has none of that name."""
        return Response(DatabaseSerializer(databases.find(self.get_object(), name)).data)

    @extend_schema(parameters=[NAME], request=DatabaseChangeSerializer, responses=DatabaseSerializer, filters=False)
    @database.mapping.patch
    def change_database(self, request: Request, pk: str, name: str) -> Response:
        """Change the owner or the connection limit of a database."""
        serializer = DatabaseChangeSerializer(data=request.data)
        serializer.is_valid(raise_exception=True)
        changed = databases.change(self.get_object(), name, serializer.validated_data, person(request.user))
        return Response(DatabaseSerializer(changed).data)

    @extend_schema(parameters=[NAME], responses={204: None}, filters=False)
    @database.mapping.delete
    def drop_database(self, request: Request, pk: str, name: str) -> Response:
        """Drop a database for good; 409 with the blockers while a pool routes to it or a session uses it."""
        databases.drop(self.get_object(), name, person(request.user))
        return Response(status=status.HTTP_204_NO_CONTENT)
