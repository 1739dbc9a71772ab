"""Shared parts of the pages of a cluster's databases and roles."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import wraps
from typing import Any, TypeVar
from uuid import UUID

from django.contrib import messages
from django.core.paginator import Page, Paginator
from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render

from core.accounts.access import View, find
from core.lib.query_params import is_set
from pools.errors import ClusterUnreachable, IllegalTransition, NotThere
from pools.models import Cluster
from pools.provisioning import databases
from pools.provisioning.blockers import DropBlocked, Obstacle
from pools.provisioning.databases import Choices, Database
from pools.provisioning.roles import Role

PAGE_SIZE = 50
Row = TypeVar("Row", Database, Role)


@dataclass(frozen=True)
class Droppable:
    """A database or role to drop: its name, its verbs, the message after the drop, and the URL name of its list."""

    cluster: Cluster
    name: str
    dropped: str
    blocking: Callable[[], Sequence[Obstacle]]
    drop: Callable[[], object]
    list_name: str


def cluster_of(request: HttpRequest, pk: UUID) -> Cluster:
    """Return the cluster with its status; raises as `find` does."""
    return find(request, Cluster.objects.select_related("status"), pk=pk)


def page_of(request: HttpRequest, rows: Iterable[Row]) -> dict[str, object]:
    """Return the requested `page` of the rows whose name contains `q`, whatever the case, and how many are `hidden`.

    What experiments made for themselves is listed with `?experiments=true` only.
    """
    query, shows_experiments = request.GET.get("q", "").strip().lower(), is_set(request.GET.get("experiments"))
    found = [row for row in rows if query in row.name.lower()]
    listed = [row for row in found if shows_experiments or not row.made_for]
    page: Page[Row] = Paginator(listed, PAGE_SIZE).get_page(request.GET.get("page"))
    return {"page": page, "shows_experiments": shows_experiments, "hidden": len(found) - len(listed)}


def choices_of(cluster: Cluster) -> tuple[Choices, dict[str, object]]:
    """Return the choices of a form and its context: no choices, and the reason, if the cluster does not answer."""
    try:
        return databases.choices(cluster), {}
    except ClusterUnreachable as error:
        return Choices(), {"unreachable": str(error)}


def drop_answer(request: HttpRequest, template: str, context: dict[str, object], thing: Droppable) -> HttpResponse:
    """Render the confirmation page, or drop and redirect to the list; a refusal answers 409 with the blockers."""
    typed = request.POST.get("name")
    context |= {"cluster": thing.cluster, "typed": typed}
    if request.method != "POST" or typed != thing.name:
        status = 422 if request.method == "POST" else 200
        return render(request, template, context | {"obstacles": thing.blocking()}, status=status)
    try:
        thing.drop()
    except DropBlocked as error:
        return render(request, template, context | {"obstacles": error.obstacles}, status=409)
    except IllegalTransition as error:
        return render(request, template, context | {"refused": str(error)}, status=409)
    messages.success(request, thing.dropped)
    return redirect(thing.list_name, thing.cluster.pk)


def asks_server(list_name: str) -> Callable[[View], View]:
    """Wrap a view of one object on the server: answer 404 if it is missing, redirect to the list on no answer."""

    def decorate(view: View) -> View:
        @wraps(view)
        def guarded(request: HttpRequest, pk: UUID, *args: Any, **kwargs: Any) -> HttpResponseBase:
            try:
                return view(request, pk, *args, **kwargs)
            except NotThere as error:
                raise Http404(str(error)) from error
            except ClusterUnreachable as error:
                messages.error(request, str(error))
                return redirect(list_name, pk)

        return guarded

    return decorate
