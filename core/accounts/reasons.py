"""Reasons of destructive acts: a sentence that comes with a form or a request, and that a setting can require.

A page names what it destroys in `core.accounts.access.needs`; a view of the API has the names of its actions in
`destructive`, and each DELETE is one, except those in `harmless`. Its `needs_no_reason` spares single requests, such
as a dry run, or the end of what one started oneself.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.http.request import RawPostDataException, UnreadablePostError
from django.shortcuts import render
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.translation import gettext as _
from rest_framework.permissions import BasePermission
from rest_framework.request import Request

from core.lib.errors import DomainError

if TYPE_CHECKING:  # rest_framework.views imports this module, by DEFAULT_PERMISSION_CLASSES
    from django_stubs_ext import StrOrPromise
    from rest_framework.views import APIView

    Destroys = StrOrPromise | Callable[..., StrOrPromise]  # what a POST destroys; asked with the request, if a function

FIELD, HEADER = "audit_reason", "X-Reason"
ASKED = "ask_reason"  # of a button without a field: ask on a page of its own, which names this value
LONGEST = 500
IS_QUESTION = "asks_for_reason"  # marks an answer before which nothing was done


class ReasonRefused(DomainError):
    """A destructive request has no reason although the installation requires one, or one that is too long."""

    status = 400


class GivesReason(BasePermission):
    """The reason of a destructive request, after its permission; whoever may not do it is asked for none."""

    def has_permission(self, request: Request, view: "APIView") -> bool:
        """Raise `ReasonRefused` where the reason is missing or too long."""
        action = getattr(view, "action", None) or (request.method or "").lower()
        if not destroys(view, action, request.method or "") or _is_spared(request, view):
            return True
        if error := fault(given(request._request)):
            text = _("%(error)s; it goes into the header %(header)s, or the option --reason of `pooldeck api`")
            raise ReasonRefused(text % {"error": error, "header": HEADER})
        return True


def destroys(view: object, action: str, method: str) -> bool:
    """Tell whether this action of a view of the API, or this method of one without actions, is destructive."""
    harmless: Iterable[str] = getattr(view, "harmless", ())
    declared: Iterable[str] = getattr(view, "destructive", ())
    return action in declared or (method.upper() == "DELETE" and action not in harmless)


def given(request: HttpRequest) -> str:
    """Return the reason that the request gives, in one line; empty where it gives none."""
    if header := request.headers.get(HEADER, ""):
        return " ".join(_decoded(header).split())
    try:
        return " ".join(request.POST.get(FIELD, "").split())
    except (RawPostDataException, UnreadablePostError):  # its body was read as something else
        return ""


def fault(reason: str) -> str:
    """Return what is wrong with the reason of a destructive act; empty where it is in order."""
    if len(reason) > LONGEST:
        text = _("a reason has at most %(most)s characters: this one has %(count)s")
        return text % {"most": LONGEST, "count": len(reason)}
    if settings.REQUIRE_REASON and not reason:
        return _("give a reason: this installation requires one for each act that destroys something")
    return ""


def page(request: HttpRequest, declared: "Destroys", kwargs: Mapping[str, Any]) -> HttpResponse | None:
    """Return the page that asks for the reason, with all that was sent kept; None where the act can go on.

    It is asked for where one is missing or too long, and where the button that was pressed has no field for it.
    """
    act = declared(request, **kwargs) if callable(declared) else declared
    error = fault(given(request)) if act else ""
    is_asked = FIELD not in request.POST and ASKED in request.POST
    if not act or not (error or is_asked):
        return None
    error = "" if is_asked else error
    context = {
        "act": act,
        "about": request.POST.get(ASKED, ""),
        "error": error,
        "kept": [(name, value) for name, values in request.POST.lists() if name not in _OWN for value in values],
        "back": _back(request),
    }
    answer = render(request, "accounts/reason.html", context, status=422 if error else 200)
    setattr(answer, IS_QUESTION, True)
    return answer


_OWN = {FIELD, ASKED, "csrfmiddlewaretoken"}


def _is_spared(request: Request, view: object) -> bool:
    needs_none: Callable[[Request], bool] | None = getattr(view, "needs_no_reason", None)
    return bool(needs_none and needs_none(request))


def _decoded(header: str) -> str:
    """Return the text of a header that was sent as UTF-8: Django reads headers as Latin-1."""
    try:
        return header.encode("latin-1").decode()
    except UnicodeError:
        return header


def _back(request: HttpRequest) -> str:
    """Return the page that the button was on."""
    address = request.headers.get("Referer", "")
    is_own = url_has_allowed_host_and_scheme(address, {request.get_host()}, require_https=request.is_secure())
    return address if is_own else reverse("dashboard")
