"""The pages of a cluster's servers: which is the primary, and how far its standbys are behind."""

from functools import partial
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from panel.accounts.permissions import person
from panel.lib.access import staff_only
from pools.clusters import health_check, nodes
from pools.clusters import nodes as cluster_nodes
from pools.errors import IllegalTransition
from pools.forms.nodes import NodeForm
from pools.models import Cluster, ClusterNode
from pools.views.form_submit import attempt


def _cluster(pk: UUID) -> Cluster:
    clusters = Cluster.objects.select_related("status").prefetch_related("nodes")
    return get_object_or_404(clusters, pk=pk)


@require_safe
def node_list(request: HttpRequest, pk: UUID) -> HttpResponse:
    """The servers of a cluster as the last check found them."""
    cluster = _cluster(pk)
    context = {
        "cluster": cluster,
        "servers": cluster_nodes.of_cluster(cluster),
        "pools": cluster_nodes.pools_by_role(cluster),
    }
    return render(request, "pools/node_list.html", context)


@never_cache
@staff_only
def node_add(request: HttpRequest, pk: UUID) -> HttpResponse:
    """A form for a further server; the panel must be able to log in there."""
    cluster = _cluster(pk)
    form = NodeForm(request.POST or None, cluster=cluster)
    context: dict[str, Any] = {"cluster": cluster, "form": form}
    if request.method == "POST" and form.is_valid():
        tried = attempt(form, partial(nodes.add, cluster, form.values(), person(request.user)))
        if tried.saved:
            role = "standby" if tried.saved.in_recovery else "primary"
            messages.success(request, f"Logged in at {tried.saved}: it is a {role} of {cluster}.")
            return redirect("cluster-nodes", pk)
        context |= tried.context
    return render(request, "pools/node_form.html", context)


@require_POST
@staff_only
def nodes_check(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Ask all servers of the cluster now."""
    health_check.check_cluster(_cluster(pk))
    messages.success(request, "All servers of the cluster were asked; what they said stands below.")
    return redirect("cluster-nodes", pk)


@require_POST
@staff_only
def node_remove(request: HttpRequest, pk: UUID, node: int) -> HttpResponse:
    """Forget a server, unless the cluster's pools need it."""
    found = get_object_or_404(ClusterNode.objects.select_related("cluster"), pk=node, cluster=pk)
    try:
        nodes.remove(found, person(request.user))
    except IllegalTransition as error:
        messages.error(request, str(error))
    else:
        messages.success(request, f"{found} is forgotten; nothing on that server was changed.")
    return redirect("cluster-nodes", pk)
