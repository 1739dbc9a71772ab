"""API tokens as JSON; the token itself is in the response to its creation only."""

from datetime import datetime

from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from core.accounts.models import ApiToken, Scope
from core.accounts.permissions import grantable
from core.lib.known_fields import KnownFields

OF_LIMIT = gettext_lazy("The pooler whose files alone it reads; null for one that is good for all its scopes")


class TokenSerializer(KnownFields, serializers.ModelSerializer[ApiToken]):
    """A token without its secret."""

    user = serializers.CharField(source="user.username", read_only=True)
    scopes = serializers.ListField(child=serializers.ChoiceField(Scope.choices), allow_empty=False)
    limited_to = serializers.UUIDField(read_only=True, allow_null=True, help_text=OF_LIMIT)

    class Meta:
        model = ApiToken
        fields = [
            "id",
            "name",
            "user",
            "prefix",
            "scopes",
            "limited_to",
            "expires_at",
            "last_used_at",
            "revoked_at",
            "created_at",
        ]
        read_only_fields = ["prefix", "last_used_at", "revoked_at", "created_at"]

    example: dict[str, object] = {
        "id": "c1a4de6c-2a0f-4f4c-9c1b-8b7a6d5e4f30",
        "name": "ci",
        "user": "admin",
        "prefix": "pd_EXAMPL",
        "scopes": ["read", "run"],
        "limited_to": None,
        "expires_at": "2099-12-31T23:59:59Z",
        "last_used_at": "2026-03-05T16:10:02Z",
        "revoked_at": None,
    }

    def validate_scopes(self, scopes: list[str]) -> list[str]:
        """Refuse scopes that the caller does not hold; sort the rest."""
        request = self.context["request"]
        beyond = sorted(set(scopes) - set(grantable(request.user, request.auth)))
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
