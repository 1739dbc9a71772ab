"""The pages of settings profiles: the list, a check of one against a cluster, and the wizard that proposes one."""

from uuid import UUID

from django.contrib import messages
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_safe

from benchmarks.errors import IllegalTransition
from benchmarks.forms.profiles import CONNECTIONS, ProfileForm, ProposalForm, initial_of
from benchmarks.library.settings_profiles import restart, store, validation
from benchmarks.library.settings_profiles.gate import NotAllowed
from benchmarks.library.settings_profiles.parsing import written
from benchmarks.library.settings_profiles.store import InvalidProfile
from benchmarks.library.settings_profiles.suggestion import propose
from benchmarks.models import AppliedProfile, SettingsProfile
from core.accounts.access import Access, find, needs
from core.accounts.models import Scope
from core.accounts.people.ownership import chosen_team, offer_team
from core.accounts.permissions import person, user_holds
from core.accounts.team_lists import of_team
from core.lib.query_params import id_of
from pools.errors import ClusterUnreachable
from pools.models import Cluster

PAGE_SIZE = 50


@require_safe
@needs("profile.view")
def profile_list(request: HttpRequest) -> HttpResponse:
    """List all profiles by name, and those that are in force on a cluster now."""
    access = Access.of(request)
    profiles = of_team(request, access.visible(SettingsProfile.objects.select_related("team")))
    page = Paginator(profiles, PAGE_SIZE).get_page(request.GET.get("page"))
    current = access.visible(AppliedProfile.objects.all()).filter(restored_at=None).select_related("run", "cluster")
    return render(request, "benchmarks/profile_list.html", {"page": page, "in_force": current})


@require_safe
@needs("profile.view")
def profile_detail(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Show a profile's settings; with `cluster`, each one checked against that server."""
    profile = find(request, SettingsProfile.objects.all(), pk=pk)
    context: dict[str, object] = {
        "profile": profile,
        "clusters": Access.of(request).visible(Cluster.objects.all())[:200],
    }
    cluster = _cluster_asked(request)
    if cluster is not None:
        context |= {"cluster": cluster} | _judged(cluster, profile, user_holds(request.user, Scope.ADMIN))
    return render(request, "benchmarks/profile_detail.html", context)


def _cluster_asked(request: HttpRequest) -> Cluster | None:
    key = id_of(request.GET.get("cluster", ""))
    return Access.of(request).visible(Cluster.objects.all()).filter(pk=key).first() if key else None


def _judged(cluster: Cluster, profile: SettingsProfile, is_admin: bool) -> dict[str, object]:
    try:
        verdict = validation.check(cluster, profile.values, is_admin=is_admin)
        return {"verdict": verdict, "may_restart": restart.command_for(cluster) is not None}
    except ClusterUnreachable as error:
        return {"unreachable": str(error)}


@needs("profile.change")
def profile_create(request: HttpRequest) -> HttpResponse:
    """Show and save the form of a new profile; a proposal prefills it."""
    form = ProfileForm(request.POST or None, initial=_proposed(request))
    offer_team(request, form, "profile.change", is_preset=True)
    if request.method == "POST" and form.is_valid() and (profile := _saved(form, None, request)):
        return redirect("profile-detail", profile.pk)
    return render(request, "benchmarks/profile_form.html", {"form": form})


@needs("profile.change")
def profile_edit(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Show and save the form of an existing profile."""
    profile = find(request, SettingsProfile.objects.all(), pk=pk)
    form = ProfileForm(request.POST or None, initial=initial_of(profile))
    if request.method == "POST" and form.is_valid() and _saved(form, profile, request):
        return redirect("profile-detail", pk)
    return render(request, "benchmarks/profile_form.html", {"form": form, "profile": profile})


@needs("profile.change", destroys=gettext_lazy("Delete the settings profile"))
def profile_delete(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Delete a profile after a confirmation; runs that used it keep their values."""
    profile = find(request, SettingsProfile.objects.all(), pk=pk)
    if request.method != "POST":
        return render(request, "benchmarks/profile_delete.html", {"profile": profile})
    try:
        store.remove(profile)
    except IllegalTransition as error:
        messages.error(request, str(error))
        return redirect("profile-detail", pk)
    messages.success(request, _("The settings profile %(name)s was deleted.") % {"name": profile.name})
    return redirect("profile-list")


@require_safe
@needs("profile.change")
def profile_propose(request: HttpRequest) -> HttpResponse:
    """Propose a profile with its memory budget for a described machine."""
    cluster = _cluster_asked(request)
    is_proposed = "memory_mb" in request.GET
    form = ProposalForm(
        _filled(request, cluster) if is_proposed else None, initial=_machine_of(cluster), access=Access.of(request)
    )
    context: dict[str, object] = {"form": form}
    if is_proposed and form.is_valid():
        machine = {name: form.cleaned_data[name] for name in ("memory_mb", "cpus", "disk", "max_connections")}
        proposal = propose(**machine)
        context |= {"proposal": proposal, "text": written(proposal.values)}
    return render(request, "benchmarks/profile_propose.html", context)


def _filled(request: HttpRequest, cluster: Cluster | None) -> dict[str, object]:
    """Fill empty fields with what the panel knows of the chosen cluster."""
    typed = {name: value for name, value in request.GET.items() if str(value).strip()}
    return {"max_connections": CONNECTIONS} | _machine_of(cluster) | typed


def _machine_of(cluster: Cluster | None) -> dict[str, object]:
    """Return the known facts of a cluster's machine, by form field."""
    if cluster is None:
        return {}
    status = getattr(cluster, "status", None)
    known = {"memory_mb": cluster.memory_mb, "cpus": cluster.vcpus}
    known["max_connections"] = status.max_connections if status else None
    return {"cluster": cluster.pk} | {name: value for name, value in known.items() if value}


def _proposed(request: HttpRequest) -> dict[str, object]:
    return {name: request.GET[name] for name in ("name", "description", "values") if name in request.GET}


def _saved(form: ProfileForm, profile: SettingsProfile | None, request: HttpRequest) -> SettingsProfile | None:
    """Save the profile; return None and add the errors to the form if it is invalid."""
    values = {name: form.cleaned_data[name] for name in ("name", "values", "description")}
    author = person(request.user)
    is_admin = user_holds(author, Scope.ADMIN)
    try:
        if profile:
            return store.change(profile, **values, is_admin=is_admin)
        team = chosen_team(request, form, "profile.change")
        return store.create(**values, author=author, is_admin=is_admin, team=team)
    except (InvalidProfile, NotAllowed) as error:
        form.add_errors(error.errors)
        return None
