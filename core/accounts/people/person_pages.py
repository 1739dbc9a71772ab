"""Pages of people, for administrators: the list, and a person with what can be done about them."""

from collections.abc import Callable

from django.contrib import messages
from django.contrib.auth.models import User
from django.core.paginator import Paginator
from django.db.models import Q
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from core.accounts.access import needs
from core.accounts.confirm_page import needs_confirmation
from core.accounts.models import ApiToken, BrowserSession
from core.accounts.people import persons
from core.accounts.people.errors import Refused
from core.accounts.permissions import person
from core.accounts.second_factor import requirement
from core.accounts.sign_on import provenance

PAGE_SIZE = 50


@require_safe
@needs("person.manage")
def person_list(request: HttpRequest) -> HttpResponse:
    """List all people, or those whose name or address has the words of `q`."""
    rows, query = persons.listed(), request.GET.get("q", "").strip()
    if query:
        rows = rows.filter(Q(username__icontains=query) | Q(email__icontains=query))
    page = Paginator(rows, PAGE_SIZE).get_page(request.GET.get("page"))
    return render(request, "accounts/person_list.html", {"page": page, "query": query})


@require_safe
@needs("person.manage")
def person_detail(request: HttpRequest, pk: int) -> HttpResponse:
    """Show a person: how they sign in, their teams, and what an administrator can change."""
    found = get_object_or_404(persons.listed(), pk=pk)
    context = {
        "person": found,
        "sessions": BrowserSession.objects.filter(user=found).lasting().count(),
        "tokens": ApiToken.objects.usable().filter(user=found).count(),
    }
    return render(request, "accounts/person_detail.html", context)


@require_POST
@needs("person.manage")
def person_promote(request: HttpRequest, pk: int) -> HttpResponse:
    """Make a person an administrator."""
    return _change(
        request,
        pk,
        lambda user: persons.make_admin(user, by=person(request.user)),
        _("%(name)s is an administrator now."),
    )


@require_POST
@needs("person.manage", destroys=gettext_lazy("Take the right of administrators away"))
def person_demote(request: HttpRequest, pk: int) -> HttpResponse:
    """Let a person be no administrator any more."""
    return _change(request, pk, persons.unmake_admin, _("%(name)s is not an administrator any more."))


@require_POST
@needs("person.manage", destroys=gettext_lazy("Deactivate the account"))
def person_deactivate(request: HttpRequest, pk: int) -> HttpResponse:
    """End a person's sessions, and refuse their logins and tokens."""
    text = _("%(name)s is deactivated: their sessions have ended, and their tokens are refused.")
    return _change(request, pk, lambda user: persons.deactivate(user, by=person(request.user)), text)


@require_POST
@needs("person.manage")
def person_reactivate(request: HttpRequest, pk: int) -> HttpResponse:
    """Let a person log in again."""
    return _change(request, pk, persons.reactivate, _("%(name)s can log in again, and their tokens work again."))


@require_http_methods(["GET", "HEAD", "POST"])
@needs("person.manage", destroys=gettext_lazy("Reset the second factor"))
@needs_confirmation
def person_reset_second_factor(request: HttpRequest, pk: int) -> HttpResponse:
    """Confirm, then remove the second factor of a person who lost it; who asks has one and proved it shortly before."""
    found, own = get_object_or_404(persons.listed(), pk=pk), person(request.user)
    by_has_one = requirement.factors(own).exists() or provenance.has_second_factor(request)
    if request.method != "POST":
        return render(request, "accounts/person_reset_second_factor.html", {"person": found, "has_own": by_has_one})
    try:
        mail_error = persons.reset_second_factor(found, own, by_has_one=by_has_one)
    except Refused as refused:
        messages.error(request, str(refused))
        return redirect("person-detail", pk)
    text = _("The second factor of %(name)s is removed, and their sessions have ended: their password alone logs in.")
    messages.success(request, text % {"name": found})
    if mail_error:
        messages.warning(request, _("They were not told by mail: %(reason)s.") % {"reason": mail_error})
    return redirect("person-detail", pk)


def _change(request: HttpRequest, pk: int, verb: Callable[[User], object], done: str) -> HttpResponse:
    found = get_object_or_404(persons.people(), pk=pk)
    try:
        verb(found)
    except Refused as refused:
        messages.error(request, str(refused))
    else:
        messages.success(request, done % {"name": found})
    if found.pk == request.user.pk and not found.is_staff:
        return redirect("dashboard")  # they took the right to see this away from themselves
    return redirect("person-detail", pk)
