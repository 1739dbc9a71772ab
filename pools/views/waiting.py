"""Pages that tell why the clients of a pool, an entry or a pooler wait; htmx polls their live part."""

from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from core.accounts.access import Access, find, needs
from pools.diagnosis import shared
from pools.errors import PoolerUnreachable
from pools.models import Entry, Pool, Pooler

QUEUE_SHOWN = 10


@never_cache
@require_safe
@needs("pool.view")
def pool_waiting(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Show the queue of a pool, who holds its servers, who blocks whom, and the cause."""
    pool = find(request, Pool.objects.select_related("pooler", "cluster"), pk=pk)
    context = {"pool": pool, "found": [(pool, shared.read_by(Access.of(request), pool))], "queue_shown": QUEUE_SHOWN}
    return render(request, "pools/pool_waiting.html", context)


@never_cache
@require_safe
@needs("entry.view")
def entry_waiting(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Show the same of an entry; one that is a pool has the page of that."""
    entry = find(request, Entry.objects.select_related("pooler", "cluster"), pk=pk)
    if entry.pool_id:
        return redirect("pool-waiting", entry.pool_id)
    context = {
        "entry": entry,
        "found": [(entry, shared.read_by(Access.of(request), entry))],
        "queue_shown": QUEUE_SHOWN,
    }
    return render(request, "pools/entry_waiting.html", context)


@never_cache
@require_safe
@needs("pooler.view")
def pooler_waiting(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Show the same of the pools of a pooler whose clients have waited longest."""
    pooler = find(request, Pooler.objects.all(), pk=pk)
    context: dict[str, object] = {"pooler": pooler, "queue_shown": QUEUE_SHOWN, "is_of_pooler": True}
    try:
        context["found"] = shared.of_pooler(Access.of(request), pooler)
    except PoolerUnreachable as error:
        context["unreachable"] = str(error)
    return render(request, "pools/pooler_waiting.html", context)
