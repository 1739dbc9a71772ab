"""Permissions of the managed-database API, by the operations and scopes of the panel."""

from django.utils.translation import gettext as _
from rest_framework.permissions import BasePermission
from rest_framework.request import Request
from rest_framework.views import APIView

from core.accounts.access import Access
from core.accounts.models import Scope
from core.accounts.permissions import holds, needed_by

READ, CREATE, UPDATE, DELETE = ("database:read", "database:create", "database:update", "database:delete")
BY_METHOD = {"POST": CREATE, "PUT": UPDATE, "PATCH": UPDATE, "DELETE": DELETE}


class HasPermission(BasePermission):
    """The provider's permission of the method, or of the view's `permissions`; the panel's operation decides.

    Pools need the scope `apply`; clusters, users and databases need `admin`, and so does every password.
    """

    def has_permission(self, request: Request, view: APIView) -> bool:
        """Tell whether the caller is logged in and may do this; `message` names the permission and the panel's scope.

        What the view does not have, such as a PATCH of a user, is answered with 405 to those with the scope `admin`.
        """
        if not request.user or not request.user.is_authenticated:
            return False
        access = Access.of(request)
        access.needed = needed_by(request, view)
        method = request.method or ""
        permission = getattr(view, "permissions", {}).get(method) or BY_METHOD.get(method, READ)
        default = Scope.READ if permission == READ else Scope.ADMIN
        scope = access.needed[0].scope if access.needed else default
        text = _("this needs the permission %(permission)s: create a token with the scope %(scope)s at /tokens/")
        self.message = text % {"permission": permission, "scope": scope}
        if not access.needed:
            return holds(request.user, request.auth, scope)
        return all(access.may(operation.name) for operation in access.needed)
