"""The REST API of the databases of a cluster."""

from typing import Any
from urllib.parse import quote

from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers, status
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.viewsets import GenericViewSet

from panel.accounts.permissions import person
from panel.lib.known_fields import KnownFields
from pools.models import Cluster, Pool
from pools.provisioning import databases
from pools.provisioning.databases import Database

NAME = OpenApiParameter("name", location="path", description="Percent-encoded as UTF-8; a name with a slash has none")
LIMIT_HELP = "-1: none"


class LeadingPoolSerializer(serializers.ModelSerializer[Pool]):
    """A pool that leads to a database, or logs in as a role."""

    class Meta:
        model = Pool
        fields = ["id", "name"]
        read_only_fields = fields


class DatabaseSerializer(serializers.Serializer[Database]):
    """A database as the cluster has it now."""

    name = serializers.CharField()
    owner = serializers.CharField()
    size_bytes = serializers.IntegerField(allow_null=True, help_text="Null where the panel's login may not ask")
    encoding = serializers.CharField()
    collation = serializers.CharField()
    connection_limit = serializers.IntegerField(help_text=LIMIT_HELP)
    connections = serializers.IntegerField(help_text="Now, the panel's own left out")
    pools = LeadingPoolSerializer(many=True)


class DatabaseChangeSerializer(KnownFields):
    """What of a database can be changed."""

    owner = serializers.CharField(required=False, trim_whitespace=False)
    connection_limit = serializers.IntegerField(required=False, help_text=LIMIT_HELP)


class NewDatabaseSerializer(DatabaseChangeSerializer):
    """A database to be made; without an owner it is the panel's login's."""

    name = serializers.CharField(trim_whitespace=False)
    encoding = serializers.ChoiceField(databases.ENCODINGS, required=False)
    template = serializers.CharField(required=False, trim_whitespace=False)


class DatabaseActions(GenericViewSet[Cluster]):
    """The actions of a cluster that concern its databases."""

    @extend_schema(responses=DatabaseSerializer(many=True), filters=False)
    @action(detail=True)
    def databases(self, request: Request, pk: str) -> Response:
        """The databases that the cluster has now, templates left out; 502 when it can't be asked."""
        found: Any = databases.listed(self.get_object())
        page: Any = self.paginate_queryset(found)
        return self.get_paginated_response(DatabaseSerializer(page, many=True).data)

    @extend_schema(request=NewDatabaseSerializer, responses={201: DatabaseSerializer}, filters=False)
    @databases.mapping.post
    def create_database(self, request: Request, pk: str) -> Response:
        """Create a database; another encoding than the usual takes template0 and the locale C, which fit any."""
        asked = NewDatabaseSerializer(data=request.data)
        asked.is_valid(raise_exception=True)
        made = databases.create(self.get_object(), asked.validated_data, person(request.user))
        headers = {"Location": f"{request.path}{quote(made.name, safe='')}/"}
        return Response(DatabaseSerializer(made).data, status=status.HTTP_201_CREATED, headers=headers)

    @extend_schema(parameters=[NAME], responses=DatabaseSerializer, filters=False)
    @action(detail=True, url_path="databases/<str:name>")
    def database(self, request: Request, pk: str, name: str) -> Response:
        """One database; 404 where the cluster has none of that name."""
        return Response(DatabaseSerializer(databases.find(self.get_object(), name)).data)

    @extend_schema(parameters=[NAME], request=DatabaseChangeSerializer, responses=DatabaseSerializer, filters=False)
    @database.mapping.patch
    def change_database(self, request: Request, pk: str, name: str) -> Response:
        """Give a database another owner or connection limit."""
        asked = DatabaseChangeSerializer(data=request.data)
        asked.is_valid(raise_exception=True)
        changed = databases.change(self.get_object(), name, asked.validated_data, person(request.user))
        return Response(DatabaseSerializer(changed).data)

    @extend_schema(parameters=[NAME], responses={204: None}, filters=False)
    @database.mapping.delete
    def drop_database(self, request: Request, pk: str, name: str) -> Response:
        """Drop a database for good; 409 while a pool leads to it or somebody is logged in, saying who."""
        databases.drop(self.get_object(), name, person(request.user))
        return Response(status=status.HTTP_204_NO_CONTENT)
