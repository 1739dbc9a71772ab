"""Pages of invitations: the open ones, a new one whose link is shown once, and the page that the link leads to."""

from datetime import timedelta
from uuid import UUID

from django.contrib import messages
from django.contrib.auth import login
from django.contrib.auth.decorators import login_not_required
from django.contrib.auth.forms import UserCreationForm
from django.contrib.auth.models import User
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from core.accounts import confirmation, mails
from core.accounts.access import Access, allow, find, needs
from core.accounts.first_admin import LinkRefused
from core.accounts.first_admin_page import BACKEND
from core.accounts.models import Invitation
from core.accounts.people import invitations
from core.accounts.people.errors import Refused
from core.accounts.people.forms import InvitationForm
from core.accounts.permissions import person
from core.lib import crypto

PAGE_SIZE = 50
KEPT_AS = "invitation_token"
METHODS = ["GET", "HEAD", "POST"]


@require_safe
@needs("team.members")
def invitation_list(request: HttpRequest) -> HttpResponse:
    """List the open invitations into the teams that the user owns."""
    teams = Access.of(request).teams("team.members")
    rows = Invitation.objects.open().filter(team__in=teams).select_related("team", "invited_by")
    page = Paginator(rows, PAGE_SIZE).get_page(request.GET.get("page"))
    return render(request, "accounts/invitation_list.html", {"page": page})


@never_cache
@require_http_methods(METHODS)
@needs("team.members")
def invitation_create(request: HttpRequest) -> HttpResponse:
    """Render and accept the form of a new invitation; its link is in the response to the form, and never again."""
    teams = Access.of(request).teams("team.members")
    initial = {"team": request.GET.get("team") or teams.first()}
    form = InvitationForm(request.POST if request.method == "POST" else None, initial=initial, teams=teams)
    if not form.is_valid():
        status = 422 if form.is_bound else 200
        return render(request, "accounts/invitation_form.html", {"form": form}, status=status)
    values = form.cleaned_data
    allow(request, values["team"])
    lifetime = timedelta(days=values["lifetime_days"])
    invitation, link = invitations.issue(
        values["team"], values["role"], person(request.user), email=values["email"], lifetime=lifetime
    )
    is_mailed = bool(invitation.email) and mails.is_sent()
    not_sent = invitations.mail(invitation, link) if is_mailed else ""
    context = {"invitation": invitation, "link": link, "is_mailed": is_mailed and not not_sent, "not_sent": not_sent}
    return render(request, "accounts/invitation_made.html", context)


@require_POST
@needs("team.members", destroys=gettext_lazy("Revoke the invitation"))
def invitation_revoke(request: HttpRequest, pk: UUID) -> HttpResponse:
    """End an invitation, whose link then says that it was revoked."""
    invitation = find(request, Invitation.objects.select_related("team"), pk=pk)
    try:
        invitations.revoke(invitation)
    except Refused as refused:
        messages.error(request, str(refused))
    else:
        messages.success(request, _("The invitation into %(team)s is revoked.") % {"team": invitation.team})
    return redirect("invitation-list")


@login_not_required
@sensitive_post_parameters()
@never_cache
@require_http_methods(METHODS)
@needs("session.start")
def invitation_accept(request: HttpRequest) -> HttpResponse:
    """Take the token out of the address, then the form; an address without a good link answers 410 with the reason."""
    if token := request.GET.get("token"):
        # The session carries it on, so that it stands neither in the history nor in a Referer, and sealed, so that
        # whoever reads the metadata database can't use it.
        request.session[KEPT_AS] = crypto.seal(token, KEPT_AS)
        return redirect("invitation-accept")
    form: UserCreationForm[User] = UserCreationForm(request.POST if request.method == "POST" else None)
    context: dict[str, object] = {"form": form}
    try:
        context["invitation"] = invitations.verify(_kept(request))
        if request.user.is_authenticated:
            return render(request, "accounts/invitation_accept.html", context | {"signed_in": True}, status=409)
        if form.is_valid():
            return _accept(request, form)
    except LinkRefused as refused:
        return render(request, "accounts/invitation_accept.html", {"refused": str(refused)}, status=410)
    return render(request, "accounts/invitation_accept.html", context, status=422 if form.is_bound else 200)


def _kept(request: HttpRequest) -> str:
    return crypto.unseal(request.session.get(KEPT_AS, ""), KEPT_AS)


def _accept(request: HttpRequest, form: "UserCreationForm[User]") -> HttpResponse:
    user = form.save(commit=False)
    invitations.accept(user, _kept(request))
    del request.session[KEPT_AS]
    login(request, user, backend=BACKEND)
    confirmation.note(request)
    return redirect("dashboard")
