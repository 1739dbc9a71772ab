"""Pages of a Pgpool-II's backends."""

from typing import Any
from uuid import UUID

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from core.accounts.permissions import person
from core.lib.access import staff_only
from pools.errors import ApplyFailed, PoolerUnreachable
from pools.models import Pooler
from pools.poolers import kinds_that
from pools.poolers.pgpool import node_admin


@require_safe
def node_list(request: HttpRequest, pk: UUID) -> HttpResponse:
    """List the backends as the pooler reports them; if it does not answer, those last applied and the reason."""
    pooler = _pgpool(pk)
    return render(request, "pools/pooler_nodes.html", {"pooler": pooler, **_found(pooler)})


@never_cache
@staff_only
def node_change(request: HttpRequest, pk: UUID, number: int, verb: str) -> HttpResponse:
    """Explain the effects of attaching or detaching a backend; on POST, do it."""
    pooler = _pgpool(pk)
    found = _found(pooler)
    node = next((node for node in found["nodes"] if node.number == number), None)
    if node is None:
        raise Http404(f"pooler {pooler} has no backend {number}")
    context = {"pooler": pooler, "node": node, "number": number, "verb": verb, **found}
    if verb == "detach" and not found["error"]:
        context["risk"] = node_admin.risk_of_detaching(found["nodes"], number)
    if request.method == "POST":
        try:
            node_admin.change(pooler, number, verb, person(request.user))
        except (ApplyFailed, PoolerUnreachable) as error:
            return render(
                request, "pools/pooler_node_change.html", context | {"error": str(error)}, status=error.status
            )
        messages.success(request, _requested(verb, number))
        return redirect("pooler-nodes", pk)
    return render(request, "pools/pooler_node_change.html", context)


def _requested(verb: str, number: int) -> str:
    if verb == "detach":
        return _("Pgpool-II is asked to detach backend %(number)s; its status follows shortly.") % {"number": number}
    return _("Pgpool-II is asked to attach backend %(number)s; its status follows shortly.") % {"number": number}


def _pgpool(pk: UUID) -> Pooler:
    return get_object_or_404(Pooler, pk=pk, kind__in=kinds_that("leads_to_all_nodes"))


def _found(pooler: Pooler) -> dict[str, Any]:
    try:
        return {"nodes": node_admin.of_pooler(pooler), "error": ""}
    except PoolerUnreachable as error:
        return {"nodes": node_admin.applied(pooler), "error": str(error)}
