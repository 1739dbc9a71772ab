"""Who has to have a second factor (POOLDECK_REQUIRE_MFA), and the middleware that lets them do nothing else first."""

from collections.abc import Callable
from typing import Any

from allauth.mfa.models import Authenticator
from django.conf import settings
from django.contrib import messages
from django.contrib.auth.models import User
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect
from django.utils.deprecation import MiddlewareMixin
from django.utils.translation import gettext as _
from django_htmx.http import HttpResponseClientRedirect

from core.accounts.models import Role
from core.accounts.permissions import person
from core.accounts.sign_on import provenance

OPERATORS = [role for role in Role if role.includes(Role.OPERATOR)]
FACTORS = (Authenticator.Type.TOTP, Authenticator.Type.WEBAUTHN)
API = ("/api/", "/v2/")
# pages that lead to a second factor, or log out
OPEN = {
    "account-page",
    "account-confirm",
    "account-password",
    "help",
    "help-page",
    "javascript-catalog",
    "logout",
    "mfa_activate_totp",
    "mfa_add_webauthn",
    "mfa_view_recovery_codes",
}


def factors(user: User) -> "QuerySet[Authenticator]":
    """Return the user's second factors; recovery codes are none by themselves."""
    return all_factors().filter(user=user)


def all_factors() -> "QuerySet[Authenticator]":
    """Return the second factors of all people."""
    found: QuerySet[Authenticator] = Authenticator.objects.filter(type__in=FACTORS)
    return found


def applies_to(user: User) -> bool:
    """Tell whether the panel requires a second factor of the user."""
    if settings.REQUIRE_MFA == "all":
        return True
    if user.is_staff:
        return settings.REQUIRE_MFA != "none"
    return settings.REQUIRE_MFA == "operators" and user.memberships.filter(role__in=OPERATORS).exists()


class SecondFactorRequired(MiddlewareMixin):
    """Leads people who have to set up a second factor there, whatever they ask for; tokens have none."""

    def process_view(
        self, request: HttpRequest, view: Callable[..., HttpResponse], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> HttpResponse | None:
        """Answer instead of the view: 403 below /api/ and /v2/, else a redirect to the account page."""
        if settings.REQUIRE_MFA == "none" or not request.user.is_authenticated:
            return None
        user, page = person(request.user), request.resolver_match.url_name if request.resolver_match else None
        if page in OPEN or _is_open(request, view) or _has_token(request):
            return None
        if not applies_to(user) or factors(user).exists() or provenance.has_second_factor(request):
            return None
        return _refusal(request)


def _is_open(request: HttpRequest, view: Callable[..., HttpResponse]) -> bool:
    """Tell whether the page needs no login; views of the API carry the same mark, and ask for one by themselves."""
    return not getattr(view, "login_required", True) and not request.path.startswith(API)


def _has_token(request: HttpRequest) -> bool:
    """Tell whether the API takes the request by its token, whatever session its browser has."""
    return request.path.startswith(API) and request.headers.get("Authorization", "").lower().startswith("bearer ")


def _refusal(request: HttpRequest) -> HttpResponse:
    message = _("This panel requires a second factor of you: set one up here, and everything else works again.")
    if request.path.startswith(API):
        return JsonResponse(
            {"detail": _("this panel requires a second factor of you: set one up at /account/")}, status=403
        )
    if request.htmx:  # type: ignore[attr-defined]  # the middleware adds it
        return HttpResponseClientRedirect("/account/")
    messages.warning(request, message)
    return redirect("account-page")
