"""Credentials of event streams: the token or session that opened each, and which of them have ended."""

from collections.abc import Collection
from dataclasses import dataclass
from uuid import UUID

from django.contrib.auth.models import User
from django.contrib.sessions.models import Session
from django.db.models import Model, QuerySet
from django.utils import timezone
from rest_framework.request import Request

from core.accounts.models import ApiToken
from core.accounts.permissions import person


@dataclass(frozen=True)
class Credential:
    """A user's token or browser session."""

    user_id: int
    token_id: UUID | None = None
    session_key: str | None = None

    @classmethod
    def of(cls, request: Request) -> "Credential":
        """Return the credential of an authenticated API request."""
        user_id = person(request.user).pk
        if isinstance(request.auth, ApiToken):
            return cls(user_id, token_id=request.auth.pk)
        return cls(user_id, session_key=request.session.session_key)


def ended(credentials: Collection[Credential]) -> set[Credential]:
    """Return those that are no longer valid (revoked, expired, logged out, user inactive), in three queries."""
    in_browsers = {one.user_id for one in credentials if not one.token_id}
    users = _present(User.objects.filter(is_active=True, pk__in=in_browsers), "pk")
    ids = {one.token_id for one in credentials if one.token_id}
    tokens = _present(ApiToken.objects.usable().filter(pk__in=ids), "pk")
    keys = {one.session_key for one in credentials if one.session_key}
    sessions = _present(Session.objects.filter(expire_date__gt=timezone.now(), session_key__in=keys), "session_key")
    return {
        one
        for one in credentials
        if (one.token_id not in tokens if one.token_id else one.user_id not in users or one.session_key not in sessions)
    }


def _present(rows: QuerySet[Model], field: str) -> set[object]:
    return set(rows.values_list(field, flat=True))
