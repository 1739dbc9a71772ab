"""Teams, their members, people and invitations as JSON."""

from django.contrib.auth.models import User
from django.core.validators import EmailValidator
from django.db.models import QuerySet
from django.utils.translation import gettext_lazy as _
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from core.accounts.access import Access
from core.accounts.models import Invitation, Membership, Role, Team
from core.accounts.people import invitations
from core.lib.known_fields import KnownFields

OF_OWNERLESS = _("Confirms that the team may be left without an owner; without it that is refused with 409")


class TeamSerializer(KnownFields, serializers.ModelSerializer[Team]):
    """A team."""

    class Meta:
        model = Team
        fields = ["id", "name", "created_at"]
        read_only_fields = ["created_at"]
        extra_kwargs: dict[str, object] = {"name": {"validators": []}}  # core.accounts.people.teams refuses taken names

    example: dict[str, object] = {"id": "0b7e4c52-63d1-4f0a-9d1e-2a7f1c9b8e64", "name": "Payments"}


class MemberSerializer(serializers.ModelSerializer[Membership]):
    """A member of a team; `user` is the id under which the member is changed and removed."""

    user = serializers.IntegerField(source="user_id", read_only=True)
    username = serializers.CharField(source="user.username", read_only=True)

    class Meta:
        model = Membership
        fields = ["user", "username", "role"]

    example: dict[str, object] = {"user": 7, "username": "ann", "role": "developer"}


class NewMemberSerializer(KnownFields):
    """A person to let into a team."""

    username = serializers.CharField(max_length=150, help_text=_("The name that they log in with"))
    role = serializers.ChoiceField(Role.choices, default=Role.VIEWER)

    example: dict[str, object] = {"username": "ann", "role": "developer"}


class ChangedMemberSerializer(KnownFields):
    """Another role of a member."""

    role = serializers.ChoiceField(Role.choices)
    leave_without_owner = serializers.BooleanField(default=False, help_text=OF_OWNERLESS)

    example: dict[str, object] = {"role": "operator", "leave_without_owner": False}


class RoleInTeamSerializer(serializers.ModelSerializer[Membership]):
    """A team of a person, and their role there."""

    team = serializers.UUIDField(source="team_id", read_only=True)
    name = serializers.CharField(source="team.name", read_only=True)

    class Meta:
        model = Membership
        fields = ["team", "name", "role"]

    example: dict[str, object] = {"team": TeamSerializer.example["id"], "name": "Payments", "role": "developer"}


class PersonSerializer(KnownFields, serializers.ModelSerializer[User]):
    """A person who has an account; of it, `administrator` and `active` can be changed."""

    email = serializers.CharField(read_only=True, allow_blank=True)
    administrator = serializers.BooleanField(source="is_staff", required=False)
    active = serializers.BooleanField(
        source="is_active", required=False, help_text=_("false ends their sessions and refuses their tokens at once")
    )
    second_factor = serializers.BooleanField(source="has_second_factor", read_only=True)
    teams = RoleInTeamSerializer(source="memberships", many=True, read_only=True)

    class Meta:
        model = User
        fields = ["id", "username", "email", "administrator", "active", "second_factor", "last_login", "teams"]
        read_only_fields = ["username", "last_login"]

    example: dict[str, object] = {
        "id": 7,
        "username": "ann",
        "email": "ann@example.org",
        "administrator": False,
        "active": True,
        "second_factor": True,
        "last_login": "2026-03-05T16:10:02Z",
        "teams": [RoleInTeamSerializer.example],
    }


class TeamField(serializers.PrimaryKeyRelatedField[Team]):
    """The id of a team in which the caller may do what `operation` names; the context has the `request`."""

    def __init__(self, operation: str, **options: object) -> None:
        self._operation = operation
        super().__init__(queryset=Team.objects.all(), **options)  # type: ignore[arg-type]

    def get_queryset(self) -> QuerySet[Team]:
        """Return the teams to choose from."""
        return Access.of(self.context["request"]).teams(self._operation)


class InvitationSerializer(KnownFields, serializers.ModelSerializer[Invitation]):
    """An invitation without its link."""

    team = TeamField("team.members")
    invited_by = serializers.CharField(source="invited_by.username", read_only=True)
    email = serializers.CharField(
        max_length=254,
        required=False,
        allow_blank=True,
        validators=[EmailValidator()],
        help_text=_("Whom the link is for, and is mailed to where mail is set up"),
    )
    lifetime_days = serializers.IntegerField(
        min_value=1, max_value=invitations.LONGEST_DAYS, default=invitations.LIFETIME.days, write_only=True
    )

    class Meta:
        model = Invitation
        fields = ["id", "team", "role", "email", "invited_by", "lifetime_days", "created_at", "expires_at"]
        read_only_fields = ["created_at", "expires_at"]

    example: dict[str, object] = {
        "id": "3f2a9d0c-7b1e-4c55-8f6a-90d1c2b3a4e5",
        "team": TeamSerializer.example["id"],
        "role": "developer",
        "email": "new@example.org",
        "invited_by": "ann",
        "lifetime_days": 7,
        "created_at": "2026-03-02T09:30:00Z",
        "expires_at": "2026-03-09T09:30:00Z",
    }


class NewInvitationSerializer(InvitationSerializer):
    """A new invitation with its link, which is never shown again."""

    link = serializers.SerializerMethodField()

    class Meta(InvitationSerializer.Meta):
        fields = [*InvitationSerializer.Meta.fields, "link"]

    example: dict[str, object] = InvitationSerializer.example | {
        "link": "https://panel.example.org/invitation/?token=EXAMPLE-TOKEN-THAT-IS-SHOWN-ONCE"
    }

    @extend_schema_field(serializers.URLField())
    def get_link(self, invitation: Invitation) -> str:
        """Return the address that the person opens."""
        link: str = self.context["link"]
        return link
