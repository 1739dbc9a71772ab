"""Pages that tell why the clients of a pool, an entry or a pooler wait; htmx polls their live part."""

from dataclasses import dataclass
from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from core.accounts.access import Access, find, needs
from pools.diagnosis import ending, shared
from pools.diagnosis.diagnosis import Diagnosis, Target
from pools.diagnosis.sessions import Session
from pools.errors import PoolerUnreachable
from pools.models import Entry, Pool, Pooler

QUEUE_SHOWN = 10


@dataclass(frozen=True)
class ShownDiagnosis:
    """A diagnosis with what its reader may end: sessions, and clients on the page `kill_page`, empty where none."""

    target: Target
    diagnosis: Diagnosis
    may_end: bool
    kill_page: str

    @property
    def to_end(self) -> list[tuple[Session, str]]:
        """The sessions whose end would help, each with why the panel does not end it, told to who may end others."""
        return [(one, ending.refusal(one) if self.may_end else "") for one in self.diagnosis.to_end]

    @classmethod
    def to(cls, access: Access, target: Target, diagnosis: Diagnosis) -> "ShownDiagnosis":
        """Return it for a reader."""
        noun = "pool" if isinstance(target, Pool) else "entry"
        may_end = diagnosis.place is not None and access.may("cluster.end_session", diagnosis.place.cluster)
        kill_page = f"{noun}-client-kill" if access.may(f"{noun}.console", target) else ""
        return cls(target, diagnosis, may_end, kill_page)


@never_cache
@require_safe
@needs("pool.view")
def pool_waiting(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Show the queue of a pool, who holds its servers, who blocks whom, and the cause."""
    pool = find(request, Pool.objects.select_related("pooler", "cluster"), pk=pk)
    context = {"pool": pool, "found": [_shown(request, pool)], "queue_shown": QUEUE_SHOWN}
    return render(request, "pools/pool_waiting.html", context)


@never_cache
@require_safe
@needs("entry.view")
def entry_waiting(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Show the same of an entry; one that is a pool has the page of that."""
    entry = find(request, Entry.objects.select_related("pooler", "cluster"), pk=pk)
    if entry.pool_id:
        return redirect("pool-waiting", entry.pool_id)
    context = {"entry": entry, "found": [_shown(request, entry)], "queue_shown": QUEUE_SHOWN}
    return render(request, "pools/entry_waiting.html", context)


@never_cache
@require_safe
@needs("pooler.view")
def pooler_waiting(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Show the same of the pools of a pooler whose clients have waited longest."""
    access, pooler = Access.of(request), find(request, Pooler.objects.all(), pk=pk)
    context: dict[str, object] = {"pooler": pooler, "queue_shown": QUEUE_SHOWN, "is_of_pooler": True}
    try:
        found = shared.of_pooler(access, pooler)
        context["found"] = [ShownDiagnosis.to(access, target, diagnosis) for target, diagnosis in found]
    except PoolerUnreachable as error:
        context["unreachable"] = str(error)
    return render(request, "pools/pooler_waiting.html", context)


def _shown(request: HttpRequest, target: Target) -> ShownDiagnosis:
    access = Access.of(request)
    return ShownDiagnosis.to(access, target, shared.read_by(access, target))
