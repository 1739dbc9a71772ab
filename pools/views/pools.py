"""The pages of pools."""

from functools import partial
from uuid import UUID

from django.contrib import messages
from django.db.models import Q
from django.forms.boundfield import BoundWidget
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from core.accounts.access import Access, find, needs
from core.accounts.permissions import person
from core.accounts.team_lists import of_team
from core.lib.long_lists import LongList
from core.lib.query_params import is_set
from pools import deployment, task_queue
from pools.advice import login_cost, modes
from pools.clusters import health_check, topology
from pools.connection_strings import box
from pools.connection_strings.box import BoxChoices
from pools.deployment import live_files
from pools.forms.pools import FURTHER, PoolForm, edited_pool
from pools.inventory import budget, pool_access, pools
from pools.models import NodeRole, Pool, PoolState
from pools.models.pools import PoolQuerySet
from pools.poolers import KINDS
from pools.views import cards, entries, mode_check, settings_context
from pools.views.connections import connection_answer
from pools.views.form_submit import attempt_with_sql
from pools.views.live import UNASKED, pool_rows, pool_state
from pools.views.monitoring import live_part
from pools.views.offered import offer_pool
from pools.views.pool_verbs import condition_context

PAGE_SIZE = 50
# What a row of the list shows before the consoles are asked; a pooler and a cluster have three times as many columns.
LISTED = [
    "name",
    "database",
    "user",
    "mode",
    "size",
    "over_budget_by",
    "state",
    "state_reason",
    "applied_at",
    "made_for",
    "paused_until",
    "removal_requested_at",
    "password_for_developers",
    "pooler__name",
    "pooler__team",
    "cluster__name",
    "cluster__team__name",
]
RECORDS = ("pooler", "cluster")  # fields of the form that take a record's name too


@require_safe
@needs("pool.view")
def pool_list(request: HttpRequest) -> HttpResponse:
    """List the pools by `q` (name, database, user), state, pooler, cluster and its team; htmx polls the rows."""
    found, shows_experiments = _found(request), is_set(request.GET.get("experiments"))
    listed = found if shows_experiments else found.of_people()
    polls = bool(request.htmx)  # type: ignore[attr-defined]  # the middleware adds it
    page = LongList(listed if polls else listed.only(*LISTED), PAGE_SIZE).get_page(request.GET.get("page"))
    context: dict[str, object] = {"page": page, "chosen": request.GET, "states": PoolState.choices}
    if polls:
        return render(request, "pools/includes/pool_rows.html", context | {"rows": pool_rows(page)})
    context |= {"rows": [{"pool": pool, **UNASKED} for pool in page]}
    access = Access.of(request)
    filters = context["record_filters"] = entries.record_filters(request, access)
    context["clusters"], context["poolers"] = (one.names != [] for one in filters)  # whether there are any
    context |= {"shows_experiments": shows_experiments, "hidden": found.exclude(made_for="").count()}
    context |= entries.card(request) if page.number == 1 else {}
    return render(request, "pools/pool_list.html", context)


def _found(request: HttpRequest) -> PoolQuerySet:
    rows = Access.of(request).visible(Pool.objects.select_related("pooler", "cluster__team"))
    if query := request.GET.get("q", "").strip():
        rows = rows.filter(Q(name__icontains=query) | Q(database__icontains=query) | Q(user__icontains=query))
    if (state := request.GET.get("state")) in PoolState.values:
        rows = rows.filter(state=state)
    for field in ("pooler", "cluster"):
        if name := request.GET.get(field):
            rows = rows.filter(**{f"{field}__name": name})
    return of_team(request, rows, "cluster__team")


@require_safe
@needs("pool.view")
def pool_detail(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Show one pool: its connection strings, state, figures, files and latest runs."""
    return _detail(request, _get(request, pk), BoxChoices())


def _get(request: HttpRequest, pk: UUID) -> Pool:
    return find(request, Pool.objects.select_related("pooler", "through", "cluster__status"), pk=pk)


def _detail(request: HttpRequest, pool: Pool, shown: BoxChoices) -> HttpResponse:
    context = {
        "box": box.of_pool(pool, shown),
        "mode": modes.of(pool.mode),
        "budget": budget.of_cluster(pool.cluster, target=pool.target),
        "most_connections": budget.most_connections(pool),
        "standby": _standby_of(pool),
        "live": live_files.live_files(pool.pooler),
        "runs": cards.latest_runs(pool),
        "further": settings_context.pool_rows(pool),
        "shows_access": KINDS[pool.pooler.kind].admits_others,
        "access_obstacle": pool_access.obstacle(pool.pooler) if pool.admitted else "",
        "logins": login_cost.client_auth_note(pool),
        **pool_state(pool),
        **condition_context(pool),
        **live_part(pool),
    }
    return render(request, "pools/pool_detail.html", context)


def _standby_of(pool: Pool) -> str:
    """Return `host:port` of the standby that a pool routes to now; empty for the primary or an unknown standby."""
    found = topology.addresses(pool.cluster, NodeRole.STANDBY) if pool.target == NodeRole.STANDBY else []
    return topology.written(found[0]) if found else ""


@require_POST
@never_cache
@needs("pool.reveal")
def pool_connection(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Render the connection box with the password shown or hidden; with `as`, return one text, password included."""
    return connection_answer(request, _get(request, pk), box.of_pool, _detail)


@never_cache
@needs("pool.create")
def pool_create(request: HttpRequest) -> HttpResponse:
    """Render and accept the form of a new pool; `?cluster=`, `?pooler=` and `?database=` prefill it."""
    context: dict[str, object] = {"refilled": "refill" in request.POST}
    if request.method == "POST" and not context["refilled"]:
        form = offer_pool(request, PoolForm(request.POST, access=Access.of(request)))
        if form.is_valid():
            verb = partial(pools.create, form.values(), person(request.user))
            tried = attempt_with_sql(request, form, verb)
            if tried.saved:
                return redirect("pool-detail", tried.saved.pk)
            context |= tried.context
    else:
        form = _prefilled(request)
        if request.POST.get("refill") == "mode":
            context["mode_report"] = mode_check.of_form(form)
    return render(request, "pools/pool_form.html", {"form": form, **context, **_form_context(form)})


@never_cache
@needs("pool.change")
def pool_edit(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Render and accept the form of an existing pool; a stale edit answers 409 with both values."""
    pool, status = _get(request, pk), 200
    form = offer_pool(request, PoolForm(request.POST or None, pool=pool, access=Access.of(request)))
    context: dict[str, object] = {"form": form, "pool": pool}
    if request.method == "POST" and form.is_valid():
        verb = partial(pools.change, pool, form.values(), form.cleaned_data["version"], person(request.user))
        tried = attempt_with_sql(request, form, verb, current=pool)
        if tried.saved:
            return redirect("pool-detail", pool.pk)
        context, status = context | tried.context, tried.status
    return render(request, "pools/pool_form.html", context | _form_context(form), status=status)


@require_POST
@never_cache
@needs("pool.create")
def pool_choices(request: HttpRequest) -> HttpResponse:
    """Render the database and user pickers and the budget of the chosen cluster; `?ask` checks the cluster first."""
    form = _prefilled(request)
    if form.chosen_cluster and "ask" in request.GET:
        health_check.check_cluster(form.chosen_cluster)
        form = _prefilled(request)
    return render(request, "pools/includes/pool_choices.html", {"form": form, **_form_context(form)})


def _prefilled(request: HttpRequest) -> PoolForm:
    """Return an unbound form filled with the typed or requested values, so that nothing is validated yet."""
    query = request.POST if request.method == "POST" else request.GET
    pool = edited_pool(query)
    names = [name for name in query if name in PoolForm.base_fields or name.startswith(FURTHER)]
    fields = PoolForm.base_fields
    initial = {
        name: fields[name].widget.value_from_datadict(query, {}, name) if name in RECORDS else query[name]
        for name in names
    }
    return offer_pool(request, PoolForm(pool=pool, initial=initial, access=Access.of(request)))


def _form_context(form: PoolForm) -> dict[str, object]:
    cluster, target = form.chosen_cluster, form["target"].value() or NodeRole.PRIMARY
    figures = budget.of_cluster(cluster, target=target, without=form.pool) if cluster else None
    return {
        "budget": figures,
        "chosen_cluster": cluster,
        "leads_to_standby": target == NodeRole.STANDBY,
        "mode_cards": [_mode_card(form, radio) for radio in form["mode"]],
        "over_budget": form.is_bound and _exceeds(form, figures),
        "takes": _takes(form),
        "process_count": _process_count(form),
    }


def _mode_card(form: PoolForm, radio: BoundWidget) -> dict[str, object]:
    mode, pooler = radio.data["value"], form.chosen_pooler
    refusal = mode_check.refusal(pooler, mode) if pooler else ""
    return {"radio": radio, "words": modes.of(mode), "refusal": refusal}


def _takes(form: PoolForm) -> int | None:
    """Return the connections that the pool takes whatever its size; None where its size counts.

    A pool chained behind a Pgpool-II takes none itself; a pool of a Pgpool-II takes all that its children may open.
    """
    pooler, cluster = form.chosen_pooler, form.chosen_cluster
    if form["through"].value():
        return 0
    if pooler is None or cluster is None or KINDS[pooler.kind].connections_of(pooler) is None:
        return None
    return budget.needed_by(form.pool or Pool(pooler=pooler, cluster=cluster))


def _process_count(form: PoolForm) -> int:
    """Return the number of the chosen pooler's processes, each of which has its own connections of the pool."""
    return form.chosen_pooler.process_count if form.chosen_pooler else 1


def _exceeds(form: PoolForm, figures: budget.Budget | None) -> bool:
    """Return whether the form shows the field that allows more connections than the budget has."""
    numbers = (str(form[name].value() or "0") for name in ("size", f"{FURTHER}reserve_pool") if name in form.fields)
    typed = sum(int(number) for number in numbers if number.isdigit())
    takes, free = _takes(form), figures.free if figures else None
    exceeds = free is not None and (typed * _process_count(form) if takes is None else takes) > free
    return exceeds or bool(form["over_budget_confirm"].value())


@require_POST
@never_cache
@needs("pool.create")
def pool_further(request: HttpRequest) -> HttpResponse:
    """Render what depends on the chosen pooler: its release's settings, size, budget and modes."""
    form = _prefilled(request)
    return render(request, "pools/includes/pool_of_pooler.html", {"form": form, **_form_context(form)})


@require_POST
@needs("pool.change")
def pool_retry(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Queue another apply of what failed or was rolled back on the pool's pooler."""
    pooler = _get(request, pk).pooler
    deployment.reset_to_pending(pooler)
    task_queue.ask([pooler.pk], person(request.user))
    return redirect("pool-detail", pk)


@needs("pool.remove", destroys=gettext_lazy("Remove the pool"))
def pool_delete(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Request that a pool is removed from its pooler; the record is deleted once the removal is verified.

    The list has the pool until then; its own page may be gone before a browser asks for it.
    """
    pool = _get(request, pk)
    if request.method == "POST":
        pools.remove(pool, person(request.user))
        removing = _("Pool %(pool)s is being removed from pooler %(pooler)s.")
        messages.info(request, removing % {"pool": pool, "pooler": pool.pooler})
        return redirect("pool-list")
    return render(request, "pools/pool_delete.html", {"pool": pool, **pool_state(pool)})
