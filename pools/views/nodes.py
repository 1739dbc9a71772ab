"""Pages of a cluster's nodes: which one is the primary, and how far the standbys are behind."""

from functools import partial
from uuid import UUID

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from core.accounts.access import find, needs
from core.accounts.permissions import person
from pools.clusters import health_check, nodes
from pools.clusters import nodes as cluster_nodes
from pools.errors import IllegalTransition
from pools.forms.nodes import NodeForm
from pools.models import Cluster, ClusterNode
from pools.views.form_submit import attempt


def _cluster(request: HttpRequest, pk: UUID) -> Cluster:
    clusters = Cluster.objects.select_related("status").prefetch_related("nodes")
    return find(request, clusters, pk=pk)


@require_safe
@needs("cluster.view")
def node_list(request: HttpRequest, pk: UUID) -> HttpResponse:
    """List the nodes of a cluster as the last check found them."""
    cluster = _cluster(request, pk)
    context = {
        "cluster": cluster,
        "servers": cluster_nodes.of_cluster(cluster),
        "pools": cluster_nodes.pools_by_role(cluster),
    }
    return render(request, "pools/node_list.html", context)


@never_cache
@needs("cluster.change")
def node_add(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Render and accept the form of a further node; the panel must be able to log in there."""
    cluster = _cluster(request, pk)
    form = NodeForm(request.POST or None, cluster=cluster)
    context: dict[str, object] = {"cluster": cluster, "form": form}
    if request.method == "POST" and form.is_valid():
        tried = attempt(form, partial(nodes.add, cluster, form.values(), person(request.user)))
        if tried.saved:
            messages.success(request, _added(tried.saved, cluster))
            return redirect("cluster-nodes", pk)
        context |= tried.context
    return render(request, "pools/node_form.html", context)


def _added(node: ClusterNode, cluster: Cluster) -> str:
    if node.in_recovery:
        found = _("Logged in to %(node)s: it is a standby of %(cluster)s.")
    else:
        found = _("Logged in to %(node)s: it is the primary of %(cluster)s.")
    return found % {"node": node, "cluster": cluster}


@require_POST
@needs("cluster.check")
def nodes_check(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Check all nodes of the cluster now."""
    health_check.check_cluster(_cluster(request, pk))
    messages.success(request, _("All nodes of the cluster were checked; see the results below."))
    return redirect("cluster-nodes", pk)


@require_POST
@needs("cluster.change", destroys=gettext_lazy("Unregister the node"))
def node_remove(request: HttpRequest, pk: UUID, node: int) -> HttpResponse:
    """Delete the record of a node, unless the cluster's pools need it."""
    found = find(request, ClusterNode.objects.select_related("cluster"), pk=node, cluster=pk)
    try:
        nodes.remove(found, person(request.user))
    except IllegalTransition as error:
        messages.error(request, str(error))
    else:
        forgotten = _("%(node)s was removed from the panel; nothing on that server was changed.")
        messages.success(request, forgotten % {"node": found})
    return redirect("cluster-nodes", pk)
