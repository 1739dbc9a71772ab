"""Permissions of the managed-database API, by the scopes that the panel's tokens have."""

from django.utils.translation import gettext as _
from rest_framework.permissions import BasePermission
from rest_framework.request import Request
from rest_framework.views import APIView

from core.accounts.models import Scope
from core.accounts.permissions import holds

READ, CREATE, UPDATE, DELETE = ("database:read", "database:create", "database:update", "database:delete")
VIEW_CREDENTIALS = "database:view_credentials"
BY_METHOD = {"POST": CREATE, "PUT": UPDATE, "PATCH": UPDATE, "DELETE": DELETE}


def panel_scope(permission: str, write_scope: str) -> str:
    """Return the scope of a panel's token that carries a permission; `write_scope` is the resource's, as in /api/v1/.

    Pools need `apply`; clusters, users and databases need `admin`, and so does every password.
    """
    if permission == READ:
        return Scope.READ
    return Scope.ADMIN if permission == VIEW_CREDENTIALS else write_scope


def reveals(request: Request) -> bool:
    """Tell whether answers to this request hold passwords."""
    return holds(request.user, request.auth, panel_scope(VIEW_CREDENTIALS, Scope.ADMIN))


class HasPermission(BasePermission):
    """The permission of the method, or of the view's `permissions` by method."""

    def has_permission(self, request: Request, view: APIView) -> bool:
        """Tell whether the caller is logged in and has the permission; `message` names it and the panel's scope."""
        if not request.user or not request.user.is_authenticated:
            return False
        method = request.method or ""
        permission = getattr(view, "permissions", {}).get(method) or BY_METHOD.get(method, READ)
        scope = panel_scope(permission, getattr(view, "write_scope", Scope.ADMIN))
        text = _("this needs the permission %(permission)s: create a token with the scope %(scope)s at /tokens/")
        self.message = text % {"permission": permission, "scope": scope}
        return holds(request.user, request.auth, scope)
