"""The import page: makes a finished run from the output of pgbench or sysbench."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render

from benchmarks.errors import BenchmarksError
from benchmarks.forms.runs import ImportForm
from benchmarks.models import Run
from benchmarks.results import import_output
from core.accounts.access import needs
from core.accounts.people.ownership import chosen_team, offer_team
from core.accounts.permissions import person


@needs("run.import")
def run_import(request: HttpRequest) -> HttpResponse:
    """Import the pasted text or the file; show the form again with the reason if it can't be read."""
    form = ImportForm(request.POST or None, request.FILES or None)
    offer_team(request, form, "run.import", is_preset=True)
    if request.method == "POST" and form.is_valid():
        try:
            run = _imported(form, request)
        except BenchmarksError as error:
            form.add_error("file" if form.cleaned_data["file"] else "text", str(error))
        else:
            return redirect("run-detail", run.pk)
    return render(request, "benchmarks/run_import.html", {"form": form})


def _imported(form: ImportForm, request: HttpRequest) -> Run:
    file, name, author = form.cleaned_data["file"], form.cleaned_data["name"], person(request.user)
    team = chosen_team(request, form, "run.import")
    if file:
        return import_output.import_file(file, name, author, team)
    return import_output.import_output(form.cleaned_data["text"], name, author, team)
