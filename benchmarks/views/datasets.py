"""The pages of datasets: the list of those that the panel made, and the form that prepares or drops one."""

from typing import NamedTuple
from urllib.parse import urlencode

from django.contrib.auth.models import User
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_safe

from benchmarks.engines import engine
from benchmarks.engines.base import Tables
from benchmarks.errors import InvalidOptions, InvalidTarget, QueueDown
from benchmarks.forms.runs import DatasetForm
from benchmarks.models import Dataset, Purpose, Run
from benchmarks.models.options import RunOptions
from benchmarks.runs.submission import submit
from benchmarks.views.dataset_facts import facts_of
from core.accounts.access import Access, needs
from core.accounts.permissions import person
from core.lib.errors import DomainError

PAGE_SIZE = 50


class NextSteps(NamedTuple):
    """Query strings of the forms that load, remake and drop a dataset; `drop` is empty if its engine can't drop."""

    run: str
    again: str
    drop: str


@require_safe
@needs("dataset.view")
def dataset_list(request: HttpRequest) -> HttpResponse:
    """List all datasets by cluster and database."""
    datasets = Access.of(request).visible(Dataset.objects.select_related("cluster", "run"))
    page = Paginator(datasets, PAGE_SIZE).get_page(request.GET.get("page"))
    tables = [(dataset, _tables_of(dataset)) for dataset in page]
    rows = [
        (dataset, tables_of_dataset, tables_of_dataset.of_size(dataset.scale), _next_steps(dataset))
        for dataset, tables_of_dataset in tables
    ]
    return render(request, "benchmarks/dataset_list.html", {"page": page, "rows": rows})


def _made_by(dataset: Dataset) -> RunOptions:
    """Return the options that a dataset was made with; only its scale once its run is removed."""
    return dataset.run.options if dataset.run else {"scale": dataset.scale}


def _tables_of(dataset: Dataset) -> Tables:
    return engine(dataset.engine).prepared_tables(_made_by(dataset))


def _next_steps(dataset: Dataset) -> NextSteps:
    tables, program = _made_by(dataset), engine(dataset.engine)
    dropping = program.drop_options({})
    place = {"engine": dataset.engine, "cluster": dataset.cluster_id, "database": dataset.database}
    again = {name: value for name, value in tables.items() if value and value != dropping.get(name)}
    loading = {name: value for name, value in program.full_dataset_options(tables).items() if value}
    return NextSteps(
        run=urlencode({**place, **loading}),
        again=urlencode({**place, **again}),
        drop=urlencode({**place, **program.drop_options(tables)}) if dropping else "",
    )


def _is_dropping(form: DatasetForm) -> bool:
    drop_options = engine(form.engine_name).drop_options({})
    return bool(drop_options) and all(
        name in form.fields and form[name].value() == drop_options[name] for name in drop_options
    )


@needs("dataset.create")
def dataset_create(request: HttpRequest) -> HttpResponse:
    """Show the form of a dataset and start its preparation as a run."""
    initial = {name: value for name, value in request.GET.items() if value and name != "confirm"}
    form, status = DatasetForm(request.POST or None, initial=initial, access=Access.of(request)), 200
    if request.method == "POST" and form.is_valid():
        run, status = _prepare(form, person(request.user), Access.of(request))
        if run is not None:
            return redirect("run-detail", run.pk)
    context = {"form": form, "facts": facts_of(form) if form.is_bound else None, "dropping": _is_dropping(form)}
    return render(request, "benchmarks/dataset_form.html", context, status=status)


@require_safe
@needs("dataset.create")
def dataset_facts(request: HttpRequest) -> HttpResponse:
    """Render what the chosen database holds, and the disk space that the chosen size needs."""
    form = DatasetForm(request.GET, access=Access.of(request))
    form.is_valid()
    return render(request, "benchmarks/includes/facts.html", {"form": form, "facts": facts_of(form)})


def _prepare(form: DatasetForm, author: User, access: Access) -> tuple[Run | None, int]:
    chosen = form.cleaned_data
    try:
        run_request = submit.RunRequest(
            target=form.target(),
            options=chosen["options"],
            author=author,
            access=access,
            engine=form.engine_name,
            purpose=Purpose.PREPARE,
            confirm=chosen["confirm"],
        )
        return submit.submit(run_request)[0], 200
    except (InvalidTarget, InvalidOptions) as error:
        form.add_errors(error.errors)
    except DomainError as error:
        form.add_error(None, str(error))
        return None, 503 if isinstance(error, QueueDown) else 200
    return None, 200
