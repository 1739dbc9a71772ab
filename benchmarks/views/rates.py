"""The page that changes the rate of a run while its load goes on."""

from uuid import UUID

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from benchmarks.errors import IllegalTransition
from benchmarks.forms.rates import RateForm
from benchmarks.models import Run
from benchmarks.runs.submission import rate as rates
from core.accounts.access import find, needs


@require_http_methods(["GET", "HEAD", "POST"])
@needs("run.start")
def run_rate(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Ask for a rate, and let the load go on with it; what was typed stays where it can't."""
    run = find(request, Run.objects.all(), pk=pk)
    form = RateForm(request.POST or None)
    status = 200
    if request.method == "POST" and form.is_valid():
        try:
            rates.change(run, form.cleaned_data["rate"])
        except IllegalTransition as error:
            form.add_error(None, str(error))
            status = error.status
        else:
            text = _("Run %(number)s goes on at another rate when its next interval has ended.")
            messages.success(request, text % {"number": run.number})
            return redirect("run-detail", pk=pk)
    context = {"run": run, "form": form, "obstacle": rates.obstacle(run)}
    return render(request, "benchmarks/run_rate.html", context, status=status)
