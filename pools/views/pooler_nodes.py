"""Pages of the backends of a kind that has its own, each with the templates of that kind."""

from typing import TypedDict
from uuid import UUID

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from core.accounts.access import find, needs
from core.accounts.permissions import person
from pools.errors import ApplyFailed, PoolerUnreachable
from pools.models import Pooler
from pools.poolers import kinds_that, node_admin
from pools.poolers.nodes import Node


@require_safe
@needs("pooler.view")
def node_list(request: HttpRequest, pk: UUID) -> HttpResponse:
    """List the backends as the pooler reports them; if it does not answer, those last applied and the reason."""
    pooler = _with_backends(request, pk)
    return _page(request, pooler, "nodes.html", {"pooler": pooler, **_backends(pooler)})


def _detaches(_request: HttpRequest, verb: str, **_kwargs: object) -> str:
    return _("Detach the node") if verb == "detach" else ""


@never_cache
@needs("pooler.attach", destroys=_detaches)
def node_change(request: HttpRequest, pk: UUID, number: int, verb: str) -> HttpResponse:
    """Explain the effects of attaching or detaching a backend; on POST, do it."""
    pooler = _with_backends(request, pk)
    found = _backends(pooler)
    node = next((node for node in found["nodes"] if node.number == number), None)
    if node is None:
        raise Http404(f"pooler {pooler} has no backend {number}")
    context: dict[str, object] = {"pooler": pooler, "node": node, "number": number, "verb": verb, **found}
    if verb == "detach" and not found["error"]:
        context["risk"] = node_admin(pooler).risk_of_detaching(found["nodes"], number)
    if request.method == "POST":
        try:
            node_admin(pooler).change(pooler, number, verb, person(request.user))
        except (ApplyFailed, PoolerUnreachable) as error:
            return _page(request, pooler, "node_change.html", context | {"error": str(error)}, error.status)
        messages.success(request, _requested(pooler, verb, number))
        return redirect("pooler-nodes", pk)
    return _page(request, pooler, "node_change.html", context)


def _page(
    request: HttpRequest, pooler: Pooler, name: str, context: dict[str, object], status: int = 200
) -> HttpResponse:
    return render(request, f"pools/poolers/{pooler.kind}/{name}", context, status=status)


def _requested(pooler: Pooler, verb: str, number: int) -> str:
    if verb == "detach":
        text = _("%(kind)s is asked to detach backend %(number)s; its status follows shortly.")
    else:
        text = _("%(kind)s is asked to attach backend %(number)s; its status follows shortly.")
    return text % {"kind": pooler.get_kind_display(), "number": number}


def _with_backends(request: HttpRequest, pk: UUID) -> Pooler:
    return find(request, Pooler.objects.all(), pk=pk, kind__in=kinds_that("node_admin"))


class _Backends(TypedDict):
    """The backends that a page shows, and why they are those last applied."""

    nodes: list[Node]
    error: str


def _backends(pooler: Pooler) -> _Backends:
    try:
        return {"nodes": node_admin(pooler).of_pooler(pooler), "error": ""}
    except PoolerUnreachable as error:
        return {"nodes": node_admin(pooler).applied(pooler), "error": str(error)}
