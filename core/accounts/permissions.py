"""Scopes: what a token, or a user of the panel, may do."""

from typing import TYPE_CHECKING

from django.contrib.auth.models import User
from django.utils.translation import gettext as _
from rest_framework.permissions import SAFE_METHODS, BasePermission
from rest_framework.request import Request

from core.accounts import confirmation
from core.accounts.models import ApiToken, Scope
from core.lib.query_params import is_set

if TYPE_CHECKING:  # rest_framework.views imports this module, by DEFAULT_PERMISSION_CLASSES
    from rest_framework.views import APIView


def person(user: object) -> User:
    """Narrow the user of an authenticated request; raises `TypeError` for an anonymous one, which is a bug."""
    if not isinstance(user, User):
        raise TypeError(f"{user!r} is not a logged-in user")
    return user


def user_holds(user: object, scope: str) -> bool:
    """Tell whether the user holds the scope: staff hold every scope, other logged-in users hold `read`."""
    return isinstance(user, User) and (scope == Scope.READ or user.is_staff)


def holds(user: object, token: object, scope: str) -> bool:
    """Tell whether the user holds the scope and, if the request has a token, the token has it too."""
    return user_holds(user, scope) and (not isinstance(token, ApiToken) or token.allows(scope))


def grantable(user: object, token: object = None) -> list[Scope]:
    """Return the scopes that the caller may grant to a new token: those that the caller holds."""
    return [scope for scope in Scope if holds(user, token, scope)]


class HasScope(BasePermission):
    """`read` for safe methods; for others the view's `write_scope` (default `admin`) or its `action_scopes[action]`.

    `reveal=1`, which puts a password into the response, needs `admin` everywhere; a browser's session also needs a
    recent password confirmation, and so it does for `revealing_actions` of a view. A token that is limited to one
    record is let in to the view's `actions_of_limited_tokens` on that record alone.
    """

    def has_permission(self, request: Request, view: "APIView") -> bool:
        """Tell whether the caller is logged in and holds the scope of the action; `message` explains a refusal."""
        if not request.user or not request.user.is_authenticated:
            return False
        scope = self.scope_of(request, view)
        if not user_holds(request.user, scope):
            self.message = _("this needs the scope %(scope)s, which %(user)s does not hold: ask an admin") % {
                "scope": scope,
                "user": request.user,
            }
        else:
            self.message = _(
                "this needs the scope %(scope)s, which the token lacks: create one with it at /tokens/"
            ) % {"scope": scope}
        if isinstance(request.auth, ApiToken) and request.auth.is_limited:
            return self._is_within_limit(request.auth, scope, view)
        if not holds(request.user, request.auth, scope):
            return False
        self.message = _("you entered your password more than 15 minutes ago: log in again, or use a token")
        shows_secrets = reveals(request) or _is_one_of(view, "revealing_actions")
        return not shows_secrets or request.auth is not None or confirmation.is_recent(request._request)

    def _is_within_limit(self, token: ApiToken, scope: str, view: "APIView") -> bool:
        """Tell whether a token that is limited to one record may do this there; its user holds the scope."""
        self.message = _("the token is limited to the files of one pooler: use another token for this")
        is_its_record = str(view.kwargs.get("pk")) == str(token.limited_to)
        return is_its_record and _is_one_of(view, "actions_of_limited_tokens") and scope in token.scopes

    @staticmethod
    def scope_of(request: Request, view: "APIView") -> str:
        """Return the scope that this method of this view needs."""
        if reveals(request):
            return Scope.ADMIN
        per_action: dict[str, str] = getattr(view, "action_scopes", {})
        default = Scope.READ if request.method in SAFE_METHODS else getattr(view, "write_scope", Scope.ADMIN)
        return per_action.get(getattr(view, "action", "") or "", default)


def _is_one_of(view: "APIView", names: str) -> bool:
    return getattr(view, "action", None) in getattr(view, names, ())


def reveals(request: Request) -> bool:
    """Tell whether the answer shall hold passwords."""
    return is_set(request.query_params.get("reveal"))
