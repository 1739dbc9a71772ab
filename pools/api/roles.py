"""The REST API of the roles of a cluster; a password is answered once, when it is made."""

from typing import Any
from urllib.parse import quote

from drf_spectacular.utils import extend_schema
from rest_framework import serializers, status
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.viewsets import GenericViewSet

from panel.accounts.permissions import person
from panel.lib.known_fields import KnownFields
from pools.api.databases import LIMIT_HELP, NAME, LeadingPoolSerializer
from pools.models import Cluster
from pools.provisioning import roles
from pools.provisioning.grants import Access
from pools.provisioning.ownership import Owned
from pools.provisioning.roles import Role

ONCE = {"Cache-Control": "no-store"}


class OwnedSerializer(serializers.Serializer[Owned]):
    """How many objects a role owns in a database, or, where that is empty, how many databases or tablespaces."""

    database = serializers.CharField(allow_blank=True)
    kind = serializers.CharField(help_text="object, database, tablespace or shared object")
    count = serializers.IntegerField()


class RoleSerializer(serializers.Serializer[Role]):
    """A role as the cluster has it now."""

    name = serializers.CharField()
    can_login = serializers.BooleanField()
    superuser = serializers.BooleanField()
    createdb = serializers.BooleanField()
    createrole = serializers.BooleanField()
    replication = serializers.BooleanField()
    connection_limit = serializers.IntegerField(help_text=LIMIT_HELP)
    valid_until = serializers.DateTimeField(allow_null=True, help_text="Of its password; null: no end")
    member_of = serializers.ListField(child=serializers.CharField())
    connections = serializers.IntegerField(help_text="Now, the panel's own left out")
    owns = OwnedSerializer(many=True)
    pools = LeadingPoolSerializer(many=True)


class RoleChangeSerializer(KnownFields):
    """What of a role can be changed."""

    can_login = serializers.BooleanField(required=False)
    connection_limit = serializers.IntegerField(required=False, help_text=LIMIT_HELP)
    valid_until = serializers.DateTimeField(required=False, allow_null=True, help_text="Of its password; null: no end")


class NewRoleSerializer(RoleChangeSerializer):
    """A role to be made, and what it may do in a database, tables to come included."""

    name = serializers.CharField(trim_whitespace=False)
    database = serializers.CharField(required=False, trim_whitespace=False)
    access = serializers.ChoiceField(Access.choices, required=False, help_text="To `database`; default `connect`")


class PasswordSerializer(serializers.Serializer[Any]):
    """A password just made; no other answer ever holds it."""

    name = serializers.CharField()
    password = serializers.CharField()


class MadeRoleSerializer(RoleSerializer):
    """A role just made."""

    password = serializers.CharField(allow_blank=True, help_text="This once; empty for a role that can't log in")


class RoleActions(GenericViewSet[Cluster]):
    """The actions of a cluster that concern its roles."""

    @extend_schema(responses=RoleSerializer(many=True), filters=False)
    @action(detail=True)
    def users(self, request: Request, pk: str) -> Response:
        """The roles that the cluster has now, PostgreSQL's own left out; 502 when it can't be asked."""
        found: Any = roles.listed(self.get_object())
        page: Any = self.paginate_queryset(found)
        return self.get_paginated_response(RoleSerializer(page, many=True).data)

    @extend_schema(request=NewRoleSerializer, responses={201: MadeRoleSerializer}, filters=False)
    @users.mapping.post
    def create_user(self, request: Request, pk: str) -> Response:
        """Create a role; the answer holds its password, this once."""
        asked = NewRoleSerializer(data=request.data)
        asked.is_valid(raise_exception=True)
        made, password = roles.create(self.get_object(), asked.validated_data, person(request.user))
        headers = ONCE | {"Location": f"{request.path}{quote(made.name, safe='')}/"}
        body = {**RoleSerializer(made).data, "password": password}
        return Response(body, status=status.HTTP_201_CREATED, headers=headers)

    @extend_schema(parameters=[NAME], responses=RoleSerializer, filters=False)
    @action(detail=True, url_path="users/<str:name>")
    def user(self, request: Request, pk: str, name: str) -> Response:
        """One role; 404 where the cluster has none of that name."""
        return Response(RoleSerializer(roles.find(self.get_object(), name)).data)

    @extend_schema(parameters=[NAME], request=RoleChangeSerializer, responses=RoleSerializer, filters=False)
    @user.mapping.patch
    def change_user(self, request: Request, pk: str, name: str) -> Response:
        """Change whether a role can log in, how often at once, and until when."""
        asked = RoleChangeSerializer(data=request.data)
        asked.is_valid(raise_exception=True)
        changed = roles.change(self.get_object(), name, asked.validated_data, person(request.user))
        return Response(RoleSerializer(changed).data)

    @extend_schema(parameters=[NAME], responses={204: None}, filters=False)
    @user.mapping.delete
    def drop_user(self, request: Request, pk: str, name: str) -> Response:
        """Drop a role; 409 while it is logged in, owns something or a pool logs in with it, saying which."""
        roles.drop(self.get_object(), name, person(request.user))
        return Response(status=status.HTTP_204_NO_CONTENT)

    @extend_schema(parameters=[NAME], request=None, responses=PasswordSerializer, filters=False)
    @action(detail=True, methods=["post"], url_path="users/<str:name>/reset-password")
    def reset_password(self, request: Request, pk: str, name: str) -> Response:
        """Give a role a new password, answered this once; its pools are applied anew, connected clients stay."""
        password = roles.reset_password(self.get_object(), name, person(request.user))
        return Response({"name": name, "password": password}, headers=ONCE)
