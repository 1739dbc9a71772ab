"""The way to the provider and back, and the link between it and one's own account."""

import secrets
from typing import Any

import requests
from allauth.socialaccount.models import SocialAccount
from allauth.socialaccount.providers.base.constants import AuthProcess
from allauth.socialaccount.providers.oauth2.client import OAuth2Error
from allauth.socialaccount.providers.oauth2.views import OAuth2CallbackView
from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_not_required
from django.contrib.auth.views import LogoutView
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import URLPattern, path
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from core.accounts.access import needs
from core.accounts.confirm_page import needs_confirmation
from core.accounts.permissions import person
from core.accounts.sign_on import group_roles, refusals, sign_out
from core.accounts.sign_on.openid_connect import Provider, ProviderAdapter, app, configured

UNREACHABLE = (requests.RequestException, OAuth2Error, ValueError)


class Callback(OAuth2CallbackView):  # type: ignore[misc]  # allauth carries no types
    """allauth's, which hands the nonce of the state on to what checks the ID token."""

    def _get_state(self, request: HttpRequest, provider: Provider) -> tuple[dict[str, Any] | None, HttpResponse | None]:
        state, refusal = super()._get_state(request, provider)
        self.adapter.expected_nonce = (state or {}).get("nonce", "")
        return state, refusal


@login_not_required
@require_safe
@needs("session.start")
def sign_on(request: HttpRequest) -> HttpResponse:
    """Lead to the provider. Whoever is signed in already is asked there again who they are, if `again` says so."""
    again = {"prompt": "login"} if "again" in request.GET else {}
    if settings.OIDC is None:
        return _without_provider(request)
    if request.user.is_authenticated and not again:
        return redirect(_next(request))
    return _leave(request, AuthProcess.LOGIN, _next(request), again)


@login_not_required
@require_safe
@needs("session.start")
def callback(request: HttpRequest) -> HttpResponse:
    """Come back from the provider, and sign in or link."""
    if settings.OIDC is None:
        return _without_provider(request)
    view = Callback()
    view.request, view.adapter = request, ProviderAdapter(request)
    try:
        answer: HttpResponse = view.dispatch(request)
    except UNREACHABLE as error:  # its description, or an answer that is none
        return refusals.unreachable(request, error)
    return answer


@require_http_methods(["GET", "HEAD", "POST"])
@needs("session.read")
@needs_confirmation
def link(request: HttpRequest) -> HttpResponse:
    """Say what linking means; a POST goes to the provider, and links what it comes back with."""
    if settings.OIDC is None:
        return _without_provider(request)
    if request.method != "POST":
        return render(request, "accounts/sign_on_link.html", {"name": configured().name})
    return _leave(request, AuthProcess.CONNECT, "", {"prompt": "login"})


@require_POST
@needs("session.read")
@needs_confirmation
def unlink(request: HttpRequest, pk: int) -> HttpResponse:
    """End the link, with the roles that its groups gave; a person without a password could sign in no more."""
    user = person(request.user)
    account = get_object_or_404(SocialAccount, pk=pk, user=user)
    if not user.has_usable_password():
        messages.error(request, _("You have no password here, so this is your only way to sign in."))
        return redirect("account-page")
    account.delete()
    group_roles.follow(user, [])
    messages.success(request, _("Your account is no longer linked. The roles that its groups gave you have ended."))
    return redirect("account-page")


class SignOut(LogoutView):
    """The end of the session here, and then at the provider where it began there and the settings ask for it."""

    def post(self, request: HttpRequest, *args: Any, **words: Any) -> HttpResponse:
        """End the session here whatever becomes of that there."""
        token = sign_out.hint(request)
        answer: HttpResponse = super().post(request, *args, **words)
        if token is None:
            return answer
        try:
            there = sign_out.address(request, token)
        except UNREACHABLE:
            there = ""
        if not there:
            text = _("You are signed out here, but maybe not at %(name)s: it could not be asked to end your session.")
            messages.warning(request, text % {"name": configured().name})
            return answer
        return render(request, "accounts/sign_on_leave.html", {"name": configured().name, "to": there})


def _leave(request: HttpRequest, process: str, next_page: str, words: dict[str, str]) -> HttpResponse:
    """Go to the provider by a page, as browsers hold a form's target against the policy through all redirects."""
    nonce = secrets.token_urlsafe(32)
    try:
        answer: HttpResponse = Provider(request, app()).redirect(
            request, process, next_page, auth_params={"nonce": nonce, **words}, nonce=nonce
        )
    except UNREACHABLE as error:
        return refusals.unreachable(request, error)
    if request.method == "POST" and answer.status_code == 302:
        return render(
            request, "accounts/sign_on_leave.html", {"name": configured().name, "to": answer.headers["Location"]}
        )
    return answer


def _next(request: HttpRequest) -> str:
    address = request.GET.get("next", "")
    is_own = url_has_allowed_host_and_scheme(address, {request.get_host()}, require_https=request.is_secure())
    return address if is_own else "/"


def _without_provider(request: HttpRequest) -> HttpResponse:
    """Lead to where one signs in without it."""
    messages.error(request, _("This panel has no OpenID Connect provider."))
    return redirect("account-page" if request.user.is_authenticated else "login")


urlpatterns: list[URLPattern] = [
    path("login/provider/", sign_on, name="sign-on"),
    path("login/provider/callback/", callback, name="sign-on-callback"),
    path("account/provider/link/", link, name="sign-on-link"),
    path("account/provider/<int:pk>/unlink/", unlink, name="sign-on-unlink"),
]
