"""A person's own account: password, second factor, sessions."""

from allauth.mfa.models import Authenticator
from allauth.socialaccount.models import SocialAccount
from django.conf import settings
from django.contrib import messages
from django.contrib.auth import logout, update_session_auth_hash
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from core.accounts import browser_sessions, confirmation
from core.accounts.access import needs
from core.accounts.browser_sessions import BrowserSession
from core.accounts.forms import OwnPasswordForm
from core.accounts.permissions import person

PASSKEY = Authenticator.Type.WEBAUTHN


@require_safe
@needs("session.read")
def account(request: HttpRequest) -> HttpResponse:
    """Show how the person signs in, and the browsers in which they are signed in."""
    user = person(request.user)
    sessions = BrowserSession.objects.filter(user=user).lasting()
    factors = {factor.type: factor for factor in Authenticator.objects.filter(user=user).exclude(type=PASSKEY)}
    codes = factors.get(Authenticator.Type.RECOVERY_CODES)
    context = {
        "sessions": sessions,
        "own_key": request.session.session_key,
        "app": factors.get(Authenticator.Type.TOTP),
        "codes_left": len(codes.wrap().get_unused_codes()) if codes else None,
        "oidc": settings.OIDC,
        "linked": SocialAccount.objects.filter(user=user).order_by("pk"),
        "passkeys": Authenticator.objects.filter(user=user, type=PASSKEY).order_by("created_at"),
    }
    return render(request, "accounts/account.html", context)


@sensitive_post_parameters()
@require_http_methods(["GET", "HEAD", "POST"])
@needs("account.change")
def password_change(request: HttpRequest) -> HttpResponse:
    """Change the person's own password; all their other sessions end."""
    user = person(request.user)
    if not user.has_usable_password():
        messages.error(request, _("You have no password here: you sign in by somebody who vouches for you."))
        return redirect("account-page")
    form = OwnPasswordForm(request, user, request.POST if request.method == "POST" else None)
    if not form.is_valid():
        return render(request, "accounts/password.html", {"form": form}, status=422 if form.is_bound else 200)
    browser_sessions.end_others(request, user)
    form.save()
    update_session_auth_hash(request, user)
    confirmation.note(request)
    messages.success(request, _("Your password is changed. Every other browser that you were signed in with is out."))
    return redirect("account-page")


@require_POST
@needs("session.end")
def session_end(request: HttpRequest, pk: int) -> HttpResponse:
    """End one of the person's sessions, with its event streams."""
    session = get_object_or_404(BrowserSession, pk=pk, user=person(request.user))
    if session.session_key == request.session.session_key:
        logout(request)
        return redirect("login")
    BrowserSession.objects.filter(pk=session.pk).end()
    messages.success(request, _("The session of %(browser)s has ended.") % {"browser": session.browser_name})
    return redirect("account-page")


@require_POST
@needs("session.end")
def sessions_end_others(request: HttpRequest) -> HttpResponse:
    """End all of the person's sessions but this one."""
    ended = browser_sessions.end_others(request, person(request.user))
    message = ngettext("%(count)d other session has ended.", "%(count)d other sessions have ended.", ended)
    messages.success(request, message % {"count": ended})
    return redirect("account-page")
