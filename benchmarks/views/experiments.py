"""The pages of experiments: playbooks to start, arms that fill in, verdicts, reports and their trend."""

from typing import Any
from uuid import UUID

from django.contrib import messages
from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from benchmarks.errors import BenchmarksError
from benchmarks.experiments import dispatch, library, results, start
from benchmarks.experiments.library import UnknownPlaybook
from benchmarks.experiments.playbook import InvalidPlaybook, PlaybookSpec
from benchmarks.experiments.report import advice, files, presentation
from benchmarks.experiments.start import ExperimentRequest
from benchmarks.forms import form_errors
from benchmarks.forms.experiments import ExperimentForm, PlaybookForm
from benchmarks.models import Experiment, metrics
from panel.accounts.permissions import person
from panel.lib.access import staff_only
from pools.errors import PoolsError
from pools.models import Cluster

PAGE_SIZE = 25
TREND = 10


@require_safe
def experiment_list(request: HttpRequest) -> HttpResponse:
    """Show the playbooks to start, and the experiments so far, the latest first."""
    found = Experiment.objects.select_related("cluster")
    page = Paginator(found, PAGE_SIZE).get_page(request.GET.get("page"))
    return render(request, "benchmarks/experiment_list.html", {"page": page, "playbooks": library.listed()})


@require_safe
def experiment_detail(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Show one experiment; its live part alone where htmx asks for it."""
    experiment = get_object_or_404(Experiment.objects.select_related("cluster", "pooler"), pk=pk)
    context = {
        "experiment": experiment,
        "shown": presentation.show(experiment),
        "conditions": presentation.conditions(experiment),
        "trend": _trend(experiment),
        "again_url": _again_url(experiment),
    }
    part = request.headers.get("HX-Target") == "experiment-live"
    return render(request, f"benchmarks/{'includes/experiment_live' if part else 'experiment_detail'}.html", context)


def _again_url(experiment: Experiment) -> str:
    """Return where it is started again: its playbook, or the questions to its pool; empty where that is gone."""
    if not experiment.advice:
        known = experiment.playbook in {spec.name for spec in library.listed()}
        return reverse("playbook-detail", args=[experiment.playbook]) if known else ""
    pool = advice.pool_of(experiment)
    return f"{reverse('advice-ask', args=[pool.pk])}?question={experiment.advice['question']}" if pool else ""


def _trend(experiment: Experiment) -> list[dict[str, Any]]:
    """Return the last experiments of the same playbook, size and cluster with the ratio of each of their arms."""
    if experiment.advice:
        return []
    same = Experiment.objects.filter(
        playbook=experiment.playbook, cluster=experiment.cluster, quick=experiment.quick, state="succeeded", advice={}
    )
    found = []
    for one in same.exclude(pk=experiment.pk)[:TREND]:
        arms = [arm for arm in results.of(one).arms if arm.baseline and arm.figure and arm.figure.ratio]
        found.append({"experiment": one, "ratios": [(arm.spec.label, arm.figure, arm.verdict) for arm in arms]})
    return found


@require_safe
def experiment_report(request: HttpRequest, pk: UUID, kind: str) -> HttpResponse:
    """Answer the report as a file."""
    experiment = get_object_or_404(Experiment.objects.select_related("cluster", "pooler"), pk=pk)
    if kind not in files.MAKERS:
        raise Http404(f"no report as {kind}")
    content_type, make = files.MAKERS[kind]
    response = HttpResponse(make(experiment), content_type=content_type)
    name = f"pooldeck-experiment-{experiment.number}.{kind}"
    response["Content-Disposition"] = f'attachment; filename="{name}"'
    return response


@require_POST
@staff_only
def experiment_cancel(request: HttpRequest, pk: UUID) -> HttpResponse:
    """End an experiment; what was measured stays, what was made is removed."""
    experiment = get_object_or_404(Experiment, pk=pk)
    if experiment.request_cancel():
        dispatch.request_advance()
        messages.success(request, _("The experiment is being cancelled: what was measured until now is kept."))
    else:
        messages.error(request, _("The experiment has ended already: there is nothing left to cancel."))
    return redirect("experiment-detail", experiment.pk)


def playbook_detail(request: HttpRequest, name: str) -> HttpResponse:
    """Show what a playbook says, and start it."""
    spec = _spec(name)
    form = ExperimentForm(request.POST or None, initial={"cluster": Cluster.objects.first()})
    if request.method == "POST":
        return _started(request, spec, form)
    return _playbook_page(request, spec, form)


@staff_only
def _started(request: HttpRequest, spec: PlaybookSpec, form: ExperimentForm) -> HttpResponse:
    if form.is_valid():
        try:
            experiment = start.start(ExperimentRequest(**form.request(spec.name, person(request.user))))
        except (BenchmarksError, PoolsError) as error:
            form_errors.add_to(form, error)
        else:
            return redirect("experiment-detail", experiment.pk)
    return _playbook_page(request, spec, form, status=400)


def _playbook_page(request: HttpRequest, spec: PlaybookSpec, form: ExperimentForm, status: int = 200) -> HttpResponse:
    whole = spec.arms(quick=False)
    quick = spec.arms(quick=True)
    known = {arm.key for arm in whole}
    context = {
        "spec": spec,
        "form": form,
        "arms": [*whole, *(arm for arm in quick if arm.key not in known)],
        "quick": {arm.key for arm in quick},
        "columns": [(key, metrics.BY_KEY[key]) for key in spec.metrics if any(key in arm.published for arm in whole)],
        "needs": library.needs_in_words(spec),
        "changes": start.changes(spec, quick),
        "is_built_in": spec.name in library.BUILT_IN,
        "past": Experiment.objects.filter(playbook=spec.name, advice={})[:TREND],
    }
    return render(request, "benchmarks/playbook_detail.html", context, status=status)


@staff_only
def playbook_create(request: HttpRequest) -> HttpResponse:
    """Add a playbook as text or as a file; `?like=` begins with another's text."""
    like = request.GET.get("like", "")
    form = PlaybookForm(request.POST or None, request.FILES or None, initial={"toml": _spec(like).text if like else ""})
    if request.method == "POST" and form.is_valid():
        try:
            spec = library.add(form.text(), person(request.user))
        except InvalidPlaybook as error:
            form_errors.add_to(form, error)
        else:
            return redirect("playbook-detail", spec.name)
    return render(
        request, "benchmarks/playbook_form.html", {"form": form}, status=400 if request.method == "POST" else 200
    )


@require_POST
@staff_only
def playbook_delete(request: HttpRequest, name: str) -> HttpResponse:
    """Forget a user's playbook; its experiments stay."""
    try:
        library.remove(name)
    except BenchmarksError as error:
        messages.error(request, str(error))
        return redirect("playbook-detail", name)
    messages.success(request, _("Playbook %(name)s is removed; its experiments stay.") % {"name": name})
    return redirect("experiment-list")


def _spec(name: str) -> PlaybookSpec:
    try:
        return library.find(name)
    except UnknownPlaybook as error:
        raise Http404(str(error)) from None
