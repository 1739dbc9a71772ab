"""The page on which people prove again who they are: by password, by a code, or by a passkey."""

from functools import wraps
from typing import Any

from allauth.mfa.base.forms import ReauthenticateForm
from allauth.mfa.models import Authenticator
from allauth.mfa.webauthn.forms import ReauthenticateWebAuthnForm
from allauth.mfa.webauthn.internal.auth import begin_authentication
from allauth.socialaccount.models import SocialAccount
from django.conf import settings
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme, urlencode
from django.utils.translation import gettext as _
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods

from core.accounts import confirmation, lockout
from core.accounts.access import View, needs
from core.accounts.permissions import person


def needs_confirmation(view: View) -> View:
    """Lead to the page that asks who one is, unless that was proved within the last 15 minutes."""

    @wraps(view)
    def guarded(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        if confirmation.is_recent(request):
            return view(request, *args, **kwargs)
        return redirect(f"{reverse('account-confirm')}?{urlencode({'next': request.path})}")

    return guarded


@sensitive_post_parameters()
@require_http_methods(["GET", "HEAD", "POST"])
@needs("session.read")
def confirm_page(request: HttpRequest) -> HttpResponse:
    """Ask for one of the proofs that the person has, then go on to `next`."""
    user = person(request.user)
    next_page = _safe(request, request.POST.get("next") or request.GET.get("next") or "")
    context: dict[str, object] = {"next": next_page}
    if request.method == "POST":
        if refusal := lockout.refusal(request, user.get_username()):
            return refusal
        if error := _error_of(request, user):
            context["error"] = error
        else:
            confirmation.note(request)
            return redirect(next_page)
    types = set(Authenticator.objects.filter(user=user).values_list("type", flat=True))
    context |= {
        "has_password": user.has_usable_password(),
        "oidc": settings.OIDC if SocialAccount.objects.filter(user=user).exists() else None,
        "has_codes": bool(types - {Authenticator.Type.WEBAUTHN}),
        "passkey_options": begin_authentication(user) if Authenticator.Type.WEBAUTHN in types else None,
    }
    return render(request, "accounts/confirm.html", context, status=422 if "error" in context else 200)


def _error_of(request: HttpRequest, user: User) -> str:
    """Return why the proof that was sent is none, empty where it is one. Failures count as those of logins do."""
    if "password" in request.POST:
        return "" if confirmation.confirm(request, request.POST["password"]) else _("That is not your password.")
    form_class = ReauthenticateWebAuthnForm if "credential" in request.POST else ReauthenticateForm
    form = form_class(request.POST, user=user)
    if form.is_valid():
        form.save()
        return ""
    lockout.count_failure(request, user.get_username())
    return str(next(iter(form.errors.values()))[0])


def _safe(request: HttpRequest, address: str) -> str:
    is_own = url_has_allowed_host_and_scheme(address, {request.get_host()}, require_https=request.is_secure())
    return address if is_own else reverse("account-page")
