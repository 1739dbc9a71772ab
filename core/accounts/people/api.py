"""The REST API of teams with their members, of people, and of invitations."""

from datetime import timedelta
from typing import Any

from django.contrib.auth.models import User
from django.db.models import QuerySet
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import mixins, serializers, status
from rest_framework.decorators import action
from rest_framework.generics import get_object_or_404
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.routers import SimpleRouter
from rest_framework.viewsets import GenericViewSet, ModelViewSet

from core.accounts import mails
from core.accounts.access import Access
from core.accounts.models import Invitation, Membership, Team
from core.accounts.people import invitations, persons, teams
from core.accounts.people.serializers import (
    OF_OWNERLESS,
    ChangedMemberSerializer,
    InvitationSerializer,
    MemberSerializer,
    NewInvitationSerializer,
    NewMemberSerializer,
    PersonSerializer,
    TeamSerializer,
)
from core.accounts.permissions import person
from core.lib.query_params import is_set

LEAVE = OpenApiParameter("leave_without_owner", bool, description=str(OF_OWNERLESS))


class TeamViewSet(ModelViewSet[Team]):
    """The teams that the caller sees; only administrators make, rename and remove them."""

    queryset = Team.objects.order_by("name")
    serializer_class = TeamSerializer
    lookup_value_converter = "uuid"
    operations = {
        "list": "team.view",
        "retrieve": "team.view",
        "create": "team.manage",
        "update": "team.manage",
        "partial_update": "team.manage",
        "destroy": "team.manage",
        "members": "team.view",
        "add_member": "team.members",
        "member": "team.view",
        "change_member": "team.members",
        "remove_member": "team.members",
    }
    filterset_fields = ["name"]
    search_fields = ["name"]
    ordering_fields = ["name", "created_at"]

    def perform_create(self, serializer: serializers.BaseSerializer[Team]) -> None:
        """Make a team, which has no members yet."""
        serializer.instance = teams.create(serializer.validated_data["name"])

    def perform_update(self, serializer: serializers.BaseSerializer[Team]) -> None:
        """Rename a team."""
        team = self.get_object()
        serializer.instance = teams.rename(team, serializer.validated_data.get("name", team.name))

    def perform_destroy(self, instance: Team) -> None:
        """Remove a team with its memberships and invitations; 409 naming what still belongs to it."""
        teams.remove(instance)

    @extend_schema(responses=MemberSerializer(many=True), filters=False)
    @action(detail=True)
    def members(self, request: Request, pk: str) -> Response:
        """List the members of a team with their roles."""
        rows = self.get_object().memberships.select_related("user").order_by("user__username")
        page: Any = self.paginate_queryset(list(rows))
        return self.get_paginated_response(MemberSerializer(page, many=True).data)

    @extend_schema(request=NewMemberSerializer, responses={201: MemberSerializer}, filters=False)
    @members.mapping.post
    def add_member(self, request: Request, pk: str) -> Response:
        """Let a person into a team, by the name that they log in with."""
        team, serializer = self.get_object(), NewMemberSerializer(data=request.data)
        serializer.is_valid(raise_exception=True)
        member = teams.add_member(team, **serializer.validated_data)
        return Response(MemberSerializer(member).data, status=status.HTTP_201_CREATED)

    @extend_schema(responses=MemberSerializer, filters=False)
    @action(detail=True, url_path="members/<int:user>")
    def member(self, request: Request, pk: str, user: int) -> Response:
        """Return one member of a team."""
        return Response(MemberSerializer(self._member(user)).data)

    @extend_schema(request=ChangedMemberSerializer, responses=MemberSerializer, filters=False)
    @member.mapping.patch
    def change_member(self, request: Request, pk: str, user: int) -> Response:
        """Give a member another role; 409 for the last owner."""
        member, serializer = self._member(user), ChangedMemberSerializer(data=request.data)
        serializer.is_valid(raise_exception=True)
        teams.change_role(member, **serializer.validated_data)
        return Response(MemberSerializer(member).data)

    @extend_schema(parameters=[LEAVE], responses={204: None}, filters=False)
    @member.mapping.delete
    def remove_member(self, request: Request, pk: str, user: int) -> Response:
        """End a membership; 409 for the last owner."""
        leave = is_set(request.query_params.get("leave_without_owner"))
        teams.remove_member(self._member(user), leave_without_owner=leave)
        return Response(status=status.HTTP_204_NO_CONTENT)

    def _member(self, user: int) -> Membership:
        found: Membership = get_object_or_404(
            self.get_object().memberships.select_related("user", "team"), user_id=user
        )
        return found


class PersonViewSet(mixins.ListModelMixin, mixins.RetrieveModelMixin, mixins.UpdateModelMixin, GenericViewSet[User]):
    """Everybody who has an account; for administrators."""

    queryset = persons.people().order_by("username")
    serializer_class = PersonSerializer
    lookup_value_converter = "int"
    destructive = frozenset({"update", "partial_update"})  # takes rights away, or lets nobody in
    operations = dict.fromkeys(("list", "retrieve", "update", "partial_update"), "person.manage")
    filterset_fields = {"username": ["exact"], "is_active": ["exact"], "is_staff": ["exact"]}
    search_fields = ["username", "email"]
    ordering_fields = ["username", "last_login"]

    def get_queryset(self) -> QuerySet[User]:
        """Return everybody with their teams and whether they have a second factor."""
        return persons.listed()

    def perform_update(self, serializer: serializers.BaseSerializer[User]) -> None:
        """Make a person an administrator or none, deactivate or reactivate them; 409 for the last administrator."""
        found, by, wanted = self.get_object(), person(self.request.user), serializer.validated_data
        persons.change(found, by, administrator=wanted.get("is_staff"), active=wanted.get("is_active"))
        serializer.instance = found


class InvitationViewSet(
    mixins.ListModelMixin, mixins.RetrieveModelMixin, mixins.DestroyModelMixin, GenericViewSet[Invitation]
):
    """The open invitations into the teams that the caller owns."""

    queryset = Invitation.objects.select_related("invited_by")
    serializer_class = InvitationSerializer
    lookup_value_converter = "uuid"
    operations = dict.fromkeys(("list", "retrieve", "create", "destroy"), "team.members")
    filterset_fields = ["team", "role"]
    search_fields = ["email", "team__name"]
    ordering_fields = ["created_at", "expires_at"]

    def get_queryset(self) -> QuerySet[Invitation]:
        """Return those that nobody has used, revoked or let expire."""
        teams_of_caller = Access.of(self.request).teams("team.members")
        return Invitation.objects.open().filter(team__in=teams_of_caller).select_related("invited_by", "team")

    @extend_schema(request=InvitationSerializer, responses={201: NewInvitationSerializer})
    def create(self, request: Request) -> Response:
        """Invite somebody into a team; `link` is in this response only, and is mailed where mail is set up."""
        serializer = self.get_serializer(data=request.data)
        serializer.is_valid(raise_exception=True)
        values = serializer.validated_data
        lifetime = timedelta(days=values.pop("lifetime_days"))
        made, link = invitations.issue(
            values["team"],
            values.get("role", "viewer"),
            person(request.user),
            email=values.get("email", ""),
            lifetime=lifetime,
        )
        if made.email and mails.is_sent():
            invitations.mail(made, link)
        answer = NewInvitationSerializer(made, context={**self.get_serializer_context(), "link": link})
        return Response(answer.data, status=status.HTTP_201_CREATED)

    def perform_destroy(self, instance: Invitation) -> None:
        """Revoke an invitation: its link says so from then on."""
        invitations.revoke(instance)


router = SimpleRouter(use_regex_path=False)
router.register("teams", TeamViewSet, basename="api-team")
router.register("people", PersonViewSet, basename="api-person")
router.register("invitations", InvitationViewSet, basename="api-invitation")
