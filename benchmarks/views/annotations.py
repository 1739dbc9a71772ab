"""Notes, tags and baseline of a run, and its export as a file."""

from uuid import UUID

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from benchmarks.errors import BenchmarksError
from benchmarks.models import Run
from benchmarks.results import annotations
from benchmarks.results.export import formats
from core.accounts.access import find, needs


@require_POST
@needs("run.annotate")
def run_annotate(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Save the note and the tags."""
    run = find(request, Run.objects.all(), pk=pk)
    try:
        annotations.annotate(
            run, note=request.POST.get("note", ""), tags=annotations.split(request.POST.get("tags", ""))
        )
        messages.success(request, _("The note and the tags of run %(number)s were saved.") % {"number": run.number})
    except BenchmarksError as error:
        messages.error(request, _("Nothing was saved: %(error)s") % {"error": error})
    return redirect("run-detail", pk=pk)


@require_POST
@needs("run.annotate")
def run_baseline(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Pin the run as the baseline of its target, or unpin it if `unpin` is sent."""
    run = find(request, Run.objects.all(), pk=pk)
    try:
        if "unpin" in request.POST:
            annotations.unpin(run)
            messages.info(request, _("Run %(number)s is no longer the baseline.") % {"number": run.number})
        else:
            annotations.pin(run)
            text = _("Other runs on %(target)s are now compared with run %(number)s.")
            messages.success(request, text % {"target": run.target_label, "number": run.number})
    except BenchmarksError as error:
        messages.error(request, str(error))
    return redirect("run-detail", pk=pk)


@require_safe
@needs("run.view")
def run_export(request: HttpRequest, pk: UUID, kind: str) -> HttpResponseBase:
    """Return the run as a file; 404 for an unknown kind."""
    if kind not in formats.MAKERS:
        raise Http404(f"unknown export format {kind!r}")
    return formats.answer(find(request, Run.objects.all(), pk=pk), kind, request)
