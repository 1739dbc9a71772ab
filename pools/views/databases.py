"""The pages of a cluster's databases; one is named by `?name=`, since a name may hold anything."""

from functools import partial
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from panel.accounts.permissions import person
from panel.lib.access import staff_only
from pools.errors import PoolsError
from pools.forms.provisioning import DatabaseChangeForm, DatabaseForm
from pools.provisioning import databases
from pools.views.form_submit import attempt
from pools.views.provisioning import Droppable, asks_server, choices_of, cluster_of, drop_answer, page_of


@require_safe
def database_list(request: HttpRequest, pk: UUID) -> HttpResponse:
    """The databases as the cluster has them now, found by `q`."""
    cluster = cluster_of(pk)
    context: dict[str, Any] = {"cluster": cluster, "query": request.GET.get("q", "")}
    try:
        context["page"] = page_of(request, databases.listed(cluster))
    except PoolsError as error:
        context["unreachable"] = str(error)
    return render(request, "pools/database_list.html", context)


@never_cache
@staff_only
def database_create(request: HttpRequest, pk: UUID) -> HttpResponse:
    """A form for a new database; `?name=` and `?owner=` fill it beforehand."""
    cluster = cluster_of(pk)
    choices, context = choices_of(cluster)
    form = DatabaseForm(request.POST or None, initial=request.GET.dict(), choices=choices, login=cluster.admin_user)
    context |= {"cluster": cluster, "form": form}
    if request.method == "POST" and form.is_valid():
        tried = attempt(form, partial(databases.create, cluster, form.values(), person(request.user)))
        if tried.saved:
            messages.success(request, f"Database {tried.saved.name} was created; {tried.saved.owner} owns it.")
            return redirect("cluster-databases", pk)
        context |= tried.context
    return render(request, "pools/database_form.html", context)


@never_cache
@staff_only
@asks_server("cluster-databases")
def database_edit(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Another owner, another connection limit."""
    cluster = cluster_of(pk)
    database = databases.find(cluster, request.GET.get("name", ""))
    form = DatabaseChangeForm(request.POST or None, database=database, choices=databases.choices(cluster))
    context: dict[str, Any] = {"cluster": cluster, "form": form, "database": database}
    if request.method == "POST" and form.is_valid():
        verb = partial(databases.change, cluster, database.name, form.values(), person(request.user))
        tried = attempt(form, verb)
        if tried.saved:
            messages.success(request, f"Database {database.name} was changed.")
            return redirect("cluster-databases", pk)
        context |= tried.context
    return render(request, "pools/database_form.html", context)


@never_cache
@staff_only
@asks_server("cluster-databases")
def database_drop(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Drop a database whose name was typed; what stands in the way is shown instead."""
    cluster = cluster_of(pk)
    database = databases.find(cluster, request.GET.get("name", ""))
    context: dict[str, Any] = {
        "cluster": cluster,
        "database": database,
        "guarded": databases.guarded(cluster, database),
    }
    thing = Droppable(
        "Database",
        database.name,
        blocking=partial(databases.blocking, cluster, database.name),
        drop=partial(databases.drop, cluster, database.name, person(request.user)),
        list_name="cluster-databases",
    )
    return drop_answer(request, "pools/database_drop.html", context, thing)
