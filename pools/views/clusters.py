"""Pages of clusters."""

from collections.abc import Iterable
from functools import partial
from uuid import UUID

from django.contrib import messages
from django.db.models import Count, Q
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from core.accounts.access import Access, find, needs
from core.accounts.people.ownership import chosen_team, offer_team
from core.accounts.permissions import person
from core.accounts.team_lists import of_team
from core.lib.long_lists import LongList
from pools.approvals import rules
from pools.clusters import duplicates, health_check
from pools.connection_strings import box
from pools.connection_strings.box import BoxChoices
from pools.errors import IllegalTransition
from pools.forms.records import ClusterForm
from pools.inventory import budget, clusters
from pools.models import Cluster, ClusterState, ClusterStatus, NodeRole, Pool
from pools.views import cards
from pools.views.connections import connection_answer
from pools.views.form_submit import attempt

PAGE_SIZE = 50
# What a row of the list shows, and what its budget is made of; a status also holds all databases and roles.
LISTED = [
    "name",
    "host",
    "port",
    "protected",
    "memory_mb",
    "set_aside_connections",
    "team__name",
    "status__state",
    "status__error",
    "status__server_version",
    "status__used_connections",
    "status__checked_at",
]


@require_safe
@needs("cluster.view")
def cluster_list(request: HttpRequest) -> HttpResponse:
    """List the clusters with their budgets, filtered by name or host (`q`) and by state."""
    query, state = request.GET.get("q", "").strip(), request.GET.get("state", "")
    listed = Cluster.objects.select_related("status", "team").only(*LISTED)
    rows = Access.of(request).visible(listed).order_by("name")
    if query:
        rows = rows.filter(Q(name__icontains=query) | Q(host__icontains=query))
    if state in ClusterState.values:
        rows = rows.filter(status__state=state)
    rows = of_team(request, rows)
    page = LongList(rows, PAGE_SIZE).get_page(request.GET.get("page"))
    budgets, counts = budget.of_clusters(page), _pool_counts(page)
    context = {
        "page": page,
        "rows": [{"cluster": one, "budget": budgets[one.pk], "pool_count": counts.get(one.pk, 0)} for one in page],
        "query": query,
        "state": state,
        "states": ClusterState.choices,
    }
    return render(request, "pools/cluster_list.html", context)


def _pool_counts(clusters: Iterable[Cluster]) -> dict[UUID, int]:
    """Return the number of each cluster's pools, of those on a page only: a join would count those of all clusters."""
    pools = Pool.objects.wanted().filter(cluster__in=list(clusters)).order_by()
    return dict(pools.values_list("cluster").annotate(Count("pk")))


@require_safe
@needs("cluster.view")
def cluster_detail(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Show one cluster: its connection strings, the result of the last check, its budget, pools and runs."""
    return _detail(request, _get(request, pk), BoxChoices())


def _get(request: HttpRequest, pk: UUID) -> Cluster:
    return find(request, Cluster.objects.select_related("status"), pk=pk)


def _detail(request: HttpRequest, cluster: Cluster, shown: BoxChoices) -> HttpResponse:
    context = {
        "cluster": cluster,
        "status": getattr(cluster, "status", None),
        "budget": budget.of_cluster(cluster),
        "standbys_budget": budget.of_cluster(cluster, target=NodeRole.STANDBY) if cluster.nodes.exists() else None,
        "box": box.of_cluster(cluster, shown),
        "pools": cards.pools_with("pooler", cluster.pools.all()),
        "rules": rules.of_cluster(cluster),
        "twins": Access.of(request).visible(duplicates.of_cluster(cluster)),
        "runs": cards.latest_runs(cluster),
    }
    return render(request, "pools/cluster_detail.html", context)


@require_POST
@never_cache
@needs("cluster.reveal")
def cluster_connection(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Render the connection box with the password shown or hidden; with `as`, return one text, password included."""
    return connection_answer(request, _get(request, pk), box.of_cluster, _detail)


@never_cache
@needs("cluster.create")
def cluster_create(request: HttpRequest) -> HttpResponse:
    """Render and accept the form of a new cluster; its login must succeed unless `save_anyway` is sent.

    `?host=` and `?port=` prefill it, as the page of an entry does whose server is not registered; `?next=` leads back.
    """
    initial = {name: request.GET[name] for name in ("host", "port") if name in request.GET}
    form = offer_team(request, ClusterForm(request.POST or None, initial=initial), "cluster.create")
    waived = "save_anyway" in request.POST
    back = _return_address(request)
    context: dict[str, object] = {"form": form, "back": back}
    if request.method == "POST" and form.is_valid():
        team = chosen_team(request, form, "cluster.create")
        verb = partial(clusters.register, form.values(), team=team, author=person(request.user), must_log_in=not waived)
        tried = attempt(form, verb)
        if tried.saved:
            answer = _saved(request, *tried.saved)
            return redirect(back) if back else answer
        context |= tried.context
    return render(request, "pools/cluster_form.html", context)


def _return_address(request: HttpRequest) -> str:
    """Return `?next=` where it is a page of this panel that has entries, else nothing."""
    address = request.GET.get("next", "")
    is_ours = url_has_allowed_host_and_scheme(address, allowed_hosts=None)
    return address if is_ours and address.startswith(("/poolers/", "/entries/")) else ""


@never_cache
@needs("cluster.change")
def cluster_edit(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Render and accept the form of an existing cluster; a stale edit answers 409 with both values."""
    cluster, waived = _get(request, pk), "save_anyway" in request.POST
    copied = _get(request, pk)  # a form writes into its instance
    form = ClusterForm(request.POST or None, instance=copied)
    context: dict[str, object] = {"form": form, "cluster": cluster}
    status = 200
    if request.method == "POST" and form.is_valid():
        values, version = form.values(), form.cleaned_data["version"]
        verb = partial(clusters.change, cluster, values, version, author=person(request.user), must_log_in=not waived)
        tried = attempt(form, verb, current=cluster)
        if tried.saved:
            return _saved(request, *tried.saved)
        context, status = context | tried.context, tried.status
    return render(request, "pools/cluster_form.html", context, status=status)


def _saved(request: HttpRequest, cluster: Cluster, status: ClusterStatus) -> HttpResponse:
    if status.state == ClusterState.ONLINE:
        saved = _("Cluster %(cluster)s saved; logged in to PostgreSQL %(version)s.")
        messages.success(request, saved % {"cluster": cluster, "version": status.server_version})
    else:
        unreachable = _("Cluster %(cluster)s saved without a login: %(reason)s")
        messages.warning(request, unreachable % {"cluster": cluster, "reason": status.error})
    return redirect("cluster-detail", cluster.pk)


@require_POST
@needs("cluster.check")
def cluster_check(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Check the cluster now and record the result."""
    status = health_check.check_cluster(_get(request, pk))
    if status.state == ClusterState.ONLINE:
        found = _("Logged in; connections in use: %(used)s.")
        messages.success(request, found % {"used": status.used_connections})
    else:
        messages.error(request, _("The check could not log in: %(reason)s") % {"reason": status.error})
    return redirect("cluster-detail", pk)


@needs("cluster.remove", destroys=gettext_lazy("Unregister the cluster"))
def cluster_delete(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Delete the record of a cluster after its name was typed."""
    cluster = _get(request, pk)
    context: dict[str, object] = {
        "cluster": cluster,
        "pools": cluster.pools.wanted(),
        "typed": request.POST.get("name"),
    }
    if request.method == "POST" and context["typed"] == cluster.name:
        try:
            clusters.remove(cluster, author=person(request.user))
        except IllegalTransition as error:
            return render(request, "pools/cluster_delete.html", context | {"refused": str(error)}, status=error.status)
        else:
            forgotten = _("Cluster %(cluster)s was removed from the panel; nothing on its server was changed.")
            messages.success(request, forgotten % {"cluster": cluster.name})
            return redirect("cluster-list")
    return render(request, "pools/cluster_delete.html", context, status=422 if request.method == "POST" else 200)
