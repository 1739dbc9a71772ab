"""The pages of experiments: playbooks to start, arms that fill in, verdicts, reports and their trend."""

from uuid import UUID

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_POST, require_safe

from benchmarks.errors import BenchmarksError
from benchmarks.experiments import dispatch, library, more_blocks, other_host, start
from benchmarks.experiments.library import UnknownPlaybook
from benchmarks.experiments.playbook import InvalidPlaybook, PlaybookSpec
from benchmarks.experiments.report import advice, files, presentation, trend
from benchmarks.forms import form_errors
from benchmarks.forms.experiments import ExperimentForm, MoreBlocksForm, PlaybookForm
from benchmarks.models import Experiment
from core.accounts.access import Access, find, needs
from core.accounts.models import Scope
from core.accounts.people.ownership import chosen_team, offer_team
from core.accounts.permissions import person, user_holds
from core.accounts.team_lists import chosen_team as chosen_team_of_list
from core.lib.errors import DomainError
from core.lib.long_lists import LongList
from pools.models import Cluster

PAGE_SIZE = 25
PAST = 10


@require_safe
@needs("experiment.view")
def experiment_list(request: HttpRequest) -> HttpResponse:
    """Show the playbooks to start, and the experiments so far, the latest first."""
    access = Access.of(request)
    owners = ("cluster__team", "team") if access.has_several_teams else ()
    found = access.visible(Experiment.objects.select_related("cluster", *owners))
    team = chosen_team_of_list(request)
    page = LongList(found.of_team(team) if team else found, PAGE_SIZE).get_page(request.GET.get("page"))
    teams = library.teams(access) if access.has_several_teams else {}
    listed = [(spec, teams.get(spec.name)) for spec in library.listed(access)]
    shown = [(spec, own) for spec, own in listed if team is None or own is None or own.pk == team]
    return render(request, "benchmarks/experiment_list.html", {"page": page, "playbooks": shown})


@require_safe
@needs("experiment.view")
def experiment_detail(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Show one experiment; its live part alone where htmx asks for it."""
    experiment = find(request, Experiment.objects.select_related("cluster", "pooler"), pk=pk)
    is_part = request.headers.get("HX-Target") == "experiment-live"
    context = {
        "experiment": experiment,
        "is_part": is_part,
        "shown": presentation.show(experiment),
        "conditions": presentation.conditions(experiment),
        "trend": None if is_part else trend.of(experiment),
        "again_url": _again_url(experiment, Access.of(request)),
        "more_form": _more_form(experiment),
    }
    return render(request, f"benchmarks/{'includes/experiment_live' if is_part else 'experiment_detail'}.html", context)


def _more_form(experiment: Experiment) -> MoreBlocksForm | None:
    """Return the form that asks for more blocks; None where none can be measured."""
    return None if more_blocks.refusal(experiment) else MoreBlocksForm()


@require_POST
@needs("experiment.start")
def experiment_more(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Measure more blocks, also of an experiment that has ended."""
    experiment, form = find(request, Experiment.objects.all(), pk=pk), MoreBlocksForm(request.POST)
    is_admin = user_holds(request.user, Scope.ADMIN)
    try:
        if form.is_valid():
            more_blocks.measure_more(experiment, **form.cleaned_data, is_admin=is_admin)
        else:
            messages.error(request, " ".join(str(error) for errors in form.errors.values() for error in errors))
    except DomainError as error:
        messages.error(request, str(error))
    return redirect("experiment-detail", experiment.pk)


@require_POST
@needs("experiment.start")
def experiment_without(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Start the experiment again without the arms that could not be measured."""
    experiment = find(request, Experiment.objects.select_related("cluster", "pooler"), pk=pk)
    confirm, is_admin = request.POST.get("confirm", ""), user_holds(request.user, Scope.ADMIN)
    try:
        again = start.without_skipped(
            experiment, person(request.user), confirm, is_admin=is_admin, access=Access.of(request)
        )
    except DomainError as error:
        messages.error(request, str(error))
        return redirect("experiment-detail", experiment.pk)
    return redirect("experiment-detail", again.pk)


def _again_url(experiment: Experiment, access: Access) -> str:
    """Return the page that starts it again: its playbook, or the questions about its pool; empty if that is gone."""
    if not experiment.advice:
        known = experiment.playbook in {spec.name for spec in library.listed(access)}
        return reverse("playbook-detail", args=[experiment.playbook]) if known else ""
    pool = advice.pool_of(experiment)
    return f"{reverse('advice-ask', args=[pool.pk])}?question={experiment.advice['question']}" if pool else ""


@require_safe
@needs("experiment.view")
def experiment_report(request: HttpRequest, pk: UUID, kind: str) -> HttpResponse:
    """Answer the report as a file."""
    experiment = find(request, Experiment.objects.select_related("cluster", "pooler"), pk=pk)
    if kind not in files.MAKERS:
        raise Http404(f"no report as {kind}")
    content_type, make = files.MAKERS[kind]
    response = HttpResponse(make(experiment), content_type=content_type)
    name = f"pooldeck-experiment-{experiment.number}.{kind}"
    response["Content-Disposition"] = f'attachment; filename="{name}"'
    return response


def _stops_another_s(request: HttpRequest, pk: UUID) -> str:
    is_own = Experiment.objects.filter(pk=pk, author=person(request.user)).exists()
    return "" if is_own else _("Cancel the experiment")


@require_POST
@needs("experiment.start", destroys=_stops_another_s)
def experiment_cancel(request: HttpRequest, pk: UUID) -> HttpResponse:
    """End an experiment; what was measured stays, what was made is removed."""
    experiment = find(request, Experiment.objects.all(), pk=pk)
    if experiment.request_cancel():
        dispatch.request_advance()
        messages.success(request, _("The experiment is being cancelled: what was measured until now is kept."))
    else:
        messages.error(request, _("The experiment has ended already: there is nothing left to cancel."))
    return redirect("experiment-detail", experiment.pk)


@needs("playbook.view", post="experiment.start")
def playbook_detail(request: HttpRequest, name: str) -> HttpResponse:
    """Show what a playbook says, and start it."""
    access = Access.of(request)
    spec = _spec(name, access)
    initial = {"cluster": access.visible(Cluster.objects.all()).first()}
    form = ExperimentForm(request.POST or None, initial=initial, access=access)
    if request.method == "POST":
        return _started(request, spec, form)
    return _playbook_page(request, spec, form)


def _started(request: HttpRequest, spec: PlaybookSpec, form: ExperimentForm) -> HttpResponse:
    if form.is_valid():
        try:
            is_admin = user_holds(request.user, Scope.ADMIN)
            experiment = start.start(form.request(spec.name, person(request.user), is_admin=is_admin))
        except DomainError as error:
            form_errors.add_to(form, error)
        else:
            return redirect("experiment-detail", experiment.pk)
    return _playbook_page(request, spec, form, status=400)


def _playbook_page(request: HttpRequest, spec: PlaybookSpec, form: ExperimentForm, status: int = 200) -> HttpResponse:
    whole = spec.arms(quick=False)
    quick = spec.arms(quick=True)
    in_quick = {arm.key for arm in quick}
    is_built_in, access = spec.name in library.BUILT_IN, Access.of(request)
    context = {
        "spec": spec,
        "form": form,
        "quick": quick,
        "further": [arm for arm in whole if arm.key not in in_quick],
        "only_quick": in_quick - {arm.key for arm in whole},
        "columns": [
            (key, *presentation.column(key)) for key in spec.metrics if any(key in arm.published for arm in whole)
        ],
        "needs": library.needs_in_words(spec),
        "other_host": other_host.describe(spec),
        "changes": [*start.changes(spec, quick), *start.sessions_to_end(spec, _chosen_cluster(form))],
        "is_built_in": is_built_in,
        # one more query, or two, where there are several teams
        "added": library.added(spec.name, access) if not is_built_in and access.has_several_teams else None,
        "past": access.visible(Experiment.objects.all()).filter(playbook=spec.name, advice={})[:PAST],
    }
    return render(request, "benchmarks/playbook_detail.html", context, status=status)


def _chosen_cluster(form: ExperimentForm) -> Cluster | None:
    """Return the cluster that the form names: the one typed, else the one that it begins with."""
    chosen = form.cleaned_data.get("cluster") if form.is_bound else form.initial.get("cluster")
    return chosen if isinstance(chosen, Cluster) else None


@needs("playbook.change")
def playbook_create(request: HttpRequest) -> HttpResponse:
    """Add a playbook as text or as a file; `?like=` begins with another's text."""
    form = PlaybookForm(request.POST or None, request.FILES or None, initial={"toml": _like(request)})
    offer_team(request, form, "playbook.change", is_preset=True)
    if request.method == "POST" and form.is_valid():
        try:
            is_admin = user_holds(request.user, Scope.ADMIN)
            team = chosen_team(request, form, "playbook.change")
            spec = library.add(form.text(), person(request.user), is_admin=is_admin, team=team)
            return redirect("playbook-detail", spec.name)
        except InvalidPlaybook as error:
            form_errors.add_to(form, error)
    context = {"form": form, "playbooks": library.listed(Access.of(request))}
    status = 400 if request.method == "POST" else 200
    return render(request, "benchmarks/playbook_form.html", context, status=status)


def _like(request: HttpRequest) -> str:
    """Return the text of the playbook to begin with, under a name that is not taken yet; empty where none is named."""
    name = request.GET.get("like")
    return _spec(name, Access.of(request)).text.replace(f'name = "{name}"', f'name = "my-{name}"', 1) if name else ""


@require_POST
@needs("playbook.change", destroys=gettext_lazy("Remove the playbook"))
def playbook_delete(request: HttpRequest, name: str) -> HttpResponse:
    """Forget a user's playbook; its experiments stay."""
    try:
        library.remove(name, Access.of(request))
    except UnknownPlaybook as error:
        raise Http404(str(error)) from None
    except BenchmarksError as error:
        messages.error(request, str(error))
        return redirect("playbook-detail", name)
    messages.success(request, _("Playbook %(name)s is removed; its experiments stay.") % {"name": name})
    return redirect("experiment-list")


def _spec(name: str, access: Access) -> PlaybookSpec:
    try:
        return library.find(name, access)
    except UnknownPlaybook as error:
        raise Http404(str(error)) from None
