"""Monitoring pages of pools and poolers: live, and over an hour, a day or a week."""

from dataclasses import dataclass, replace
from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_safe

from core.accounts.access import find, needs
from pools.models import Event, Pool, Pooler
from pools.monitoring import history, recorder, rollup
from pools.monitoring.history import RANGES, History
from pools.monitoring.rates import FIGURES, Reading
from pools.monitoring.sampler import ConsoleSnapshot
from pools.poolers import driver
from pools.views.live import snapshot_of

LIVE = "live"
EVENTS_SHOWN = 10
CHOICES = [(LIVE, _("Live")), ("hour", _("Last hour")), ("day", _("Last day")), ("week", _("Last week"))]


@dataclass(frozen=True)
class Tile:
    """One figure with its label, its unit, and the console column that it is read from."""

    name: str
    label: str | Promise
    unit: str
    source: str | Promise


TILES = (
    Tile("cl_waiting", _("Clients waiting"), "", _("cl_waiting of SHOW POOLS: they wait for a server connection")),
    Tile("cl_active", _("Clients active"), "", _("cl_active of SHOW POOLS: linked to a server connection, or idle")),
    Tile("sv_active", _("Servers active"), "", _("sv_active of SHOW POOLS: server connections in use")),
    Tile("sv_idle", _("Servers idle"), "", _("sv_idle of SHOW POOLS: ready for a client")),
    Tile(
        "sv_used",
        _("Servers used"),
        "",
        _("sv_used of SHOW POOLS: idle for so long that they are tested before the next client"),
    ),
    Tile(
        "maxwait_ms",
        _("Longest wait"),
        "ms",
        _("maxwait of SHOW POOLS: how long the first client in the queue has waited"),
    ),
    Tile("queries_per_s", _("Queries"), "/s", _("growth of total_query_count in SHOW STATS")),
    Tile("transactions_per_s", _("Transactions"), "/s", _("growth of total_xact_count in SHOW STATS")),
    Tile("received_bytes_per_s", _("Traffic in"), "bytes/s", _("growth of total_received in SHOW STATS: from clients")),
    Tile("sent_bytes_per_s", _("Traffic out"), "bytes/s", _("growth of total_sent in SHOW STATS: to clients")),
    Tile(
        "query_ms",
        _("Average query"),
        "ms",
        _("total_query_time over total_query_count, including the wait for a server connection"),
    ),
    Tile("transaction_ms", _("Average transaction"), "ms", _("total_xact_time over total_xact_count")),
    Tile(
        "wait_ms",
        _("Average wait"),
        "ms",
        _("total_wait_time over total_xact_count: the wait of a transaction for a server connection"),
    ),
)


@require_safe
@needs("pool.view")
def pool_monitoring(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Show the figures of one pool, live or over the chosen range."""
    pool = find(request, Pool.objects.select_related("pooler", "cluster"), pk=pk)
    chosen = chosen_range(request)
    found = history.of_pool(pool, RANGES.get(chosen, RANGES["hour"]))
    snapshot = snapshot_of(pool.pooler) if chosen == LIVE else ConsoleSnapshot()
    context = {"pool": pool, "source": reverse("api-pool-live", args=[pk]), "events": events_of(pool.pk)}
    drawn = recent(pool.pooler, pool.name) if chosen == LIVE else course(found, chosen)
    context |= {"course": drawn, **figures_of(pool.pooler, snapshot, snapshot.reading(pool.name))}
    return render(request, "pools/pool_monitoring.html", context | choice(chosen, found, snapshot))


@require_safe
@needs("pooler.view")
def pooler_monitoring(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Show the figures of all pools of a pooler together, live or over the chosen range."""
    pooler = find(request, Pooler.objects.all(), pk=pk)
    chosen = chosen_range(request)
    found = history.of_pooler(pooler, RANGES.get(chosen, RANGES["hour"]))
    snapshot = snapshot_of(pooler) if chosen == LIVE else ConsoleSnapshot()
    context = {"pooler": pooler, "source": reverse("api-pooler-live", args=[pk]), "events": events_of(pooler.pk)}
    drawn = recent(pooler) if chosen == LIVE else course(found, chosen)
    context |= {"course": drawn, **figures_of(pooler, snapshot, snapshot.whole())}
    return render(request, "pools/pooler_monitoring.html", context | choice(chosen, found, snapshot))


def live_part(subject: Pool | Pooler) -> dict[str, object]:
    """Return the context of the live charts and events on a pool's or pooler's own page."""
    is_pool = isinstance(subject, Pool)
    noun, name = ("pool", subject.name) if is_pool else ("pooler", None)
    source = reverse(f"api-{noun}-live", args=[subject.pk])
    pooler = subject if isinstance(subject, Pooler) else subject.pooler
    context = {"course": recent(pooler, name), "source": source, "events": events_of(subject.pk)}
    return context | counting(pooler)


def figures_of(pooler: Pooler, snapshot: ConsoleSnapshot, reading: Reading) -> dict[str, object]:
    """Return the tiles of the figures that this kind of pooler counts; their values are None after a console error."""
    sources = driver(pooler).figure_sources
    listed = [replace(tile, source=sources[tile.name]) for tile in TILES if tile.name in sources] if sources else TILES
    tiles = [{"tile": tile, "value": None if snapshot.error else reading[tile.name]} for tile in listed]
    return {"tiles": tiles, **counting(pooler)}


def counting(pooler: Pooler) -> dict[str, object]:
    """Return the figures that this kind does not count, and the source of its connection figures."""
    kind = driver(pooler)
    return {"uncounted": kind.uncounted, "connections_source": kind.connections_source}


def course(found: History, chosen: str) -> dict[str, object]:
    """Return the charts' data over a range: time, averages and maxima per step; missing steps are left out."""
    columns = ["t", *FIGURES, *(f"{name}_max" for name in FIGURES)]
    rows = [[point.at, *_rounded(point.average), *_rounded(point.maximum)] for point in found.points]
    span = {"begins": found.begins, "ends": found.ends, "step": found.range.step * 60}
    return {"range": chosen, "columns": columns, "rows": rows, "zone": timezone.get_current_timezone_name(), **span}


def recent(pooler: Pooler, name: str | None = None) -> dict[str, object]:
    """Return the charts' data of the last minutes of one pool or entry, or of all together without a name.

    They are the recorder's samples; live figures are appended to them.
    """
    snapshots = rollup.time_series(recorder.recent(pooler.pk), name)
    rows = [[at, *_rounded(reading)] for at, reading in snapshots]
    zone = timezone.get_current_timezone_name()
    return {"range": LIVE, "columns": ["t", *FIGURES], "rows": rows, "zone": zone, "step": recorder.EVERY_S}


def events_of(subject: UUID) -> list[Event]:
    """Return the latest events of a pool, pooler (with its pools) or cluster, open ones first."""
    reportable = Event.objects.reportable()
    about_subject = reportable.filter(subject_id=subject) | reportable.filter(pooler_id=subject)
    return [
        *about_subject.filter(closed_at=None)[:EVENTS_SHOWN],
        *about_subject.exclude(closed_at=None)[:EVENTS_SHOWN],
    ][:EVENTS_SHOWN]


def chosen_range(request: HttpRequest) -> str:
    """Return the range that `?range=` names; live figures for none, or an unknown one."""
    name = request.GET.get("range", LIVE)
    return name if name in RANGES else LIVE


def choice(chosen: str, found: History, snapshot: ConsoleSnapshot) -> dict[str, object]:
    """Return the context for the choice of a time range."""
    return {"chosen": chosen, "choices": CHOICES, "history": found, "look_error": snapshot.error}


def _rounded(figures: dict[str, float | None]) -> list[float | None]:
    """Round to four decimals, more than a chart can show."""
    return [None if figures[name] is None else round(figures[name] or 0, 4) for name in FIGURES]
