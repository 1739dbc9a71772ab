"""Pages of a cluster's databases; `?name=` selects one, since a name may hold any character."""

from functools import partial
from uuid import UUID

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from core.accounts.access import needs
from core.accounts.permissions import person
from pools.errors import PoolsError
from pools.forms.provisioning import DatabaseChangeForm, DatabaseForm
from pools.provisioning import databases
from pools.views.form_submit import attempt
from pools.views.provisioning import Droppable, asks_server, choices_of, cluster_of, drop_answer, page_of


@require_safe
@needs("cluster.view")
def database_list(request: HttpRequest, pk: UUID) -> HttpResponse:
    """List the databases that the cluster has now, filtered by name (`q`)."""
    cluster = cluster_of(request, pk)
    context: dict[str, object] = {"cluster": cluster, "query": request.GET.get("q", "")}
    try:
        context |= page_of(request, databases.list_all(cluster))
    except PoolsError as error:
        context["unreachable"] = str(error)
    return render(request, "pools/database_list.html", context)


@never_cache
@needs("database.change")
def database_create(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Render and accept the form of a new database; `?name=` and `?owner=` prefill it."""
    cluster = cluster_of(request, pk)
    choices, context = choices_of(cluster)
    form = DatabaseForm(request.POST or None, initial=request.GET.dict(), choices=choices, login=cluster.admin_user)
    context |= {"cluster": cluster, "form": form}
    if request.method == "POST" and form.is_valid():
        tried = attempt(form, partial(databases.create, cluster, form.values(), person(request.user)))
        if tried.saved:
            created = _("Database %(database)s was created; %(owner)s owns it.")
            messages.success(request, created % {"database": tried.saved.name, "owner": tried.saved.owner})
            return redirect("cluster-databases", pk)
        context |= tried.context
    return render(request, "pools/database_form.html", context)


@never_cache
@needs("database.change")
@asks_server("cluster-databases")
def database_edit(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Change the owner or the connection limit of a database."""
    cluster = cluster_of(request, pk)
    database = databases.find(cluster, request.GET.get("name", ""))
    form = DatabaseChangeForm(request.POST or None, database=database, choices=databases.choices(cluster))
    context: dict[str, object] = {"cluster": cluster, "form": form, "database": database}
    if request.method == "POST" and form.is_valid():
        verb = partial(databases.change, cluster, database.name, form.values(), person(request.user))
        tried = attempt(form, verb)
        if tried.saved:
            messages.success(request, _("Database %(database)s was changed.") % {"database": database.name})
            return redirect("cluster-databases", pk)
        context |= tried.context
    return render(request, "pools/database_form.html", context)


@never_cache
@needs("database.change", destroys=gettext_lazy("Drop the database"))
@asks_server("cluster-databases")
def database_drop(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Drop a database after its name was typed; show its blockers instead if there are any."""
    cluster = cluster_of(request, pk)
    database = databases.find(cluster, request.GET.get("name", ""))
    context: dict[str, object] = {"database": database, "guarded": databases.protection_of(cluster, database)}
    thing = Droppable(
        cluster,
        database.name,
        dropped=_("Database %(database)s was dropped.") % {"database": database.name},
        blocking=partial(databases.blocking, cluster, database.name),
        drop=partial(databases.drop, cluster, database.name, person(request.user)),
        list_name="cluster-databases",
    )
    return drop_answer(request, "pools/database_drop.html", context, thing)
