"""Pages of teams: the list, a team with its members, and what changes them."""

from collections.abc import Callable
from typing import TypeVar
from uuid import UUID

from django.contrib import messages
from django.core.paginator import Paginator
from django.db.models import Count, Prefetch
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from core.accounts.access import Access, find, needs
from core.accounts.models import FIRST_TEAM, Membership, Role, Team
from core.accounts.people import teams
from core.accounts.people.errors import InvalidValues, Refused
from core.accounts.people.forms import LeaveForm, MemberForm, PeopleForm, RoleForm, TeamForm

Saved = TypeVar("Saved")
PAGE_SIZE = 50
METHODS = ["GET", "HEAD", "POST"]


@require_safe
@needs("team.view")
def team_list(request: HttpRequest) -> HttpResponse:
    """List the teams that the user sees, with their owners."""
    owners = Membership.objects.filter(role=Role.OWNER).select_related("user").order_by("user__username")
    rows = Team.objects.annotate(members=Count("memberships")).order_by("name")
    rows = rows.prefetch_related(Prefetch("memberships", owners, to_attr="owners"))
    page = Paginator(Access.of(request).visible(rows), PAGE_SIZE).get_page(request.GET.get("page"))
    return render(request, "accounts/team_list.html", {"page": page})


@require_http_methods(METHODS)
@needs("team.manage")
def team_create(request: HttpRequest) -> HttpResponse:
    """Render and accept the form of a new team."""
    form = TeamForm(request.POST or None)
    if request.method == "POST" and (team := _attempt(form, lambda: teams.create(form.cleaned_data["name"]))):
        messages.success(request, _("Team %(team)s is created: add its members.") % {"team": team})
        return redirect("team-detail", team.pk)
    return render(request, "accounts/team_form.html", {"form": form}, status=422 if form.is_bound else 200)


@require_safe
@needs("team.view")
def team_detail(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Show a team: its members with their roles, and what belongs to it."""
    return _detail(request, _get(request, pk), MemberForm())


@require_http_methods(METHODS)
@needs("team.manage")
def team_edit(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Rename a team."""
    team = _get(request, pk)
    before = team.name
    form = TeamForm(request.POST or None, initial={"name": before})
    if request.method == "POST" and (_renamed := _attempt(form, lambda: teams.rename(team, form.cleaned_data["name"]))):
        messages.success(request, _("%(before)s is called %(team)s now.") % {"before": before, "team": team})
        return redirect("team-detail", pk)
    context = {"form": form, "team": team}
    return render(request, "accounts/team_form.html", context, status=422 if form.is_bound else 200)


@require_http_methods(METHODS)
@needs("team.manage", destroys=gettext_lazy("Remove the team"))
def team_delete(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Remove a team after its name was typed; what still belongs to it is named, and then it stays."""
    team = _get(request, pk)
    context: dict[str, object] = {"team": team, "held": teams.holdings(team), "typed": request.POST.get("name")}
    if request.method == "POST" and context["typed"] == team.name:
        try:
            teams.remove(team)
        except Refused as refused:
            return render(request, "accounts/team_delete.html", context | {"refused": str(refused)}, status=409)
        messages.success(request, _("Team %(team)s is removed.") % {"team": team.name})
        return redirect("team-list")
    # Any other answer to a POST would count as an act in the trail.
    return render(request, "accounts/team_delete.html", context, status=422 if request.method == "POST" else 200)


@require_POST
@needs("team.members")
def team_member_add(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Let a person into a team by their user name."""
    team = _get(request, pk)
    form = MemberForm(request.POST)
    added = _attempt(form, lambda: teams.add_member(team, form.cleaned_data["username"], form.cleaned_data["role"]))
    if added is None:
        return _detail(request, team, form, status=422)
    text = _("%(name)s is a member of %(team)s now, as %(role)s.")
    messages.success(request, text % {"name": added.user, "team": team, "role": Role(added.role).label})
    return redirect("team-detail", pk)


@require_http_methods(METHODS)
@needs("team.members")
def team_member_edit(request: HttpRequest, pk: UUID, member: int) -> HttpResponse:
    """Change a member's role."""
    found = _member(request, pk, member)
    last, given = teams.is_last_owner(found), request.POST or None
    form = RoleForm(given, initial={"role": found.role}, is_last_owner=last)
    if request.method == "POST" and form.is_valid():
        try:
            teams.change_role(found, **form.cleaned_data)
        except teams.LastOwner as refused:
            return _member_form(request, found, form, str(refused))
        text = _("%(name)s is %(role)s of %(team)s now.")
        names = {"name": found.user, "role": Role(found.role).label, "team": found.team}
        messages.success(request, text % names)
        return _after(request, found.team)
    return _member_form(request, found, form)


@require_http_methods(METHODS)
@needs("team.members", destroys=gettext_lazy("Remove the member"))
def team_member_remove(request: HttpRequest, pk: UUID, member: int) -> HttpResponse:
    """End a membership after a confirmation."""
    found = _member(request, pk, member)
    form = LeaveForm(request.POST if request.method == "POST" else None, is_last_owner=teams.is_last_owner(found))
    if form.is_valid():
        try:
            teams.remove_member(found, **form.cleaned_data)
        except teams.LastOwner as refused:
            return _member_form(request, found, form, str(refused))
        text = _("%(name)s is not a member of %(team)s any more.")
        messages.success(request, text % {"name": found.user, "team": found.team})
        return _after(request, found.team)
    return _member_form(request, found, form)


def _get(request: HttpRequest, pk: UUID) -> Team:
    return find(request, Team.objects.all(), pk=pk)


def _member(request: HttpRequest, pk: UUID, member: int) -> Membership:
    rows = _get(request, pk).memberships.select_related("user", "team")
    return get_object_or_404(rows, user_id=member)


def _detail(request: HttpRequest, team: Team, form: MemberForm, status: int = 200) -> HttpResponse:
    members = team.memberships.select_related("user").order_by("user__username")
    context = {
        "team": team,
        "page": Paginator(members, PAGE_SIZE).get_page(request.GET.get("page")),
        "form": form,
        "held": teams.holdings(team),
        "is_first": team.pk == FIRST_TEAM,
    }
    return render(request, "accounts/team_detail.html", context, status=status)


def _member_form(request: HttpRequest, found: Membership, form: LeaveForm, refused: str = "") -> HttpResponse:
    """Render the page that changes a member, or that removes one where the form has no role."""
    context = {"member": found, "team": found.team, "form": form, "refused": refused}
    status = 409 if refused else 422 if form.is_bound else 200
    return render(request, "accounts/team_member.html", context, status=status)


def _after(request: HttpRequest, team: Team) -> HttpResponse:
    """Lead back to the team, or to the start where the user has taken their own role in it away."""
    access = Access(request.user)  # the request's own knows the roles before
    return redirect("team-detail", team.pk) if access.may("team.view", team) else redirect("dashboard")


def _attempt(form: PeopleForm, verb: Callable[[], Saved]) -> Saved | None:
    """Call the verb where the form is valid; None where it is not, with the errors in the form."""
    if not form.is_valid():
        return None
    try:
        return verb()
    except InvalidValues as error:
        form.add_errors(error.errors)
        return None
