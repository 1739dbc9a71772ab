"""Scopes: what the bearer of a token, or a user of the panel, may do."""

from typing import TYPE_CHECKING, Any

from django.contrib.auth.models import User
from rest_framework.permissions import SAFE_METHODS, BasePermission
from rest_framework.request import Request

from panel.accounts import confirmation
from panel.accounts.models import ApiToken, Scope

if TYPE_CHECKING:  # rest_framework.views imports this module, by DEFAULT_PERMISSION_CLASSES
    from rest_framework.views import APIView


def person(user: Any) -> User:
    """The user behind a request that needed a login; a stranger here is a mistake of ours."""
    if not isinstance(user, User):
        raise TypeError(f"{user!r} is nobody's login")
    return user


def user_holds(user: Any, scope: str) -> bool:
    """Staff hold every scope, other users who are logged in hold `read`."""
    return bool(user and user.is_authenticated and (scope == Scope.READ or user.is_staff))


def holds(user: Any, token: Any, scope: str) -> bool:
    """Whether the user holds the scope and, where a token is borne, the token carries it too."""
    return user_holds(user, scope) and (not isinstance(token, ApiToken) or token.allows(scope))


def grantable(user: Any, token: Any = None) -> list[Scope]:
    """The scopes that one may put on a new token: those that one holds."""
    return [scope for scope in Scope if holds(user, token, scope)]


class HasScope(BasePermission):
    """`read` for safe methods; for others the view's `write_scope` (default `admin`) or its `action_scopes[action]`.

    `reveal=1`, which puts a password into an answer, asks for `admin` everywhere, and in a browser's session for a
    password given lately.
    """

    def has_permission(self, request: Request, view: "APIView") -> bool:
        """Whether the caller is logged in and holds the scope of the action."""
        if not request.user or not request.user.is_authenticated:
            return False
        scope = self.scope_of(request, view)
        if not user_holds(request.user, scope):
            self.message = f"this asks for the scope {scope}, which {request.user} does not hold: ask an admin"
        else:
            self.message = f"this asks for the scope {scope}, which the token lacks: make one with it at /tokens/"
        if not holds(request.user, request.auth, scope):
            return False
        self.message = "you gave your password more than 15 minutes ago: log in again, or use a token"
        return not _reveals(request) or request.auth is not None or confirmation.is_recent(request._request)

    @staticmethod
    def scope_of(request: Request, view: "APIView") -> str:
        """The scope asked for by this method of this view."""
        if _reveals(request):
            return Scope.ADMIN
        per_action: dict[str, str] = getattr(view, "action_scopes", {})
        default = Scope.READ if request.method in SAFE_METHODS else getattr(view, "write_scope", Scope.ADMIN)
        return per_action.get(getattr(view, "action", "") or "", default)


def _reveals(request: Request) -> bool:
    return request.query_params.get("reveal") == "1"
