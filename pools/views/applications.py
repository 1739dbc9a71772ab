"""Pages of who uses a pool, an entry, a pooler or a cluster now, and of what their statements cost."""

from uuid import UUID

from django.db.models import Model
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from core.accounts.access import Access, find, needs
from pools.diagnosis import apps, shared, statements
from pools.diagnosis.apps import Apps
from pools.diagnosis.diagnosis import Target, place_of
from pools.errors import ClusterUnreachable, PoolsError
from pools.models import Cluster, Entry, Pool, Pooler
from pools.poolers.pool_queue import PoolQueue


@never_cache
@require_safe
@needs("pool.view")
def pool_apps(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Show the applications and users of a pool."""
    pool = find(request, Pool.objects.select_related("pooler", "cluster"), pk=pk)
    return _apps_of_target(request, "pool", pool)


@never_cache
@require_safe
@needs("entry.view")
def entry_apps(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Show those of an entry; one that is a pool has the page of that."""
    entry = find(request, Entry.objects.select_related("pooler", "cluster"), pk=pk)
    return redirect("pool-apps", entry.pool_id) if entry.pool_id else _apps_of_target(request, "entry", entry)


@never_cache
@require_safe
@needs("pooler.view")
def pooler_apps(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Show those of all pools of a pooler."""
    pooler = find(request, Pooler.objects.all(), pk=pk)
    try:
        return _apps_page(request, "pooler", pooler, apps.of_pooler(Access.of(request), pooler))
    except PoolsError as error:
        return _unreachable(request, "pooler", pooler, error)


@never_cache
@require_safe
@needs("cluster.view")
def cluster_apps(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Show those that have sessions on the primary of a cluster, directly or through a pooler."""
    cluster = find(request, Cluster.objects.select_related("status").prefetch_related("nodes"), pk=pk)
    try:
        return _apps_page(request, "cluster", cluster, apps.of_cluster(cluster))
    except PoolsError as error:
        return _unreachable(request, "cluster", cluster, error)


def _apps_of_target(request: HttpRequest, noun: str, target: Target) -> HttpResponse:
    try:
        return _apps_page(request, noun, target, apps.of_target(Access.of(request), target))
    except PoolsError as error:
        return _unreachable(request, noun, target, error)


def _apps_page(request: HttpRequest, noun: str, record: Model, found: Apps) -> HttpResponse:
    rows = [(row, found.parts_of(row)) for row in found.rows[: apps.SHOWN]]
    context = {"apps": found, "rows": rows, "shows_pools": noun == "pooler", "most_shown": apps.SHOWN}
    return render(request, "pools/apps.html", _context(noun, record) | context)


def _unreachable(request: HttpRequest, noun: str, record: Model, error: PoolsError) -> HttpResponse:
    return render(request, "pools/apps.html", _context(noun, record) | {"unreachable": str(error)})


@never_cache
@require_safe
@needs("pool.view")
def pool_statements(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Show what the statements of a pool's database cost."""
    pool = find(request, Pool.objects.select_related("pooler", "cluster"), pk=pk)
    return _statements_page(request, "pool", pool)


@never_cache
@require_safe
@needs("entry.view")
def entry_statements(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Show the same of an entry's database; one that is a pool has the page of that."""
    entry = find(request, Entry.objects.select_related("pooler", "cluster"), pk=pk)
    if entry.pool_id:
        return redirect("pool-statements", entry.pool_id)
    return _statements_page(request, "entry", entry)


def _statements_page(request: HttpRequest, noun: str, target: Target) -> HttpResponse:
    """Read them by `?sort=`, for those who see the cluster: what a server runs is shown to nobody else."""
    order = request.GET.get("sort", "")
    order = order if order in statements.ORDERS else "total"
    orders = [(name, label) for name, (label, _column) in statements.ORDERS.items()]
    context = _context(noun, target) | {"orders": orders, "order": order}
    if target.cluster_id and not shared.sees_cluster(Access.of(request), target.cluster_id):
        context["is_of_others"] = True
    elif place := place_of(target, PoolQueue(target.name, 0)):
        try:
            context["top"] = statements.of_database(place, target.database, order)
        except ClusterUnreachable as error:
            context["unreachable"] = str(error)
    return render(request, "pools/statements.html", context)


def _context(noun: str, record: Model) -> dict[str, object]:
    """Return what the frame of a page of this record is made of."""
    return {
        noun: record,
        "record": record,
        "detail_page": f"{noun}-detail",
        "tabs": f"pools/includes/{noun}_tabs.html",
        "heading": f"pools/includes/{noun}_title.html",
    }
