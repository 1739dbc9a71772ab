"""The pages of datasets: those that the panel made, and the form that prepares one."""

from typing import Any

from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_safe

from benchmarks import submitting
from benchmarks.engines.pgbench.initialize import ACCOUNTS_PER_SCALE, estimated_bytes
from benchmarks.errors import BenchmarksError, InvalidTarget, QueueDown
from benchmarks.forms import DatasetForm
from benchmarks.models import Dataset, Purpose, Run
from benchmarks.views.facts import facts_of
from pools.errors import PoolsError
from pools.views.access import staff_only

PAGE_SIZE = 50


@require_safe
def dataset_list(request: HttpRequest) -> HttpResponse:
    """All datasets by cluster and database."""
    page = Paginator(Dataset.objects.select_related("cluster", "run"), PAGE_SIZE).get_page(request.GET.get("page"))
    rows = [(dataset, dataset.scale * ACCOUNTS_PER_SCALE, estimated_bytes(dataset.scale)) for dataset in page]
    return render(request, "benchmarks/dataset_list.html", {"page": page, "rows": rows})


@staff_only
def dataset_create(request: HttpRequest) -> HttpResponse:
    """The form that prepares a dataset; its run's page shows the progress."""
    initial = {name: request.GET[name] for name in ("cluster", "database", "scale") if request.GET.get(name)}
    form, status = DatasetForm(request.POST or None, initial=initial), 200
    if request.method == "POST" and form.is_valid():
        run, status = _prepare(form, request.user)
        if run is not None:
            return redirect("run-detail", run.pk)
    context = {"form": form, "facts": facts_of(form) if form.is_bound else None}
    return render(request, "benchmarks/dataset_form.html", context, status=status)


@require_safe
@staff_only
def dataset_facts(request: HttpRequest) -> HttpResponse:
    """What the database chosen so far holds, and what the scale typed so far takes."""
    form = DatasetForm(request.GET)
    form.is_valid()
    return render(request, "benchmarks/includes/facts.html", {"form": form, "facts": facts_of(form)})


def _prepare(form: DatasetForm, author: Any) -> tuple[Run | None, int]:
    chosen = form.cleaned_data
    try:
        terms = {"engine": form.engine_name, "purpose": Purpose.PREPARE, "confirm": chosen["confirm"]}
        return submitting.submit(target=form.target(), options=chosen["options"], author=author, **terms), 200
    except InvalidTarget as error:
        form.take(error.errors)
    except (BenchmarksError, PoolsError) as error:
        form.add_error(None, str(error))
        return None, 503 if isinstance(error, QueueDown) else 200
    return None, 200
