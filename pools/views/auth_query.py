"""Page of a cluster's `auth_query` look-up of inbound users: its state in each database, its set-up and removal."""

from uuid import UUID

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_http_methods

from core.accounts.access import needs
from core.accounts.permissions import person
from pools.clusters import auth_query as auth_query_lookup
from pools.errors import PoolsError
from pools.models import Cluster
from pools.provisioning import auth_query
from pools.views.provisioning import cluster_of

PAGE = "cluster-auth-query"


def _removes(request: HttpRequest, **_kwargs: object) -> str:
    return _("Remove the look-up of inbound users") if request.POST.get("do") == "remove" else ""


@needs("cluster.view", post="cluster.change", destroys=_removes)
@require_http_methods(["GET", "HEAD", "POST"])
def cluster_auth_query(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Check the look-up in every database; a POST sets it up, repairs it, or removes it (`do=remove`)."""
    cluster = cluster_of(request, pk)
    if request.method == "POST":
        verb = _remove if request.POST.get("do") == "remove" else _set_up
        try:
            verb(request, cluster)
        except PoolsError as error:
            return _page(request, cluster, {"refused": str(error), "role": request.POST.get("role", "")}, error.status)
        return redirect(PAGE, pk)
    return _page(request, cluster, {})


def _page(request: HttpRequest, cluster: Cluster, context: dict[str, object], status: int = 200) -> HttpResponse:
    context = {
        "cluster": cluster,
        "usual_role": auth_query.usual_role(cluster),
        "query": auth_query_lookup.QUERY,
    } | context
    context["pools"] = cluster.pools.wanted().filter(user="").select_related("pooler")
    try:
        context["found"] = auth_query.check(cluster)
    except PoolsError as error:
        context["unreachable"] = str(error)
    return render(request, "pools/cluster_auth_query.html", context, status=status)


def _set_up(request: HttpRequest, cluster: Cluster) -> None:
    found = auth_query.install(cluster, request.POST.get("role", "").strip(), person(request.user))
    if all(one.works for one in found):
        works = ngettext(
            "%(role)s looks up inbound users in %(count)s database; the look-up was tested there.",
            "%(role)s looks up inbound users in %(count)s databases; the look-up was tested in each.",
            len(found),
        )
        messages.success(request, works % {"role": cluster.auth_role, "count": len(found)})
    else:
        messages.error(request, _("The look-up was set up, but does not work in every database: see below."))


def _remove(request: HttpRequest, cluster: Cluster) -> None:
    auth_query.uninstall(cluster, person(request.user))
    messages.success(request, _("The role and its functions were dropped."))
