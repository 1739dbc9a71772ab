"""The moving parts of the pages: what the poolers' consoles say now, and how far an apply has come."""

from collections.abc import Iterable
from typing import Any
from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.urls import reverse
from django.views.decorators.http import require_safe
from django_htmx.http import HttpResponseClientRedirect, reselect, reswap, retarget

from pools.deployment import live_files
from pools.models import Pool, Pooler, PoolerState, PoolState
from pools.monitoring import sampler
from pools.monitoring.sampler import ConsoleSnapshot
from pools.poolers import KINDS, driver
from pools.poolers.base import ConsoleSample, PoolFigures

PAGE_WAITS_S = 3.0  # for consoles; one that answers later has its figures with the next look


def pool_rows(pools: Iterable[Pool]) -> list[dict[str, Any]]:
    """Each pool with its figures, one console query per pooler; `error` where its pooler does not answer."""
    listed = list(pools)
    snapshots = sampler.snapshots_of((pool.pooler for pool in listed), PAGE_WAITS_S)
    return [
        {
            "pool": pool,
            "figures": snapshots[pool.pooler_id].figures.get(pool.name, PoolFigures()),
            "error": snapshots[pool.pooler_id].error,
            "uncounted": KINDS[pool.pooler.kind].uncounted,
        }
        for pool in listed
    ]


def pool_state(pool: Pool) -> dict[str, Any]:
    """The context of a pool's moving card: its state, the revision that carries it, its figures."""
    answers = pool.pooler.state == PoolerState.ONLINE
    snapshot = (
        sampler.latest(pool.pooler) if answers else ConsoleSnapshot(error=pool.pooler.error or "it was not checked yet")
    )
    revision = pool.pooler.revisions.first()
    if revision and pool.state == PoolState.PENDING and revision.created_at < pool.updated_at:
        revision = None  # what came before the wish tells nothing of it
    return {
        "pool": pool,
        "revision": revision,
        "is_moving": pool.state == PoolState.PENDING,
        "figures": snapshot.figures.get(pool.name, PoolFigures()),
        "uncounted": KINDS[pool.pooler.kind].uncounted,
        "look_error": snapshot.error,
    }


def console_rows(pooler: Pooler) -> dict[str, Any]:
    """The context of a pooler's moving table: column names, rows of values, the error instead."""
    answers = pooler.state == PoolerState.ONLINE
    snapshot = sampler.latest(pooler) if answers else ConsoleSnapshot(error=pooler.error or "it was not checked yet")
    table = driver(pooler).live_table(ConsoleSample(snapshot.figures, snapshot.counters, snapshot.rows))
    return {"pooler": pooler, "look_error": snapshot.error, **vars(table)}


@require_safe
def pool_live(request: HttpRequest, pk: UUID) -> HttpResponse:
    """The moving card of a pool, asked for each second or so; a pool that is gone leads to the list.

    A settled card asks for its figures only, so that what a reader opened in it stays open; once the state is not
    what `was` says, the whole card, the buttons and the files follow.
    """
    pool = Pool.objects.select_related("pooler", "cluster").filter(pk=pk).first()
    if pool is None:
        return HttpResponseClientRedirect(reverse("pool-list"))
    context, was = pool_state(pool), request.GET.get("was")
    if was == pool.state:
        return render(request, "pools/includes/pool_live.html", context)
    context |= {"live": live_files.live_files(pool.pooler), "just_settled": was == PoolState.PENDING}
    answer = render(request, "pools/includes/pool_live.html", context)
    return retarget(reswap(reselect(answer, "#pool-live"), "outerHTML"), "#pool-live")


@require_safe
def pooler_live(request: HttpRequest, pk: UUID) -> HttpResponse:
    """The table of SHOW POOLS of a pooler."""
    return render(request, "pools/includes/pooler_live.html", console_rows(get_object_or_404(Pooler, pk=pk)))
