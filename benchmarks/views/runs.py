"""The list of runs, the form that starts them, and the previews that the form loads while it is edited."""

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from uuid import UUID

from django.contrib import messages
from django.contrib.auth.models import User
from django.db.models import Q, QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.http import urlencode
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from benchmarks.analysis import sparklines
from benchmarks.analysis.confidence_intervals import ENOUGH_REPEATS
from benchmarks.analysis.latency import sampling
from benchmarks.engines import DEFAULT_ENGINE, ENGINES, engine
from benchmarks.errors import InvalidGenerators, InvalidOptions, InvalidSweep, InvalidTarget, QueueDown
from benchmarks.forms.run_filter import RunFilter
from benchmarks.forms.runs import Route, RunForm, initial_of
from benchmarks.models import Purpose, Run, ScriptVersion, Status, Validity
from benchmarks.models.run_states import Gate
from benchmarks.models.runs import SEARCHED
from benchmarks.runs.submission import again, idempotency, submit
from benchmarks.runs.submission.submit import RunRequest
from benchmarks.views.dataset_facts import facts_of
from core.accounts.access import Access, find, needs
from core.accounts.models import Scope
from core.accounts.permissions import person, user_holds
from core.lib.errors import DomainError
from core.lib.long_lists import LongList
from core.lib.query_params import id_of, is_set
from core.rest.filters import having
from pools.clusters import endpoints
from pools.clusters.endpoints import Endpoint
from pools.models import Cluster, Pool, PoolState

PAGE_SIZE = 25
LISTED = [
    "number",
    "name",
    "purpose",
    "engine",
    "cluster",
    "pool",
    "external",
    "is_external",
    "team",
    "database",
    "pooled",
    "target_label",
    "options",
    "status",
    "validity",
    "reasons",
    "error",
    "is_baseline",
    "gate",
    "created_at",
    "summary",
]
OWNERS = ("cluster__team", "external__team", "team")
SENT_TWICE_S = 60  # an identical form within this time counts as a double submission
AGAIN_S = 3  # the same for "Run again"
WORTH_S = 10  # duration of each run of "Is my pool worth it?"
# Query parameters that prefill the form: the target, and the size of the loaded dataset.
PREFILLED = (
    "engine",
    "pool",
    "cluster",
    "database",
    "settings_profile",
    "external",
    "tables",
    "table_size",
    "scale",
    "threads",
)


@require_safe
@needs("run.view")
def run_list(request: HttpRequest) -> HttpResponse:
    """List runs, newest first, filtered by `RunFilter` and by text (`q`): number, name, target or database."""
    query = request.GET.get("q", "").strip()
    run_filter = RunFilter(request.GET, queryset=_found(query, Access.of(request)))
    found = run_filter.qs
    owners = OWNERS if Access.of(request).has_several_teams else ()
    runs = found.select_related(*owners) if owners else found
    runs = runs.only(*LISTED, *(f"{owner}__name" for owner in owners)).prefetch_related("tags")
    page = LongList(runs, PAGE_SIZE, keys_first=bool(query)).get_page(request.GET.get("page"))
    context = {
        "page": page,
        "sparks": sparklines.of_runs(page),
        "query": query,
        "filtered": any(value for name, value in request.GET.items() if name != "page"),
        "selects": [
            ("status", _("State"), _("Any state"), Status.choices, request.GET.get("status")),
            ("purpose", _("Purpose"), _("Any purpose"), Purpose.choices, request.GET.get("purpose")),
            ("validity", _("Validity"), _("Any validity"), Validity.choices, request.GET.get("validity")),
            ("gate", _("Thresholds"), _("Any thresholds"), Gate.choices, request.GET.get("gate")),
        ],
        "target": _target_named(request.GET.get("target", ""), Access.of(request)),
        "tag": request.GET.get("tag", ""),
        "shows_experiments": is_set(request.GET.get("experiments")),
        "hidden": run_filter.left_out().count(),
    }
    return render(request, "benchmarks/run_list.html", context)


def _found(query: str, access: Access) -> QuerySet[Run]:
    runs = access.visible(Run.objects.top_level())
    if not query:
        return runs
    words = having(query, SEARCHED)
    return runs.filter(words | Q(number=int(query)) if query.isdecimal() and len(query) < 10 else words)


def _target_named(target: str, access: Access) -> Pool | Cluster | None:
    if (key := id_of(target)) is None:
        return None
    pool = access.visible(Pool.objects.all()).filter(pk=key).first()
    return pool or access.visible(Cluster.objects.all()).filter(pk=key).first()


@needs("run.start")
def run_create(request: HttpRequest) -> HttpResponse:
    """Show the form of a run and start what it asks for; the query prefills it (target, `clone`, `preset`)."""
    form = RunForm(request.POST or None, initial=None if request.POST else _initial(request), access=Access.of(request))
    status = 200
    if request.method == "POST" and form.is_valid():
        run, status = _start(form, request)
        if run is not None:
            return redirect("run-detail", run.pk)
    context = {
        "form": form,
        "preset": request.GET.get("preset", ""),
        "commands": _commands(form) if form.is_bound else [],
        "facts": facts_of(form) if form.is_bound else None,
    }
    return render(request, "benchmarks/run_form.html", context, status=status)


def _start(form: RunForm, request: HttpRequest) -> tuple[Run | None, int]:
    """Start what the form asks for.

    Return the run to show (the first of a pair) or None, and the HTTP status of the form if there is none.
    """
    try:
        begin = partial(_submitted, form, person(request.user), Access.of(request))
        return _start_idempotently(request, form.key, begin, SENT_TWICE_S), 200
    except (InvalidTarget, InvalidOptions, InvalidGenerators, InvalidSweep) as error:
        form.add_errors(error.errors)
    except DomainError as error:
        form.add_error(None, str(error))
        return None, 503 if isinstance(error, QueueDown) else 200
    return None, 200


def _start_idempotently(request: HttpRequest, key: str | None, begin: idempotency.Begin, within_s: int) -> Run:
    """Return the run that `begin` starts, or the run of an identical request in the last `within_s` seconds."""
    run, replayed = idempotency.start(key, person(request.user), None, begin, within_s)
    if replayed:
        text = _("Duplicate submission ignored: run %(number)s had already been started.")
        messages.info(request, text % {"number": run.number})
    return run


def _submitted(form: RunForm, author: User, access: Access, run_id: UUID | None = None) -> Run:
    """Submit the form's run; return it, or the first of several."""
    chosen = form.cleaned_data
    request = RunRequest(
        target=form.target(),
        options=chosen["options"],
        author=author,
        access=access,
        is_admin=user_holds(author, Scope.ADMIN),
        run_id=run_id,
        engine=form.engine_name,
        name=chosen["name"],
        confirm=chosen["confirm"],
        place=form.place,
        thresholds=form.thresholds,
        tags=chosen["tags"],
        repeat=chosen["repeat"],
        pair=form.is_pair,
        sweep_clients=chosen["sweep_clients"],
    )
    return submit.submit(request)[0]


def _initial(request: HttpRequest) -> dict[str, object]:
    """Return the form's initial values from the query: a run to clone, a target, or a preset."""
    query, access = request.GET, Access.of(request)
    if query.get("clone"):
        run = get_object_or_404(access.visible(Run.objects.all()), pk=id_of(query["clone"]))
        if run.removed:
            text = _(
                "Run %(number)s can't be started again: %(target)s was removed since: choose what to load in its place."
            )
            messages.warning(request, text % {"number": run.number, "target": run.removed})
        return initial_of(run)
    initial: dict[str, object] = {name: query[name] for name in PREFILLED if query.get(name)}
    if query.get("script"):
        initial |= _scripted(query["script"], query.get("version", ""), query.get("engine") or DEFAULT_ENGINE, access)
    if query.get("preset") == "worth":
        worth = {"connect": True, "repeat": ENOUGH_REPEATS, "duration": WORTH_S, "name": _("Is my pool worth it?")}
        if "external" in initial:
            return initial | worth | {"route": Route.EXTERNAL, "and_direct": True}
        return initial | worth | {"route": Route.BOTH, "pool": initial.get("pool") or _first_live_pool(access)}
    if "external" in initial:
        return {"route": Route.EXTERNAL} | initial
    if "cluster" in initial:
        return {"route": Route.DIRECT} | initial
    return {"route": Route.POOLED, "pool": _first_live_pool(access)} | initial


def _scripted(script: str, version: str, engine_name: str, access: Access) -> dict[str, str | None]:
    """Return the option that selects a script: of the library where the engine takes these, else one of its own."""
    program = ENGINES.get(engine_name)
    is_of_library = program is not None and program.takes_library_scripts
    return {"builtin": _script_named(script, version, access)} if is_of_library else {"script": script}


def _script_named(script: str, number: str, access: Access) -> str | None:
    """Return the form's value of a version of a library script; of the newest if `number` is no number."""
    versions = access.visible(ScriptVersion.objects.all()).filter(script=id_of(script)).order_by("-number")
    matching = versions.filter(number=int(number)) if number.isdecimal() and len(number) < 10 else versions
    found = matching.first()
    return f"version:{found.pk}" if found else None


def _first_live_pool(access: Access) -> UUID | None:
    return (
        access.visible(Pool.objects.wanted().of_people())
        .filter(state=PoolState.APPLIED)
        .values_list("pk", flat=True)
        .first()
    )


@require_http_methods(["GET", "HEAD", "POST"])
@needs("run.start")
def run_preview(request: HttpRequest) -> HttpResponse:
    """Render the command line of the form as it is filled in, or a part of the form that follows from the rest.

    With `part=facts` that is what the chosen database holds, with `part=stages` the stages of the chosen shape.

    The form is posted because scripts are too long for a URL; nothing is changed.
    """
    form = RunForm(request.POST or request.GET, access=Access.of(request))
    form.is_valid()
    if request.GET.get("part") == "facts":
        return render(request, "benchmarks/includes/facts.html", {"form": form, "facts": facts_of(form)})
    if request.GET.get("part") == "stages" and form.has_stages:
        return render(request, "benchmarks/includes/stages_field.html", {"field": form.filled_stages()})
    return render(request, "benchmarks/includes/commands.html", {"form": form, "commands": _commands(form)})


def _commands(form: RunForm) -> list[tuple[str, str]]:
    """Return (endpoint kind, command line) of each run that the form would start; empty while options are invalid."""
    chosen = form.cleaned_data
    if "options" not in chosen or form.choice is None:
        return []
    return [
        (endpoint_kind, _command(form, endpoint, pool))
        for endpoint_kind, endpoint, pool in _targets(form, *form.choice)
    ]


def _targets(form: RunForm, cluster: Cluster | None, database: str) -> Iterator[tuple[str, Endpoint, Pool | None]]:
    """Yield each endpoint that the form would load; the direct one of a pair logs in as the same role as the other."""
    chosen, route = form.cleaned_data, form.cleaned_data["route"]
    external = chosen["external"] if route == Route.EXTERNAL else None
    if cluster is not None and (route == Route.DIRECT or form.is_pair):
        role = external.user if external else chosen["user"] or (chosen["pool"].login if route == Route.BOTH else "")
        endpoint = endpoints.of_cluster(cluster, database)
        yield _("direct"), replace(endpoint, user=role or endpoint.user), None
    if external:
        yield external.pooled_by or _("external"), external.endpoint, None
    elif route != Route.DIRECT:
        endpoint = endpoints.for_panel(chosen["pool"])
        yield _("pooled"), replace(endpoint, user=chosen["user"] or endpoint.user), chosen["pool"]


def _command(form: RunForm, endpoint: Endpoint, pool: Pool | None) -> str:
    """Return the command line with all options that the worker would add; a line for each stage."""
    cluster, database = form.choice or (None, "")
    options = form.cleaned_data["options"]
    run = Run(engine=form.engine_name, cluster=cluster, database=database, pool=pool, options=options)
    program = engine(form.engine_name)
    stages = [sampling.options_of(run, stage) for stage in program.stages(options)]
    return "\n".join(str(program.preview(stage, endpoint)) for stage in stages)


@require_POST
@needs("run.start")
def run_again(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Start the same run once more; if it is refused, redirect to the form with the reason."""
    old = find(request, Run.objects.all(), pk=pk)
    if old.removed:
        return redirect(f"{reverse('run-create')}?{urlencode({'clone': str(pk)})}")
    try:
        run = _start_idempotently(
            request, f"again {pk}", partial(_again, old, person(request.user), Access.of(request)), AGAIN_S
        )
    except DomainError as error:
        text = _("Run %(number)s was not started again: %(error)s")
        messages.error(request, text % {"number": old.number, "error": error})
        return redirect(f"{reverse('run-create')}?{urlencode({'clone': str(pk)})}")
    return redirect("run-detail", run.pk)


def _again(old: Run, author: User, access: Access, run_id: UUID | None) -> Run:
    return submit.submit(again.request_of(old, author, access, run_id))[0]
