"""The pages of a cluster's roles; one is named by `?name=`, since a name may hold anything."""

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
from pools.errors import IllegalTransition, PoolsError
from pools.forms.provisioning import RoleChangeForm, RoleForm
from pools.models import Cluster
from pools.provisioning import roles
from pools.views.form_submit import attempt
from pools.views.provisioning import Droppable, asks_server, choices_of, cluster_of, drop_answer, page_of


@require_safe
def role_list(request: HttpRequest, pk: UUID) -> HttpResponse:
    """The roles as the cluster has them now, found by `q`."""
    cluster = cluster_of(pk)
    context: dict[str, Any] = {"cluster": cluster, "query": request.GET.get("q", "")}
    try:
        context["page"] = page_of(request, roles.listed(cluster))
    except PoolsError as error:
        context["unreachable"] = str(error)
    return render(request, "pools/role_list.html", context)


@never_cache
@staff_only
def role_create(request: HttpRequest, pk: UUID) -> HttpResponse:
    """A form for a new role, answered with its password; `?name=` and `?database=` fill it beforehand."""
    cluster = cluster_of(pk)
    choices, context = choices_of(cluster)
    form = RoleForm(request.POST or None, initial=request.GET.dict(), choices=choices)
    context |= {"cluster": cluster, "form": form}
    if request.method == "POST" and form.is_valid():
        tried = attempt(form, partial(roles.create, cluster, form.values(), person(request.user)))
        if tried.saved:
            return _created(request, cluster, *tried.saved, form.cleaned_data["database"])
        context |= tried.context
    return render(request, "pools/role_form.html", context)


def _created(request: HttpRequest, cluster: Cluster, role: roles.Role, password: str, database: str) -> HttpResponse:
    if not password:
        messages.success(request, f"Role {role.name} was created; it can't log in, so it has no password.")
        return redirect("cluster-roles", cluster.pk)
    made = {"cluster": cluster, "role": role.name, "password": password, "database": database, "is_new": True}
    return render(request, "pools/role_password.html", made)


@never_cache
@staff_only
@asks_server("cluster-roles")
def role_edit(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Whether it can log in, how often at once, until when."""
    cluster = cluster_of(pk)
    role = roles.find(cluster, request.GET.get("name", ""))
    form = RoleChangeForm(request.POST or None, role=role)
    context: dict[str, Any] = {"cluster": cluster, "form": form, "role": role, "guarded": roles.guarded(cluster, role)}
    if request.method == "POST" and form.is_valid():
        tried = attempt(form, partial(roles.change, cluster, role.name, form.values(), person(request.user)))
        if tried.saved:
            messages.success(request, f"Role {role.name} was changed.")
            return redirect("cluster-roles", pk)
        context |= tried.context
    return render(request, "pools/role_form.html", context)


@never_cache
@staff_only
@asks_server("cluster-roles")
def role_reset(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Say what a new password means, then make one and show it this once."""
    cluster = cluster_of(pk)
    role = roles.find(cluster, request.GET.get("name", ""))
    context: dict[str, Any] = {"cluster": cluster, "role": role, "guarded": roles.password_guarded(cluster, role)}
    if request.method != "POST":
        return render(request, "pools/role_reset.html", context)
    try:
        password = roles.reset_password(cluster, role.name, person(request.user))
    except IllegalTransition as error:
        return render(request, "pools/role_reset.html", context | {"refused": str(error)}, status=409)
    made = {"cluster": cluster, "role": role.name, "password": password, "pools": role.pools}
    return render(request, "pools/role_password.html", made)


@never_cache
@staff_only
@asks_server("cluster-roles")
def role_drop(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Drop a role whose name was typed; what stands in the way is shown instead."""
    cluster = cluster_of(pk)
    role = roles.find(cluster, request.GET.get("name", ""))
    context: dict[str, Any] = {"cluster": cluster, "role": role, "guarded": roles.guarded(cluster, role)}
    thing = Droppable(
        "Role",
        role.name,
        blocking=partial(roles.blocking, cluster, role.name),
        drop=partial(roles.drop, cluster, role.name, person(request.user)),
        list_name="cluster-roles",
    )
    return drop_answer(request, "pools/role_drop.html", context, thing)
