"""Parts of pages that poll: the latest figures of the poolers' consoles, and the progress of an apply."""

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import TypedDict
from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe
from django_htmx.http import HttpResponseClientRedirect, reselect, reswap, retarget

from core.accounts.access import Access, find, needs
from pools import connection_strings
from pools.clusters import endpoints
from pools.deployment import live_files
from pools.models import Entry, Pool, Pooler, PoolerState, PoolState, ProcessRow, ProcessState
from pools.monitoring import health, sampler
from pools.monitoring.sampler import ConsoleSnapshot
from pools.poolers import KINDS, driver
from pools.poolers.console_sample import ConsoleSample, PoolFigures, ProcessFigures

PAGE_WAITS_S = 3.0  # longest wait for consoles; figures that arrive later are shown at the next poll


class _Figures(TypedDict):
    """The live figures of a pool or an entry in a row of a list."""

    figures: PoolFigures
    error: str  # the pooler's
    uncounted: frozenset[str]  # figures that its kind of pooler does not count


class PoolRow(_Figures):
    """A pool with its live figures, for a row of a list."""

    pool: Pool
    health: str  # one of `Health`; empty until the console was asked


class EntryRow(_Figures):
    """An entry with its live figures, for a row of a list."""

    entry: Entry
    uri: str
    health: str  # as of a pool


# Of a row whose pooler was not asked yet: an answer to the page itself, which polls the figures afterwards. A template
# that looks for a key in vain takes longer than one that finds it.
UNASKED: dict[str, object] = {"figures": None, "error": "", "uncounted": frozenset[str](), "uri": "", "health": ""}


class ProcessCells(TypedDict):
    """A process that shares a pooler's port: what the last check found, and what it does now, None if unknown."""

    name: str
    main_file: str
    pid: int | None
    socket: str
    peer_id: int | None
    version: str
    state: str
    cl_active: int | None
    cl_waiting: int | None
    servers: int | None
    error: str


def pool_rows(pools: Iterable[Pool]) -> list[PoolRow]:
    """Return each pool with its figures, from one console query per pooler, or with the `error` of its pooler."""
    listed = list(pools)
    snapshots = sampler.snapshots_of((pool.pooler for pool in listed), PAGE_WAITS_S)
    return [
        {
            "pool": pool,
            "figures": (figures := snapshots[pool.pooler_id].figures.get(pool.name, PoolFigures())),
            "health": health_of(pool, figures, snapshots[pool.pooler_id].error),
            "error": snapshots[pool.pooler_id].error,
            "uncounted": KINDS[pool.pooler.kind].uncounted,
        }
        for pool in listed
    ]


def health_of(record: Pool | Entry, figures: PoolFigures, error: str) -> str:
    """Return the health in a word; unknown where the console does not answer."""
    return health.Health.UNKNOWN.value if error else health.of_figures(record, figures).value


def entry_rows(entries: Iterable[Entry]) -> list[EntryRow]:
    """Return each entry with its figures and its connection string, as `pool_rows` does."""
    listed = list(entries)
    snapshots = sampler.snapshots_of((entry.pooler for entry in listed), PAGE_WAITS_S)
    return [
        {
            "entry": entry,
            "uri": connection_strings.render(endpoints.of_entry(entry), "uri", reveal=False),
            "figures": (figures := snapshots[entry.pooler_id].figures.get(entry.name, PoolFigures())),
            "health": health_of(entry, figures, snapshots[entry.pooler_id].error),
            "error": snapshots[entry.pooler_id].error,
            "uncounted": KINDS[entry.pooler.kind].uncounted,
        }
        for entry in listed
    ]


def snapshot_of(pooler: Pooler) -> ConsoleSnapshot:
    """Return the console's latest figures, or the reason why the last check could not log in."""
    if pooler.state == PoolerState.ONLINE:
        return sampler.latest(pooler)
    return ConsoleSnapshot(error=pooler.error or _("it has not been checked yet"))


def pool_state(pool: Pool) -> dict[str, object]:
    """Return the context of a pool's live card: its state, the revision that applies it, its figures."""
    snapshot = snapshot_of(pool.pooler)
    revision = pool.pooler.revisions.first()
    if revision and pool.state == PoolState.PENDING and revision.created_at < pool.updated_at:
        revision = None  # an older revision says nothing about the latest change
    return {
        "pool": pool,
        "revision": revision,
        "is_moving": pool.state == PoolState.PENDING,
        "figures": (figures := snapshot.figures.get(pool.name, PoolFigures())),
        "health": health_of(pool, figures, snapshot.error),
        "sampled_at": datetime.fromtimestamp(snapshot.at, UTC) if snapshot.at else None,
        "uncounted": KINDS[pool.pooler.kind].uncounted,
        "look_error": snapshot.error,
    }


def console_rows(pooler: Pooler) -> dict[str, object]:
    """Return the context of a pooler's live table: column names and rows, or the error instead."""
    snapshot = snapshot_of(pooler)
    table = driver(pooler).live_table(ConsoleSample(snapshot.figures, snapshot.counters, snapshot.rows))
    processes = _process_rows(pooler, snapshot)
    awaited = driver(pooler).processes_awaited(pooler)
    context = {"look_error": snapshot.error, "process_rows": processes, "processes_awaited": awaited}
    return {"pooler": pooler, **context, **vars(table)}


def _process_rows(pooler: Pooler, snapshot: ConsoleSnapshot) -> list[ProcessCells]:
    figures = {one.name: one for one in snapshot.processes}
    listed = pooler.processes if pooler.shares_its_port else []
    return [_process_row(one, figures.get(one["name"])) for one in listed]


def _process_row(process: ProcessRow, now: ProcessFigures | None) -> ProcessCells:
    error = now.error if now else ""
    current = None if error else now
    return {
        **process,
        "cl_active": current.cl_active if current else None,
        "cl_waiting": current.cl_waiting if current else None,
        "servers": current.sv_active + current.sv_idle if current else None,
        "state": ProcessState.UNREACHABLE if error else process["state"],
        "error": error,
    }


@require_safe
@needs("pool.view")
def pool_live(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Render the live card of a pool, which polls about once a second; redirect to the list once the pool is gone.

    A settled card fetches only its figures, so that what a reader opened in it stays open. Once the state differs
    from `was`, the answer holds the whole card, the buttons and the files.
    """
    pool = Access.of(request).visible(Pool.objects.select_related("pooler", "cluster")).filter(pk=pk).first()
    if pool is None:
        return HttpResponseClientRedirect(reverse("pool-list"))
    context, was = pool_state(pool), request.GET.get("was")
    if was == pool.state:
        return render(request, "pools/includes/pool_live.html", context)
    context |= {"live": live_files.live_files(pool.pooler), "just_settled": was == PoolState.PENDING}
    answer = render(request, "pools/includes/pool_live.html", context)
    return retarget(reswap(reselect(answer, "#pool-live"), "outerHTML"), "#pool-live")


@require_safe
@needs("pooler.view")
def pooler_live(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Render the SHOW POOLS table of a pooler."""
    return render(request, "pools/includes/pooler_live.html", console_rows(find(request, Pooler.objects.all(), pk=pk)))
