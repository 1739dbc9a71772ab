"""Credentials of requests that are held open: the token or session of each, and how its holder stands now."""

from collections.abc import Collection, Iterator
from copy import copy
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from typing import Any
from uuid import UUID

from django.apps import apps
from django.conf import settings
from django.contrib import auth
from django.contrib.auth.models import User
from django.contrib.sessions.models import Session
from django.db.models import Count, QuerySet, Value
from django.http import HttpRequest
from django.utils import timezone
from django.utils.functional import SimpleLazyObject
from rest_framework.request import Request

from core.accounts.access import Access, LimitedAccess, shares_of
from core.accounts.models import ApiToken, Membership, OwnedByTeam
from core.accounts.permissions import person

Roles = frozenset[tuple[UUID, str]]
NO_ROLES: Roles = frozenset()
OF_CALLER = ("_access", "_cached_user", "_acached_user")  # what a request keeps of its caller once it was looked up


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


@dataclass(frozen=True)
class Grants:
    """What a valid credential is good for, apart from its records; who stands otherwise than before is asked again."""

    is_admin: bool
    roles: Roles  # those of an administrator decide nothing
    scopes: frozenset[str] = frozenset()  # of a token
    password: str = ""  # the stored digest, of a session, which ends when it changes

    @classmethod
    def of(cls, request: Request) -> "Grants":
        """Return the grants by which this request was answered."""
        access, user = Access.of(request), person(request.user)
        unlimited = access.unlimited if isinstance(access, LimitedAccess) else access
        roles: Roles = frozenset((team, str(role)) for team, role in unlimited.roles.items())
        if isinstance(request.auth, ApiToken):
            return cls(user.is_staff, roles, scopes=frozenset(request.auth.scopes))
        return cls(user.is_staff, roles, password=user.password)


def granted(credentials: Collection[Credential]) -> dict[Credential, Grants]:
    """Return how the holder of each stands, in four queries; those that ended are left out.

    A credential has ended when it was revoked, expired or logged out, and when its user was deactivated.
    """
    people = User.objects.filter(pk__in={one.user_id for one in credentials})
    users = {row.pk: row for row in people.only("is_active", "is_staff", "password")}
    roles = _roles_of(users)
    ids = {one.token_id for one in credentials if one.token_id}
    usable = ApiToken.objects.usable().filter(pk__in=ids).only("team_id", "role", "scopes")
    tokens = {row.pk: row for row in usable}
    keys = {one.session_key for one in credentials if one.session_key}
    sessions = Session.objects.filter(expire_date__gt=timezone.now(), session_key__in=keys)
    lasting = set(sessions.values_list("session_key", flat=True))
    found: dict[Credential, Grants] = {}
    for one in credentials:
        user = users.get(one.user_id)
        if one.token_id in tokens and user:
            found[one] = _of_token(tokens[one.token_id], user, roles)
        elif not one.token_id and one.session_key in lasting and user and user.is_active:
            found[one] = Grants(user.is_staff, roles.get(user.pk, NO_ROLES), password=user.password)
    return found


def _of_token(token: ApiToken, user: User, roles: dict[int, Roles]) -> Grants:
    of_team = frozenset({(token.team_id, token.role)}) if token.team_id else None
    return Grants(user.is_staff, of_team or roles.get(user.pk, NO_ROLES), scopes=frozenset(token.scopes))


def _roles_of(users: dict[int, User]) -> dict[int, Roles]:
    """Return the roles of those who are no administrators, by user."""
    found: dict[int, Roles] = {}
    of_people = Membership.objects.filter(user__in=[pk for pk, user in users.items() if not user.is_staff])
    for user_id, team, role in of_people.values_list("user_id", "team_id", "role"):
        found[user_id] = found.get(user_id, NO_ROLES) | {(team, role)}
    return found


def records_of(teams: Collection[UUID]) -> dict[tuple[UUID, str], int]:
    """Return how many records of each kind these teams have, and how many are shared with them, in one query."""
    if not teams:
        return {}
    parts = [part for model in apps.get_models() if issubclass(model, OwnedByTeam) for part in _counts(model, teams)]
    counts = parts[0].union(*parts[1:], all=True)
    return {(team, kind): count for team, kind, count in counts}


def _counts(model: type[OwnedByTeam], teams: Collection[UUID]) -> Iterator[QuerySet[Any, tuple[UUID, str, int]]]:
    shares, _key = shares_of(model)
    for way, rows in (("owned", model._default_manager.all()), ("shared", shares)):
        named = rows.order_by().filter(team__in=teams).values("team").annotate(kind=Value(f"{model.__name__} {way}"))
        yield named.annotate(count=Count("pk")).values_list("team", "kind", "count")


def as_if_new(request: HttpRequest) -> HttpRequest:
    """Return the request without what it keeps of its caller, as if it had just come."""
    again = copy(request)
    for name in OF_CALLER:
        again.__dict__.pop(name, None)
    again.session = import_module(settings.SESSION_ENGINE).SessionStore(request.session.session_key)
    again.user = SimpleLazyObject(partial(auth.get_user, again))  # type: ignore[assignment]
    return again
