"""The import page: makes a finished run from pasted pgbench or sysbench output."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render

from benchmarks.errors import BenchmarksError
from benchmarks.forms.runs import ImportForm
from benchmarks.results import import_output
from panel.accounts.permissions import person
from panel.lib.access import staff_only


@staff_only
def run_import(request: HttpRequest) -> HttpResponse:
    """Import the pasted text; show the form again with the reason if it can't be read."""
    form = ImportForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        try:
            run = import_output.import_output(
                form.cleaned_data["text"], form.cleaned_data["name"], person(request.user)
            )
        except BenchmarksError as error:
            form.add_error("text", str(error))
        else:
            return redirect("run-detail", run.pk)
    return render(request, "benchmarks/run_import.html", {"form": form})
