"""Pages of entries: what clients can name on the poolers and no pool of the panel stands for."""

from functools import partial
from urllib.parse import urlencode
from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe
from django_htmx.http import HttpResponseClientRedirect

from core.accounts.access import Access, allow, find, needs
from core.accounts.team_lists import of_team
from core.lib.long_lists import LongList
from pools.advice import client_advice, client_limits, mode_linter, modes
from pools.advice.client_advice import Situation
from pools.connection_strings import box
from pools.connection_strings.box import BoxChoices
from pools.forms.record_choice import Filter, filter_by
from pools.inventory import entries
from pools.models import Cluster, Entry, Mode, Pooler
from pools.models.entries import EntryQuerySet
from pools.monitoring import history, marks
from pools.poolers import KINDS
from pools.poolers.console_sample import PoolFigures
from pools.views import monitoring
from pools.views.connections import connection_answer
from pools.views.live import UNASKED, entry_rows, health_of, snapshot_of
from pools.views.monitoring import Subject
from pools.views.pool_verbs import ENTRY_PAGES, condition_context

PAGE_SIZE, CARD_SIZE = 50, 20
# What a row of the list shows before the consoles are asked: all of the entry, and of its pooler and cluster the names
# and how many processes have a pool of its size each.
OF_OTHERS = [
    "pooler__name",
    "pooler__kind",
    "pooler__processes",
    "pooler__desired_processes",
    "pooler__team__name",
    "cluster__name",
]
LISTED = [*(field.name for field in Entry._meta.concrete_fields), *OF_OTHERS]


@require_safe
@needs("entry.view")
def entry_list(request: HttpRequest) -> HttpResponse:
    """List the entries that are not managed here, filtered as the pools are; htmx polls the rows."""
    size = CARD_SIZE if "first" in request.GET else PAGE_SIZE
    polls, rows = bool(request.htmx), found(request)  # type: ignore[attr-defined]  # the middleware adds it
    page = LongList(rows if polls else rows.only(*LISTED), size).get_page(request.GET.get("page"))
    if polls:
        on_pooler = request.GET.get("pooler")
        return render(request, "pools/includes/entry_rows.html", {"entries": entry_rows(page), "on_pooler": on_pooler})
    context: dict[str, object] = {
        "page": page,
        "chosen": request.GET,
        "entries": [{"entry": one, **UNASKED} for one in page],
    }
    access = Access.of(request)
    context["record_filters"] = record_filters(request, access)
    return render(request, "pools/entry_list.html", context)


def record_filters(request: HttpRequest, access: Access) -> list[Filter]:
    """Return the filters of a list by the names of clusters and poolers."""
    clusters, poolers = (access.visible(model.objects.order_by("name")) for model in (Cluster, Pooler))
    return [
        filter_by("cluster", clusters, request.GET.get("cluster", ""), _("Cluster"), _("Any cluster")),
        filter_by("pooler", poolers, request.GET.get("pooler", ""), _("Pooler"), _("Any pooler")),
    ]


def card(request: HttpRequest) -> dict[str, object]:
    """Return the context of the card of the first entries that are not managed here, filtered as the page is."""
    return _card(found(request), {name: request.GET.get(name, "") for name in ("q", "pooler", "cluster", "team")})


def card_of(pooler: Pooler) -> dict[str, object]:
    """Return the context of the card on a pooler's own page."""
    return _card(entries.unmanaged().filter(pooler=pooler), {"pooler": pooler.name}) | {"on_pooler": True}


def _card(rows: EntryQuerySet, given: dict[str, str]) -> dict[str, object]:
    query = urlencode({name: value for name, value in given.items() if value})
    here = reverse("entry-list")
    return {
        "entries": [{"entry": entry, **UNASKED} for entry in rows.only(*LISTED)[:CARD_SIZE]],
        "entry_count": rows.count(),
        "entries_url": f"{here}?{query}",
        "entry_rows_url": f"{here}?{query}&first",
    }


def found(request: HttpRequest) -> EntryQuerySet:
    """Return the entries that the filters leave, as those of pools do; `state` is one of pools alone."""
    rows = Access.of(request).visible(entries.unmanaged())
    if query := request.GET.get("q", "").strip():
        rows = rows.found_by(query)
    if request.GET.get("state"):
        rows = rows.none()
    for field in ("pooler", "cluster"):
        if name := request.GET.get(field):
            rows = rows.filter(**{f"{field}__name": name})
    return of_team(request, rows, "pooler__team")


@require_safe
@needs("entry.view")
def entry_detail(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Show one entry: its figures, connection strings, server and events."""
    return _detail(request, _get(request, pk), BoxChoices())


def _get(request: HttpRequest, pk: UUID) -> Entry:
    return find(request, Entry.objects.select_related("pooler", "cluster", "pool"), pk=pk)


def _detail(request: HttpRequest, entry: Entry, shown: BoxChoices) -> HttpResponse:
    context = {
        "box": box.of_entry(entry, shown),
        "mode": modes.of(entry.mode),
        "made": entry.pooler.entries.filter(automatic=True)[:CARD_SIZE] if entry.is_fallback else (),
        **condition_context(entry, ENTRY_PAGES),
        **monitoring.live_part(entry),
        **_figures(entry),
    }
    return render(request, "pools/entry_detail.html", context)


def _figures(entry: Entry) -> dict[str, object]:
    snapshot = snapshot_of(entry.pooler)
    return {
        "entry": entry,
        "figures": (figures := snapshot.figures.get(entry.name, PoolFigures())),
        "health": health_of(entry, figures, snapshot.error),
        "uncounted": KINDS[entry.pooler.kind].uncounted,
        "look_error": snapshot.error,
    }


@require_safe
@needs("entry.view")
def entry_live(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Render the figures of an entry, which poll; redirect to the pooler's list once the entry is gone."""
    entry = Access.of(request).visible(Entry.objects.select_related("pooler")).filter(pk=pk).first()
    if entry is None:
        return HttpResponseClientRedirect(reverse("entry-list"))
    return render(request, "pools/includes/entry_figures.html", _figures(entry))


@require_POST
@never_cache
@needs("entry.reveal")
def entry_connection(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Render the connection box; with `as`, return one text."""
    entry = _get(request, pk)
    allow(request, entry.cluster, to="cluster.reveal")  # the box has the login of the cluster behind it
    return connection_answer(request, entry, box.of_entry, _detail)


@require_safe
@needs("entry.view")
def entry_monitoring(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Show the figures of one entry, live or over the chosen window."""
    entry = _get(request, pk)
    found, happened = partial(history.of_entry, entry), partial(marks.of_entry, entry)
    subject = Subject(entry.pooler, entry.name, found, happened)
    context = {"entry": entry, "source": reverse("api-entry-live", args=[pk])}
    context["events"] = monitoring.events_of(entry.pk)
    return monitoring.page(request, subject, "pools/entry_monitoring.html", context)


@require_safe
@needs("entry.view")
def entry_clients(request: HttpRequest, pk: UUID) -> HttpResponse:
    """List the changes for each client, which depend on the mode and on the pooler's release."""
    entry = _get(request, pk)
    now = Situation(entry.mode, client_limits.of(entry.pooler))
    context = {"entry": entry, "mode": modes.of(entry.mode), "shared": entry.mode != Mode.SESSION, "now": now}
    context |= {"general": client_advice.general(now), "advice": client_advice.advise(now)}
    return render(request, "pools/entry_clients.html", context)


@require_safe
@never_cache
@needs("entry.check")
def entry_mode_check(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Lint the entry in its own mode, or in the one given as `?mode=`, where its server is a registered cluster."""
    entry = _get(request, pk)
    asked = request.GET.get("mode", entry.mode)
    mode = Mode(asked) if asked in Mode.values else Mode(entry.mode)
    context: dict[str, object] = {"entry": entry, "mode": mode, "modes": Mode, "words": modes.of(mode)}
    if entry.cluster:
        spec = entry.as_pool()
        spec.mode = mode
        context["report"] = mode_linter.lint(spec)
    return render(request, "pools/entry_mode_check.html", context)
