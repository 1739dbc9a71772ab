"""Pages that ask for a login through an entry: for the form of a run, and for a sweep of its sizes."""

from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from benchmarks.errors import BenchmarksError, InvalidTarget
from benchmarks.experiments.advice import sweep, through_entry
from benchmarks.experiments.advice.request import AdviceRequest
from benchmarks.forms import form_errors
from benchmarks.forms.entry_advice import EntryAdviceForm
from benchmarks.models import Experiment
from benchmarks.targets import entries
from core.accounts.access import Access, find, needs
from core.accounts.permissions import person
from pools.errors import PoolsError
from pools.forms.entries import EntryLoginForm
from pools.models import Entry


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@needs("external.change")
def entry_run(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Log in through the entry, keep the login as an external endpoint, and show the form of a run against it."""
    entry = find(request, Entry.objects.select_related("pooler", "cluster"), pk=pk)
    form = EntryLoginForm(request.POST or None, entry=entry)
    if request.method == "POST" and form.is_valid():
        try:
            endpoint = entries.endpoint_of(entry, **form.cleaned_data)
        except InvalidTarget as error:
            form.add_errors(error.errors)
        except PoolsError as error:
            form.add_error(None, str(error))
        else:
            preset = "&preset=worth" if "worth" in request.POST else ""
            return redirect(f"{reverse('run-create')}?external={endpoint.pk}{preset}")
    status = 422 if form.errors else 200
    return render(request, "benchmarks/entry_run.html", {"entry": entry, "form": form}, status=status)


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@needs("experiment.start")
def entry_size(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Ask for a login and a load, and start the sweep that measures through the entry what size it should have."""
    entry = find(request, Entry.objects.unmanaged().select_related("pooler", "cluster"), pk=pk)
    form = EntryAdviceForm(request.POST or None, entry=entry)
    if request.method == "POST" and form.is_valid():
        try:
            return redirect("experiment-detail", _asked(request, entry, form).pk)
        except (BenchmarksError, PoolsError) as error:
            form_errors.add_to(form, error)
    experiments = Access.of(request).visible(Experiment.objects.all())
    past = [(one, str(one)) for one in experiments.filter(advice__entry=str(entry.pk))[:5]]
    context = {"entry": entry, "form": form, "past": past}
    return render(request, "benchmarks/entry_size.html", context, status=422 if form.errors else 200)


def _asked(request: HttpRequest, entry: Entry, form: EntryAdviceForm) -> Experiment:
    """Queue the sweep, and keep the login as an external endpoint with it: a refusal keeps neither."""
    cluster = through_entry.check(entry)
    endpoint = entries.tried(entry, **form.login())
    advice_request = AdviceRequest(
        entry=entry,
        cluster=cluster,
        endpoint=endpoint,
        is_new_login=True,
        author=person(request.user),
        access=Access.of(request),
        **form.request(),
    )
    return sweep.ask(advice_request)
