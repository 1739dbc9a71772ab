"""The REST API of the roles of a cluster; a password is returned once, when it is generated."""

from typing import Any
from urllib.parse import quote

from django.utils.translation import gettext_lazy as _
from drf_spectacular.utils import extend_schema
from rest_framework import serializers, status
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.viewsets import GenericViewSet

from core.accounts.permissions import person
from core.lib.known_fields import KnownFields
from core.lib.query_params import is_set
from pools.api.databases import LIMIT_HELP, NAME, LeadingPoolSerializer
from pools.api.filters import EXPERIMENTS
from pools.models import Cluster
from pools.provisioning import roles
from pools.provisioning.grants import Access
from pools.provisioning.ownership import OwnedObjects
from pools.provisioning.roles import Role

ONCE = {"Cache-Control": "no-store"}


class OwnedSerializer(serializers.Serializer[OwnedObjects]):
    """The objects that a role owns in a database, or, where that is empty, its databases or tablespaces."""

    database = serializers.CharField(allow_blank=True)
    kind = serializers.CharField(help_text=_("object, database, tablespace or shared object"))
    count = serializers.IntegerField()


class RoleSerializer(serializers.Serializer[Role]):
    """A role as it is now."""

    name = serializers.CharField()
    can_login = serializers.BooleanField()
    superuser = serializers.BooleanField()
    createdb = serializers.BooleanField()
    createrole = serializers.BooleanField()
    replication = serializers.BooleanField()
    connection_limit = serializers.IntegerField(help_text=LIMIT_HELP)
    valid_until = serializers.DateTimeField(allow_null=True, help_text=_("Of its password; null: no end"))
    member_of = serializers.ListField(child=serializers.CharField())
    connections = serializers.IntegerField(help_text=_("Current ones, without the panel's own"))
    owns = OwnedSerializer(many=True)
    pools = LeadingPoolSerializer(many=True)
    made_for = serializers.CharField(help_text=_("The experiment that made it for itself; empty: none"))

    example: dict[str, object] = {
        "name": "orders_app",
        "can_login": True,
        "connection_limit": -1,
        "valid_until": None,
        "member_of": ["readers"],
        "made_for": "",
        "connections": 8,
        "owns": [{"database": "orders", "kind": "object", "count": 14}],
    }


class RoleChangeSerializer(KnownFields):
    """The fields of a role that can be changed."""

    can_login = serializers.BooleanField(required=False)
    connection_limit = serializers.IntegerField(required=False, help_text=LIMIT_HELP)
    valid_until = serializers.DateTimeField(
        required=False, allow_null=True, help_text=_("Of its password; null: no end")
    )


class NewRoleSerializer(RoleChangeSerializer):
    """A role to create, and its access to a database, including future tables."""

    name = serializers.CharField(trim_whitespace=False)
    database = serializers.CharField(required=False, trim_whitespace=False)
    access = serializers.ChoiceField(Access.choices, required=False, help_text=_("To `database`; default `connect`"))


class PasswordSerializer(serializers.Serializer[Any]):
    """A new password; no other response ever contains it."""

    name = serializers.CharField()
    password = serializers.CharField()

    example: dict[str, object] = {"name": "orders_app", "password": "SHOWN-ONCE"}


class MadeRoleSerializer(RoleSerializer):
    """A new role."""

    password = serializers.CharField(
        allow_blank=True, help_text=_("Returned only once; empty for a role that can't log in")
    )

    example: dict[str, object] = RoleSerializer.example | {
        "connections": 0,
        "owns": [],
        "pools": [],
        "password": "SHOWN-ONCE",
    }


class RoleActions(GenericViewSet[Cluster]):
    """Actions of a cluster on its roles."""

    @extend_schema(parameters=[EXPERIMENTS], responses=RoleSerializer(many=True), filters=False)
    @action(detail=True)
    def users(self, request: Request, pk: str) -> Response:
        """List the roles of the cluster, without PostgreSQL's own; 502 when it does not answer."""
        shows_all = is_set(request.query_params.get(EXPERIMENTS.name))
        found: Any = [one for one in roles.list_all(self.get_object()) if shows_all or not one.made_for]
        page: Any = self.paginate_queryset(found)
        return self.get_paginated_response(RoleSerializer(page, many=True).data)

    @extend_schema(request=NewRoleSerializer, responses={201: MadeRoleSerializer}, filters=False)
    @users.mapping.post
    def create_user(self, request: Request, pk: str) -> Response:
        """Create a role; only this response contains its password."""
        serializer = NewRoleSerializer(data=request.data)
        serializer.is_valid(raise_exception=True)
        role, password = roles.create(self.get_object(), serializer.validated_data, person(request.user))
        headers = ONCE | {"Location": f"{request.path}{quote(role.name, safe='')}/"}
        body = {**RoleSerializer(role).data, "password": password}
        return Response(body, status=status.HTTP_201_CREATED, headers=headers)

    @extend_schema(parameters=[NAME], responses=RoleSerializer, filters=False)
    @action(detail=True, url_path="users/<str:name>")
    def user(self, request: Request, pk: str, name: str) -> Response:
        """Return one role; 404 if the cluster has none of that name."""
        return Response(RoleSerializer(roles.find(self.get_object(), name)).data)

    @extend_schema(parameters=[NAME], request=RoleChangeSerializer, responses=RoleSerializer, filters=False)
    @user.mapping.patch
    def change_user(self, request: Request, pk: str, name: str) -> Response:
        """Change whether a role can log in, its connection limit, and the end of its password."""
        serializer = RoleChangeSerializer(data=request.data)
        serializer.is_valid(raise_exception=True)
        changed = roles.change(self.get_object(), name, serializer.validated_data, person(request.user))
        return Response(RoleSerializer(changed).data)

    @extend_schema(parameters=[NAME], responses={204: None}, filters=False)
    @user.mapping.delete
    def drop_user(self, request: Request, pk: str, name: str) -> Response:
        """Drop a role; 409 with the blockers while it is logged in, owns something, or a pool uses it."""
        roles.drop(self.get_object(), name, person(request.user))
        return Response(status=status.HTTP_204_NO_CONTENT)

    @extend_schema(parameters=[NAME], request=None, responses=PasswordSerializer, filters=False)
    @action(detail=True, methods=["post"], url_path="users/<str:name>/reset-password")
    def reset_password(self, request: Request, pk: str, name: str) -> Response:
        """Reset a role's password, returned only once; its pools are applied again, connected clients stay."""
        password = roles.reset_password(self.get_object(), name, person(request.user))
        return Response({"name": name, "password": password}, headers=ONCE)
