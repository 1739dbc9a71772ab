"""Pages of poolers."""

from collections.abc import Iterable, Iterator
from functools import partial
from urllib.parse import urlencode
from uuid import UUID

from django.contrib import messages
from django.db.models import Count, Q, Sum
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from core.accounts.access import Access, find, needs
from core.accounts.people.ownership import chosen_team, offer_team
from core.accounts.permissions import person
from core.accounts.team_lists import of_team
from core.lib.long_lists import LongList
from pools import deployment, task_queue
from pools.clusters import duplicates
from pools.config_files import deliveries, folder_owner
from pools.deployment import drift, live_files
from pools.errors import IllegalTransition, QueueDown
from pools.forms.fetches import FilesTokenForm
from pools.forms.records import PoolerForm
from pools.inventory import pool_access, poolers
from pools.inventory.fetches import issue_token
from pools.models import Entry, Pool, Pooler, PoolerState, PoolState, TakeOver
from pools.monitoring import health, refused_logins
from pools.poolers import KINDS, kinds_that
from pools.views import cards, entries, fetches
from pools.views.form_submit import attempt
from pools.views.live import console_rows
from pools.views.managed import managed_only
from pools.views.monitoring import live_part
from pools.views.offered import offer

PAGE_SIZE = 50
REVISIONS_SHOWN = 10
# Links prefill these fields, such as those of poolers found on a host.
PREFILLED = (
    *("name", "kind", "host", "port", "pcp_port", "stats_address", "config_dir"),
    *("client_host", "delivery", "ssh_host"),
)


@require_safe
@needs("pooler.view")
def pooler_list(request: HttpRequest) -> HttpResponse:
    """List the poolers, filtered by name or host (`q`) and by state."""
    query, state = request.GET.get("q", "").strip(), request.GET.get("state", "")
    access = Access.of(request)
    rows = access.visible(Pooler.objects.select_related("team")).order_by("name")
    if query:
        rows = rows.filter(Q(name__icontains=query) | Q(host__icontains=query))
    if state in PoolerState.values:
        rows = rows.filter(state=state)
    rows = of_team(request, rows)
    page = LongList(rows, PAGE_SIZE).get_page(request.GET.get("page"))
    context: dict[str, object] = {"page": page, "query": query, "state": state, "states": PoolerState.choices}
    context["rows"] = list(_with_counts(page))
    context["has_taken_over"] = access.visible(TakeOver.objects.holding()).exists()
    watched = Pooler.objects.filter(config_dir="", kind__in=kinds_that("can_be_taken_over"))
    context["has_watched"] = access.visible(watched).exists()
    return render(request, "pools/pooler_list.html", context)


def _with_counts(page: Iterable[Pooler]) -> Iterator[dict[str, object]]:
    """Yield each pooler of a page with its health, its pools, their size, and its entries that are not managed here.

    Only those of the page are counted: a join would count those of all poolers.
    """
    poolers = list(page)
    found = health.of_poolers(poolers)
    pools = Pool.objects.wanted().filter(pooler__in=poolers).order_by().values("pooler")
    own = {row["pooler"]: row for row in pools.annotate(pool_count=Count("pk"), pool_size=Sum("size"))}
    others = Entry.objects.unmanaged().filter(pooler__in=poolers).order_by().values_list("pooler")
    entries_of = dict(others.annotate(Count("pk")))
    for pooler in poolers:
        yield {
            "pool_count": 0,
            "pool_size": None,
            **own.get(pooler.pk, {}),
            "pooler": pooler,
            "health": found[pooler.pk].health.value,
            "entry_count": entries_of.get(pooler.pk, 0),
        }


@require_safe
@needs("pooler.view")
def pooler_detail(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Show one pooler: its pools, its console's figures, its files and its latest revisions."""
    return _detail(request, find(request, Pooler.objects.all(), pk=pk))


@never_cache
@require_POST
@needs("pooler.change")
@managed_only
def pooler_files_token(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Create a token that reads the files of this pooler alone, and show its text in this response only."""
    pooler, form = find(request, Pooler.objects.all(), pk=pk), FilesTokenForm(request.POST)
    if deliveries.of(pooler).writes:  # changed meanwhile: the token could not be shown
        text = _("No token was created: the files of %(pooler)s are now written for it instead of being fetched.")
        messages.error(request, text % {"pooler": pooler})
        return redirect("pooler-detail", pk)
    if not form.is_valid():
        return _detail(request, pooler, fetches.card_of(request, pooler, form), status=422)
    user = person(request.user)
    _token, made = issue_token(pooler, user, form.cleaned_data["name"], form.expires_at())
    return _detail(request, pooler, fetches.card_of(request, pooler, made=made))


def _detail(
    request: HttpRequest, pooler: Pooler, fetch_card: dict[str, object] | None = None, status: int = 200
) -> HttpResponse:
    pools = list(cards.pools_with("cluster", pooler.pools.all()))
    context = {
        "pooler": pooler,
        "pools": pools,
        "refused": [pool for pool in pools if pool.state in (PoolState.ROLLED_BACK, PoolState.FAILED)],
        "live": live_files.live_files(pooler),
        "owner": folder_owner.of(pooler),
        "delivery": deliveries.of(pooler),
        "open_pools": pool_access.open_pools(pooler).count(),
        "access_obstacle": pool_access.obstacle(pooler),
        "twins": Access.of(request).visible(duplicates.of_pooler(pooler)),
        "take_over_obstacle": KINDS[pooler.kind].take_over_obstacle(pooler) if pooler.is_watched else "",
        "revisions": pooler.revisions.select_related("author")[:REVISIONS_SHOWN],
        "has_process_plan": KINDS[pooler.kind].process_plan is not None,
        "advisories": KINDS[pooler.kind].advisories(pooler.server_version),
        "refusals": refused_logins.of_one(pooler),
        **(fetches.card_of(request, pooler) if fetch_card is None else fetch_card),
        **entries.card_of(pooler),
        **console_rows(pooler),
        **live_part(pooler),
    }
    return render(request, "pools/pooler_detail.html", context, status=status)


@never_cache
@needs("pooler.create")
def pooler_create(request: HttpRequest) -> HttpResponse:
    """Render and accept the form of a new pooler; an unreachable one is saved too, with the reason."""
    filled = {name: request.GET[name] for name in PREFILLED if request.GET.get(name)}
    form = offer(request, PoolerForm(request.POST or None, initial=filled), ssh_host="host.use")
    offer_team(request, form, "pooler.create")
    context: dict[str, object] = {"form": form}
    if request.method == "POST" and form.is_valid():
        team = chosen_team(request, form, "pooler.create")
        tried = attempt(form, partial(poolers.register, form.values(), person(request.user), team=team))
        if tried.saved:
            pooler, reason = tried.saved
            answer = _saved(request, pooler, reason)
            return answer if reason else _taken_over_next(request, pooler) or answer
        context |= tried.context
    return render(request, "pools/pooler_form.html", context)


def _taken_over_next(request: HttpRequest, pooler: Pooler) -> HttpResponse | None:
    """Lead on to the preview of a take-over, where the link to the form named the main file for it."""
    if not (config_file := request.GET.get("take_over")):
        return None
    return redirect(f"{reverse('pooler-take-over', args=[pooler.pk])}?{urlencode({'config_file': config_file})}")


@never_cache
@needs("pooler.change")
def pooler_edit(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Render and accept the form of an existing pooler; a stale edit answers 409 with both values."""
    pooler = find(request, Pooler.objects.all(), pk=pk)
    copied = find(request, Pooler.objects.all(), pk=pk)  # a form writes into its instance
    form = offer(request, PoolerForm(request.POST or None, instance=copied), ssh_host="host.use")
    context: dict[str, object] = {"form": form, "pooler": pooler}
    status = 200
    if request.method == "POST" and form.is_valid():
        version = form.cleaned_data["version"]
        verb = partial(poolers.change, pooler, form.values(), version, person(request.user))
        tried = attempt(form, verb, current=pooler)
        if tried.saved:
            return _saved(request, *tried.saved)
        context, status = context | tried.context, tried.status
    return render(request, "pools/pooler_form.html", context, status=status)


def _saved(request: HttpRequest, pooler: Pooler, reason: str) -> HttpResponse:
    if reason:
        unusable = _("Pooler %(pooler)s is saved, but can't be used yet: %(reason)s")
        messages.warning(request, unusable % {"pooler": pooler, "reason": reason})
    else:
        usable = _("Pooler %(pooler)s is saved; its console answered: %(version)s.")
        messages.success(request, usable % {"pooler": pooler, "version": pooler.server_version})
    if pooler.commands_refused:
        messages.info(request, pooler.commands_refused)
    return redirect("pooler-detail", pooler.pk)


@require_POST
@needs("pooler.check")
def pooler_check(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Check the console, the folder and the drift now."""
    pooler = find(request, Pooler.objects.all(), pk=pk)
    reason = poolers.check(pooler)
    if reason:
        messages.error(request, _("The check failed: %(reason)s") % {"reason": reason})
        return redirect("pooler-detail", pk)
    drift.check(pooler)
    if not task_queue.is_ours(pooler):
        task_queue.request_check(pooler.pk)
    pooler.refresh_from_db(fields=["drift"])
    if pooler.drift:
        drifted = _("The console answered, but %(pooler)s has drifted from what was applied.")
        messages.warning(request, drifted % {"pooler": pooler})
    else:
        messages.success(request, _("The console answered: %(version)s.") % {"version": pooler.server_version})
    return redirect("pooler-detail", pk)


@require_POST
@needs("pooler.apply")
@managed_only
def pooler_apply(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Queue an apply of the pooler's pools; `drift=overwrite` replaces manual edits too."""
    pooler = find(request, Pooler.objects.all(), pk=pk)
    deployment.reset_to_pending(pooler)
    try:
        if request.POST.get("drift") == "overwrite":
            task_queue.ask_to_overwrite(pooler.pk, person(request.user))
        else:
            task_queue.ask([pooler.pk], person(request.user))
    except (IllegalTransition, QueueDown) as error:
        messages.error(request, str(error))
    else:
        messages.info(request, _("A worker applies the pools of %(pooler)s.") % {"pooler": pooler})
    return redirect("pooler-detail", pk)


@needs("pooler.remove", destroys=gettext_lazy("Unregister the pooler"))
def pooler_delete(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Delete the record of a pooler after its name was typed."""
    pooler = find(request, Pooler.objects.all(), pk=pk)
    context: dict[str, object] = {"pooler": pooler, "pools": pooler.pools.all(), "typed": request.POST.get("name")}
    if request.method == "POST" and context["typed"] == pooler.name:
        try:
            poolers.remove(pooler)
        except IllegalTransition as error:
            return render(request, "pools/pooler_delete.html", context | {"refused": str(error)}, status=error.status)
        else:
            forgotten = _("Pooler %(pooler)s was removed from the panel; its files and the program stay as they are.")
            messages.success(request, forgotten % {"pooler": pooler.name})
            return redirect("pooler-list")
    return render(request, "pools/pooler_delete.html", context, status=422 if request.method == "POST" else 200)
