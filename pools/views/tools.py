"""The page that shows how a provider's tools are pointed at this panel."""

from collections.abc import Callable
from dataclasses import dataclass, replace

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_safe

from core.accounts.access import Access, needs
from pools.models import Cluster
from pools.models.shelf import visible_to_clients
from pools.views import tool_snippets
from pools.views.tool_snippets import Target

NO_CLUSTER = Target("", "CLUSTER_ID", "CLUSTER_NAME", "DATABASE")


@dataclass(frozen=True)
class Tool:
    """A tool: its text, what it can do here, and what it can't."""

    key: str
    name: str
    render: Callable[[Target], str]
    can: Promise
    cannot: Promise


TOOLS = (
    Tool(
        "terraform",
        "Terraform",
        tool_snippets.terraform,
        _("Clusters by data source, claimed or created; users, databases and connection pools."),
        _("A changed pool is removed and created again. Maintenance windows and firewalls are refused."),
    ),
    Tool(
        "doctl",
        "doctl",
        tool_snippets.doctl,
        _("Lists and connection details; creates and deletes clusters, users, databases and pools."),
        _("Pool update sets the mode to transaction unless --mode is given. Skip auth init: it logs in elsewhere."),
    ),
    Tool(
        "pydo",
        "pydo",
        tool_snippets.pydo,
        _("All calls for clusters, users, databases, pools and PgBouncer’s settings."),
        _("Sends no token over plain HTTP unless each call has enforce_https=False."),
    ),
    Tool(
        "ansible",
        "Ansible",
        tool_snippets.ansible,
        _("The modules database_cluster, database_user, database_db and database_connection_pool."),
        _("Needs HTTPS, because it uses pydo. The pool module changes no existing pool."),
    ),
    Tool(
        "curl",
        "curl",
        tool_snippets.curl,
        _("Every call."),
        _("As with all of them: no resizes, migrations, backups or replicas. The panel does not run the servers."),
    ),
)


@require_safe
@needs("tool.view")
def tool_list(request: HttpRequest) -> HttpResponse:
    """Show the texts to copy, with the address that this page was reached by and one of the clusters."""
    target = _target(request)
    snippets = [{"tool": tool, "text": tool.render(target)} for tool in TOOLS]
    return render(request, "pools/tool_list.html", {"tools": snippets, "target": target})


def _target(request: HttpRequest) -> Target:
    url = request.build_absolute_uri("/").rstrip("/")
    visible = Access.of(request).visible(Cluster.objects.filter(visible_to_clients()).order_by("name"))
    if (cluster := visible.first()) is None:
        return replace(NO_CLUSTER, url=url)
    return Target(url, str(cluster.pk), cluster.name, cluster.maintenance_database)
