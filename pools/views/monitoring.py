"""The pages of what pools and poolers do: live, and over an hour, a day or a week."""

from dataclasses import dataclass, replace
from typing import Any
from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_safe

from pools.models import Event, Pool, Pooler, PoolerState
from pools.monitoring import history, recorder, rollup, sampler
from pools.monitoring.history import RANGES, History
from pools.monitoring.rates import FIGURES, Reading
from pools.monitoring.sampler import ConsoleSnapshot
from pools.poolers import driver

LIVE = "live"
EVENTS_SHOWN = 10
CHOICES = [(LIVE, "Live"), *((name, f"Last {name}") for name in RANGES)]


@dataclass(frozen=True)
class Tile:
    """One figure: what it is called, its unit, and where it comes from."""

    name: str
    label: str
    unit: str
    source: str


TILES = (
    Tile("cl_waiting", "Clients waiting", "", "cl_waiting of SHOW POOLS: they wait for a server connection"),
    Tile("cl_active", "Clients active", "", "cl_active of SHOW POOLS: linked to a server connection, or idle"),
    Tile("sv_active", "Servers active", "", "sv_active of SHOW POOLS: server connections in use"),
    Tile("sv_idle", "Servers idle", "", "sv_idle of SHOW POOLS: ready for a client"),
    Tile("sv_used", "Servers used", "", "sv_used of SHOW POOLS: idle for long, to be tested before the next client"),
    Tile(
        "maxwait_ms", "Longest wait", "ms", "maxwait of SHOW POOLS: how long the first client in the queue has waited"
    ),
    Tile("queries_per_s", "Queries", "/s", "total_query_count of SHOW STATS, its growth"),
    Tile("transactions_per_s", "Transactions", "/s", "total_xact_count of SHOW STATS, its growth"),
    Tile("received_bytes_per_s", "Traffic in", "bytes/s", "total_received of SHOW STATS, its growth: from clients"),
    Tile("sent_bytes_per_s", "Traffic out", "bytes/s", "total_sent of SHOW STATS, its growth: to clients"),
    Tile("query_ms", "Average query", "ms", "total_query_time over total_query_count, waiting for a server included"),
    Tile("transaction_ms", "Average transaction", "ms", "total_xact_time over total_xact_count"),
    Tile("wait_ms", "Average wait", "ms", "total_wait_time over total_xact_count: for a server, a transaction"),
)


@require_safe
def pool_monitoring(request: HttpRequest, pk: UUID) -> HttpResponse:
    """What a pool does and did."""
    pool = get_object_or_404(Pool.objects.select_related("pooler", "cluster"), pk=pk)
    chosen = _chosen(request)
    found = history.of_pool(pool, RANGES.get(chosen, RANGES["hour"]))
    snapshot = snapshot_of(pool.pooler) if chosen == LIVE else ConsoleSnapshot()
    context = {"pool": pool, "source": reverse("api-pool-live", args=[pk]), "events": events_of(pool.pk)}
    drawn = recent(pool) if chosen == LIVE else course(found, chosen)
    context |= {"course": drawn, **figures_of(pool.pooler, snapshot, snapshot.reading(pool.name))}
    return render(request, "pools/pool_monitoring.html", context | _choice(chosen, found, snapshot))


@require_safe
def pooler_monitoring(request: HttpRequest, pk: UUID) -> HttpResponse:
    """What all pools of a pooler do and did together."""
    pooler = get_object_or_404(Pooler, pk=pk)
    chosen = _chosen(request)
    found = history.of_pooler(pooler, RANGES.get(chosen, RANGES["hour"]))
    snapshot = snapshot_of(pooler) if chosen == LIVE else ConsoleSnapshot()
    context = {"pooler": pooler, "source": reverse("api-pooler-live", args=[pk]), "events": events_of(pooler.pk)}
    drawn = recent(pooler) if chosen == LIVE else course(found, chosen)
    context |= {"course": drawn, **figures_of(pooler, snapshot, snapshot.whole())}
    return render(request, "pools/pooler_monitoring.html", context | _choice(chosen, found, snapshot))


def live_part(subject: Pool | Pooler) -> dict[str, Any]:
    """The context of the moving charts on a pool's or pooler's own page, and of its events."""
    noun = "pool" if isinstance(subject, Pool) else "pooler"
    source = reverse(f"api-{noun}-live", args=[subject.pk])
    pooler = subject if isinstance(subject, Pooler) else subject.pooler
    described = {"course": recent(subject), "source": source, "events": events_of(subject.pk)}
    return described | _counting(pooler)


def snapshot_of(pooler: Pooler) -> ConsoleSnapshot:
    """What its console says, where the last check could log in."""
    answers = pooler.state == PoolerState.ONLINE
    return sampler.latest(pooler) if answers else ConsoleSnapshot(error=pooler.error or "it was not checked yet")


def figures_of(pooler: Pooler, snapshot: ConsoleSnapshot, reading: Reading) -> dict[str, Any]:
    """The tiles of what its kind counts, with their values; no values where the console did not answer."""
    sources = driver(pooler).figure_sources
    listed = [replace(tile, source=sources[tile.name]) for tile in TILES if tile.name in sources] if sources else TILES
    tiles = [{"tile": tile, "value": None if snapshot.error else reading[tile.name]} for tile in listed]
    return {"tiles": tiles, **_counting(pooler)}


def _counting(pooler: Pooler) -> dict[str, Any]:
    """What its kind of pooler does not count, and what its figures of connections are read from."""
    kind = driver(pooler)
    return {"uncounted": kind.uncounted, "connections_source": kind.connections_source}


def course(found: History, chosen: str) -> dict[str, Any]:
    """What the charts are drawn from: rows of the columns, of averages first; missing steps are not among them."""
    columns = ["t", *FIGURES, *(f"{name}_max" for name in FIGURES)]
    rows = [[point.at, *_rounded(point.average), *_rounded(point.maximum)] for point in found.points]
    span = {"begins": found.begins, "ends": found.ends, "step": found.range.step * 60}
    return {"range": chosen, "columns": columns, "rows": rows, "zone": timezone.get_current_timezone_name(), **span}


def recent(subject: Pool | Pooler) -> dict[str, Any]:
    """The same of the last minutes, as they were looked at for the record; live figures follow."""
    pooler, name = (subject.pooler_id, subject.name) if isinstance(subject, Pool) else (subject.pk, None)
    snapshots = rollup.course(recorder.recent(pooler), name)
    rows = [[at, *_rounded(reading)] for at, reading in snapshots]
    zone = timezone.get_current_timezone_name()
    return {"range": LIVE, "columns": ["t", *FIGURES], "rows": rows, "zone": zone, "step": recorder.EVERY_S}


def events_of(subject: UUID) -> list[Event]:
    """The latest events of a pool, pooler or cluster, the open ones first; a pooler's with those of its pools."""
    described = Event.objects.reportable()
    mine = described.filter(subject_id=subject) | described.filter(pooler_id=subject)
    return [*mine.filter(closed_at=None)[:EVENTS_SHOWN], *mine.exclude(closed_at=None)[:EVENTS_SHOWN]][:EVENTS_SHOWN]


def _chosen(request: HttpRequest) -> str:
    asked = request.GET.get("range", LIVE)
    return asked if asked in RANGES else LIVE


def _choice(chosen: str, found: History, snapshot: ConsoleSnapshot) -> dict[str, Any]:
    return {"chosen": chosen, "choices": CHOICES, "history": found, "look_error": snapshot.error}


def _rounded(figures: dict[str, float | None]) -> list[float | None]:
    """Four digits behind the point are more than a chart can show."""
    return [None if figures[name] is None else round(figures[name] or 0, 4) for name in FIGURES]
