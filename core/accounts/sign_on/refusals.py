"""Pages that say why a sign-on was refused, and what helps. Each refusal of a person is in the trail."""

import logging

import requests
from allauth.socialaccount.providers.base.constants import AuthError
from django.conf import settings
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext as _

from core.accounts.sign_on.configuration import Voucher
from core.accounts.sign_on.openid_connect import configured
from core.audit.recording import Subject, record

logger = logging.getLogger(__name__)


def contact() -> str:
    """Return whom people ask who are refused."""
    return settings.SIGN_ON_CONTACT or _("an administrator of this panel")


def without_group(request: HttpRequest, voucher: Voucher, username: str, groups: list[str]) -> HttpResponse:
    """Name the groups that were seen, none of which gives a role here."""
    text = _("%(name)s says that you are %(username)s, but none of your groups gives you a role in this panel.")
    text %= {"name": voucher.name, "username": username}
    remedy = _("Ask %(contact)s to add you to one that does, or to give one of these a role.")
    seen = {"groups": groups, "lists_groups": True}
    return _refused(request, username, _("You have no access yet"), text, remedy % {"contact": contact()}, **seen)


def name_taken(request: HttpRequest, voucher: Voucher, username: str) -> HttpResponse:
    """Say that an account of this name exists, which only its owner can link."""
    text = _("This panel has an account %(username)s already, and %(name)s does not prove that it is yours.")
    remedy = _(
        "Log in to it by its password, then link it on your account page. Where it is not yours, ask %(contact)s."
    )
    text %= {"name": voucher.name, "username": username}
    return _refused(request, username, _("The user name is taken"), text, remedy % {"contact": contact()})


def name_invalid(request: HttpRequest, voucher: Voucher, username: str) -> HttpResponse:
    """Say that nobody can have this user name."""
    text = _("%(name)s calls you %(username)s, which can’t be a user name here: letters, digits and @ . + - _ can.")
    text %= {"name": voucher.name, "username": username[:200]}
    remedy = _("Ask %(contact)s to take the user name from another claim.") % {"contact": contact()}
    return _refused(request, "", _("The user name can’t be used"), text, remedy)


def inactive(request: HttpRequest, user: User) -> HttpResponse:
    """Say that somebody deactivated the account."""
    text = _("Your account %(username)s is deactivated.") % {"username": user.username}
    remedy = _("Ask %(contact)s.") % {"contact": contact()}
    return _refused(request, user.username, _("You can’t sign in"), text, remedy)


def of_another(request: HttpRequest, owner: User) -> HttpResponse:
    """Say that what was to be linked belongs to another account."""
    text = _("That account of %(name)s signs in to another account of this panel.") % {"name": configured().name}
    remedy = _("Sign out there as that person, and try again as yourself; or ask %(contact)s.") % {"contact": contact()}
    return _refused(request, owner.username, _("It is linked already"), text, remedy)


def of_error(request: HttpRequest, error: str, exception: Exception | None) -> HttpResponse:
    """Say what went wrong between the panel and the provider; the log has the rest."""
    name = configured().name
    if error == AuthError.CANCELLED:
        text = _("The sign-in at %(name)s was canceled, there or by you.") % {"name": name}
        return _page(request, _("You are not signed in"), text, _("Try again, or log in by a password."), 403)
    if isinstance(exception, requests.RequestException):
        return unreachable(request, exception)
    logger.warning("sign-in by %s failed: %s", name, exception or request.GET.get("error", "unknown state"))
    if exception is None:
        text = _("This sign-in was begun in another browser, more than 10 minutes ago, or was used already.")
        return _page(request, _("This sign-in is no longer good"), text, _("Begin it again on the login page."), 403)
    text = _("What %(name)s answered did not prove who you are.") % {"name": name}
    remedy = _("Try again. If it stays, ask %(contact)s, who finds the reason in the log of the panel.")
    return _page(request, _("The sign-in failed"), text, remedy % {"contact": contact()}, 403)


def unreachable(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Say that the provider does not answer; passwords still work."""
    name = configured().name
    logger.error("%s can't be asked: %s", configured().issuer, exception)
    text = _("%(name)s does not answer this panel, or not as an OpenID Connect provider does.") % {"name": name}
    remedy = _("Try again in a minute. Who has a password here can log in by it meanwhile; else ask %(contact)s.")
    return _page(request, _("%(name)s can’t be reached") % {"name": name}, text, remedy % {"contact": contact()}, 503)


def _refused(
    request: HttpRequest, username: str, title: str, text: str, remedy: str, **context: object
) -> HttpResponse:
    user = User.objects.filter(username=username).first()
    subject = Subject("person", str(user.pk) if user else "", username)
    record("person.sign_in", subject, outcome=f"refused: {text}")
    return _page(request, title, text, remedy, 403, **context)


def _page(request: HttpRequest, title: str, text: str, remedy: str, status: int, **context: object) -> HttpResponse:
    words = {"title": title, "text": text, "remedy": remedy}
    return render(request, "accounts/sign_on_refused.html", words | context, status=status)
