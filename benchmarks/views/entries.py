"""Page that asks for the login of a load through an entry, and leads to the form of the run."""

from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from benchmarks.errors import InvalidTarget
from benchmarks.forms.entries import EntryLoginForm
from benchmarks.targets import entries
from panel.lib.access import staff_only
from pools.errors import PoolsError
from pools.models import Entry


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@staff_only
def entry_run(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Log in through the entry, keep the login as an external endpoint, and show the form of a run against it."""
    entry = get_object_or_404(Entry.objects.select_related("pooler", "cluster"), pk=pk)
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
