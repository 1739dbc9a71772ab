"""Scopes: what the bearer of a token, or a user of the panel, may do."""

from typing import Any

from rest_framework.permissions import SAFE_METHODS, BasePermission
from rest_framework.request import Request
from rest_framework.views import APIView

from panel.accounts.models import ApiToken, Scope


def holds(user: Any, token: Any, scope: str) -> bool:
    """A token holds its scopes; a user in the browser holds all when staff, else `read`."""
    if isinstance(token, ApiToken):
        return token.allows(scope)
    return bool(user and user.is_authenticated and (scope == Scope.READ or user.is_staff))


class HasScope(BasePermission):
    """`read` for safe methods; for others the view's `write_scope` (default `admin`) or its `action_scopes[action]`."""

    message = "this token or user lacks the scope for that"

    def has_permission(self, request: Request, view: APIView) -> bool:
        """Whether the caller is logged in and holds the scope of the action."""
        if not request.user or not request.user.is_authenticated:
            return False
        return holds(request.user, request.auth, self.scope_of(request, view))

    @staticmethod
    def scope_of(request: Request, view: APIView) -> str:
        """The scope asked for by this method of this view."""
        per_action: dict[str, str] = getattr(view, "action_scopes", {})
        default = Scope.READ if request.method in SAFE_METHODS else getattr(view, "write_scope", Scope.ADMIN)
        return per_action.get(getattr(view, "action", "") or "", default)
