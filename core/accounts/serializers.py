"""API tokens as JSON; the token itself is in the response to its creation only."""

from datetime import datetime
from typing import Any

from django.core.exceptions import ValidationError
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from core.accounts import limits
from core.accounts.access import Access
from core.accounts.models import ApiToken, LimitKind, Role, Scope, Team
from core.accounts.new_tokens import USELESS, NewToken
from core.accounts.permissions import grantable, person
from core.lib.known_fields import KnownFields

OF_LIMIT = gettext_lazy("The pooler whose files alone it reads; null for one that is good for more")
OF_TEAM = gettext_lazy("The team that it is of; null for one of a person")
OF_ROLE = gettext_lazy("The role of a team's token in its team")
OF_CLUSTER = gettext_lazy("The cluster that it is limited to, with what belongs to it")
OF_POOL = gettext_lazy("The pool that it is limited to, with what belongs to it")


class LimitField(serializers.UUIDField):
    """The id of the record that a token is limited to, where the record is of this kind."""

    def __init__(self, kind: LimitKind, **options: Any) -> None:
        self.kind = kind
        super().__init__(source="*", required=False, allow_null=True, **options)

    def to_representation(self, token: ApiToken) -> str | None:  # type: ignore[override]  # it reads two columns
        return str(token.limited_to) if token.limited_to and token.limit_kind == self.kind else None

    def to_internal_value(self, given: object) -> dict[str, object]:  # type: ignore[override]  # and writes both
        return {self.kind.value: super().to_internal_value(given)}  # type: ignore[arg-type]


class TokenSerializer(KnownFields, serializers.ModelSerializer[ApiToken]):
    """A token without its secret."""

    user = serializers.CharField(source="user.username", read_only=True)
    scopes = serializers.ListField(child=serializers.ChoiceField(Scope.choices), allow_empty=False)
    team = serializers.PrimaryKeyRelatedField[Team](
        queryset=Team.objects.all(), required=False, allow_null=True, help_text=OF_TEAM
    )
    role = serializers.ChoiceField(Role.choices, required=False, allow_blank=True, help_text=OF_ROLE)
    made_by = serializers.CharField(source="made_by.username", read_only=True, allow_null=True, default=None)
    cluster = LimitField(LimitKind.CLUSTER, help_text=OF_CLUSTER)
    pool = LimitField(LimitKind.POOL, help_text=OF_POOL)
    limited_to = serializers.SerializerMethodField(help_text=OF_LIMIT)

    class Meta:
        model = ApiToken
        fields = [
            "id",
            "name",
            "user",
            "team",
            "role",
            "made_by",
            "prefix",
            "scopes",
            "cluster",
            "pool",
            "limited_to",
            "expires_at",
            "last_used_at",
            "last_used_from",
            "revoked_at",
            "created_at",
        ]
        read_only_fields = ["prefix", "last_used_at", "last_used_from", "revoked_at", "created_at"]

    example: dict[str, object] = {
        "id": "c1a4de6c-2a0f-4f4c-9c1b-8b7a6d5e4f30",
        "name": "ci",
        "user": "admin",
        "team": None,
        "role": "",
        "made_by": None,
        "prefix": "pd_EXAMPL",
        "scopes": ["read", "run"],
        "cluster": None,
        "pool": None,
        "limited_to": None,
        "expires_at": "2099-12-31T23:59:59Z",
        "last_used_at": "2026-03-05T16:10:02Z",
        "last_used_from": "10.20.0.14",
        "revoked_at": None,
    }

    @extend_schema_field(serializers.UUIDField(allow_null=True, help_text=OF_LIMIT))
    def get_limited_to(self, token: ApiToken) -> str | None:
        return str(token.limited_to) if token.reads_files_only else None

    def validate_team(self, team: Team | None) -> Team | None:
        """Refuse a team whose tokens the caller may not make; one that they do not see is not found."""
        access = Access.of(self.context["request"])
        if team is not None and not access.visible(Team.objects.filter(pk=team.pk)).exists():
            raise serializers.ValidationError(_("there is no team %(team)s") % {"team": team.pk})
        if team is not None:
            access.require("token.manage", team)
        return team

    def validate_scopes(self, scopes: list[str]) -> list[str]:
        """Refuse scopes that the caller does not hold; sort the rest."""
        beyond = sorted(set(scopes) - set(grantable(Access.of(self.context["request"]))))
        if beyond:
            scopes_in_words = ", ".join(beyond)
            raise serializers.ValidationError(
                _("you can't grant scopes that you do not hold: %(scopes)s") % {"scopes": scopes_in_words}
            )
        return sorted(set(scopes))

    def validate_expires_at(self, moment: datetime | None) -> datetime | None:
        """Refuse an end in the past."""
        if moment is not None and moment <= timezone.now():
            raise serializers.ValidationError(
                _("%(moment)s is past: give a later time, or null for never") % {"moment": moment.isoformat()}
            )
        return moment

    def validate(self, values: dict[str, Any]) -> dict[str, Any]:
        """Refuse a token of a team without a role, one of nobody, and a limit to what its holder would not see."""
        team, role = values.get("team"), values.get("role", "")
        if bool(team) != bool(role):
            raise serializers.ValidationError({"role": [_("a token of a team, and only that, has a role there")]})
        if values.get(LimitKind.CLUSTER) and values.get(LimitKind.POOL):
            raise serializers.ValidationError({"pool": [_("give a cluster or a pool, not both")]})
        request = self.context["request"]
        if team is None and isinstance(request.auth, ApiToken) and request.auth.team_id is not None:
            text = _("a token of a team makes no token of a person: give the team and a role")
            raise serializers.ValidationError({"team": [text]})
        new = self.new_token(values)
        if useless := new.useless_scopes:
            raise serializers.ValidationError({"scopes": [USELESS % {"scopes": ", ".join(useless)}]})
        self._check_limit(values, new)
        return values

    def _check_limit(self, values: dict[str, Any], new: NewToken) -> None:
        for kind in limits.CHOSEN:
            if key := values.get(kind):
                try:
                    limits.record_of(new.access_without_limit, kind, key)
                except ValidationError as error:
                    raise serializers.ValidationError({kind.value: error.messages}) from None

    def new_token(self, values: dict[str, Any]) -> NewToken:
        """Return what is asked for."""
        kind = next((kind for kind in limits.CHOSEN if values.get(kind)), LimitKind.FILES)
        return NewToken(
            made_by=person(self.context["request"].user),
            name=values["name"],
            scopes=values["scopes"],
            expires_at=values.get("expires_at"),
            team=values.get("team"),
            role=Role(values["role"]) if values.get("role") else None,
            limit=(kind, values[kind]) if kind else None,
        )


class NewTokenSerializer(TokenSerializer):
    """A new token with its text, which is never shown again."""

    token = serializers.SerializerMethodField()

    class Meta(TokenSerializer.Meta):
        fields = [*TokenSerializer.Meta.fields, "token"]

    example: dict[str, object] = TokenSerializer.example | {
        "last_used_at": None,
        "token": "pd_EXAMPLE-TOKEN-THAT-IS-SHOWN-ONCE",
    }

    @extend_schema_field(serializers.CharField())
    def get_token(self, token: ApiToken) -> str:
        """Return the text that follows `Authorization: Bearer`."""
        text: str = self.context["text"]
        return text
