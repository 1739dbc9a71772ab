"""What a run's page lets people say of it, and take away of it."""

from uuid import UUID

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404, redirect
from django.views.decorators.http import require_POST, require_safe

from benchmarks.errors import BenchmarksError
from benchmarks.models import Run
from benchmarks.results import annotations
from benchmarks.results.export import formats
from panel.lib.access import staff_only


@require_POST
@staff_only
def run_annotate(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Keep the note and the tags as they were typed."""
    run = get_object_or_404(Run, pk=pk)
    try:
        annotations.annotate(
            run, note=request.POST.get("note", ""), tags=annotations.split(request.POST.get("tags", ""))
        )
        messages.success(request, f"The note and the tags of run {run.number} were saved.")
    except BenchmarksError as error:
        messages.error(request, f"Nothing was saved: {error}")
    return redirect("run-detail", pk=pk)


@require_POST
@staff_only
def run_baseline(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Pin the run, or take the pin away where `unpin` is sent."""
    run = get_object_or_404(Run, pk=pk)
    try:
        if "unpin" in request.POST:
            annotations.unpin(run)
            messages.info(request, f"No run is measured by run {run.number} any more.")
        else:
            annotations.pin(run)
            messages.success(request, f"Other runs on {run.target_label} are measured by run {run.number} now.")
    except BenchmarksError as error:
        messages.error(request, str(error))
    return redirect("run-detail", pk=pk)


@require_safe
def run_export(request: HttpRequest, pk: UUID, kind: str) -> HttpResponseBase:
    """The run as a file; 404 for a kind that there is not."""
    if kind not in formats.MAKERS:
        raise Http404(f"{kind!r} is no kind of file here")
    return formats.answer(get_object_or_404(Run, pk=pk), kind, request)
