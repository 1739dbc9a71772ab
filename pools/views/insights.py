"""Page of a cluster's live activity: connections, transactions, waits and memory."""

from uuid import UUID

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from core.accounts.access import find, needs
from pools.clusters import activity, topology
from pools.errors import ClusterUnreachable, NotThere
from pools.models import Cluster


@never_cache
@require_safe
@needs("cluster.view")
def cluster_insights(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Query the primary, or the node given as `?node=`, once and show its activity."""
    clusters = Cluster.objects.select_related("status").prefetch_related("nodes")
    cluster = find(request, clusters, pk=pk)
    try:
        place = topology.chosen(cluster, request.GET.get("node", ""))
    except NotThere as error:
        raise Http404(str(error)) from error
    context: dict[str, object] = {"cluster": cluster, "place": place, "places": topology.of_cluster(cluster)}
    try:
        context["insights"] = activity.of_place(place)
    except ClusterUnreachable as error:
        context["unreachable"] = str(error)
    return render(request, "pools/cluster_insights.html", context)
