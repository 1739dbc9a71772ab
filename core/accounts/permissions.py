"""Scopes: what a token, or a user of the panel, may do."""

from dataclasses import replace
from typing import TYPE_CHECKING

from django.contrib.auth.models import User
from django.db.models import Model
from django.utils.translation import gettext as _
from rest_framework.permissions import SAFE_METHODS, BasePermission
from rest_framework.request import Request

from core.accounts import confirmation, operations
from core.accounts.access import Access, LimitedAccess, belongs_to, limited_model, token_lacks
from core.accounts.models import ApiToken, Role, Scope
from core.accounts.operations import Operation
from core.lib.query_params import is_set

if TYPE_CHECKING:  # rest_framework.views imports this module, by DEFAULT_PERMISSION_CLASSES
    from rest_framework.views import APIView

REVEALS_NOTHING = "secret.reveal"  # `reveal=1` where there is nothing to reveal


def person(user: object) -> User:
    """Narrow the user of an authenticated request; raises `TypeError` for an anonymous one, which is a bug."""
    if not isinstance(user, User):
        raise TypeError(f"{user!r} is not a logged-in user")
    return user


def user_holds(user: object, scope: str) -> bool:
    """Tell whether the user holds the scope: administrators hold every scope, other logged-in users hold `read`."""
    return isinstance(user, User) and (scope == Scope.READ or user.is_staff)


def holds(user: object, token: object, scope: str) -> bool:
    """Tell whether the user holds the scope and, if the request has a token, the token has it too.

    One that is limited to a record never holds `admin`, which reads more than its record.
    """
    if not isinstance(token, ApiToken):
        return user_holds(user, scope)
    return user_holds(user, scope) and token.allows(scope) and not (token.is_limited and scope == Scope.ADMIN)


def grantable(access: Access) -> list[Scope]:
    """Return the scopes that the caller may grant to a new token: those of what they may do somewhere, and `read`."""
    return [scope for scope in usable(access) if access.token is None or access.token.allows(scope)]


def usable(access: Access) -> list[Scope]:
    """Return the scopes that the roles of somebody make use of, and `read`.

    What is eased by a flag of a record counts once there is such a record: a developer has no use for `admin` until the
    password of a pool is for developers.
    """
    of_roles = [one for one in operations.registered() if isinstance(one.role, Role) and access.has_role(one)]
    sure = {Scope.READ, *(one.scope for one in of_roles if access.has_role(replace(one, eased_role=None)))}
    eased = {one.scope for one in of_roles if one.scope not in sure and _eases_any(access, one)}
    return [scope for scope in Scope if scope in sure | eased]


def _eases_any(access: Access, operation: Operation) -> bool:
    """Tell whether there is a record whose flag lets this caller do it."""
    model = limited_model(operation.name.partition(".")[0])
    if model is None:
        return False
    rows = model._default_manager.filter(**{operation.eased_by: True}).select_related(*belongs_to(model))
    return any(access.has_role(operation, row) for row in access.visible(rows))


class HasScope(BasePermission):
    """The operation that the view's `operations` names for the action, or for the method of a view without actions.

    `reveal=1`, which puts a password into the response, also takes the operation `reveal` of the view; a browser's
    session then needs a recent password confirmation, and so it does for `revealing_actions` of a view.

    A view that names no operation for the method has scopes: `read` for safe methods, for others its `write_scope`
    (default `admin`).
    """

    def has_permission(self, request: Request, view: "APIView") -> bool:
        """Tell whether the caller is logged in and may do this somewhere; `message` explains a refusal."""
        if not request.user or not request.user.is_authenticated:
            return False
        access = Access.of(request)
        access.needed = needed_by(request, view)
        scopes = [str(operation.scope) for operation in access.needed] or [self.scope_of(request, view)]
        for operation in access.needed:
            if not access.has_role(operation):
                is_limited = isinstance(access, LimitedAccess) and access.unlimited.has_role(operation)
                return self._refuse(access.refusal(operation) if is_limited else _user_lacks(request, operation.scope))
        for scope in scopes:
            if not access.needed and not user_holds(request.user, scope):
                return self._refuse(_user_lacks(request, scope))
            if isinstance(request.auth, ApiToken) and not request.auth.allows(scope):
                return self._refuse(token_lacks(scope))
        self.message = _("you entered your password more than 15 minutes ago: log in again, or use a token")
        shows_secrets = reveals(request) or _is_one_of(view, "revealing_actions")
        return not shows_secrets or request.auth is not None or confirmation.is_recent(request._request)

    def has_object_permission(self, request: Request, view: "APIView", obj: Model) -> bool:
        """Tell whether the caller may do this to the record; `message` names the role that it takes."""
        access = Access.of(request)
        refused = access.refused_on(obj)
        self.message = access.refusal(refused, obj) if refused else ""
        return refused is None

    def _refuse(self, message: str) -> bool:
        self.message = message
        return False

    @staticmethod
    def scope_of(request: Request, view: "APIView") -> str:
        """Return the scope that this method of this view needs, where it names no operation."""
        if reveals(request):
            return Scope.ADMIN
        return Scope.READ if request.method in SAFE_METHODS else getattr(view, "write_scope", Scope.ADMIN)


def needed_by(request: Request, view: "APIView") -> tuple[Operation, ...]:
    """Return the operations that this request is, by the view's `operations`; none where it names none.

    HEAD is what GET is. What the view does not have, such as a DELETE of a list, is no operation: it is answered with
    405, or with 403 to those without the scope.
    """
    declared: dict[str, str] = getattr(view, "operations", {})
    method = (request.method or "").lower()
    name = getattr(view, "action", None) or ("get" if method == "head" else method)
    if not declared or name == "metadata" or not _has(view, name):
        return ()
    found = [operations.named(declared[name])]
    if reveals(request):
        found.append(operations.named(declared.get("reveal", REVEALS_NOTHING)))
    return tuple(found)


def _has(view: "APIView", name: str) -> bool:
    return name != "options" and hasattr(view, name)


def _user_lacks(request: Request, scope: str) -> str:
    text = _("this needs the scope %(scope)s, which %(user)s does not hold: ask an admin")
    return text % {"scope": scope, "user": request.user}


def _is_one_of(view: "APIView", names: str) -> bool:
    return getattr(view, "action", None) in getattr(view, names, ())


def reveals(request: Request) -> bool:
    """Tell whether the answer shall hold passwords."""
    return is_set(request.query_params.get("reveal"))
