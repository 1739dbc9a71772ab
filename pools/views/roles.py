"""Pages of a cluster's roles; `?name=` selects one, since a name may hold any character."""

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
from pools.errors import IllegalTransition, PoolsError
from pools.forms.provisioning import RoleChangeForm, RoleForm
from pools.models import Cluster
from pools.provisioning import roles
from pools.views.form_submit import attempt
from pools.views.provisioning import Droppable, asks_server, choices_of, cluster_of, drop_answer, page_of


@require_safe
@needs("cluster.view")
def role_list(request: HttpRequest, pk: UUID) -> HttpResponse:
    """List the roles that the cluster has now, filtered by name (`q`)."""
    cluster = cluster_of(request, pk)
    context: dict[str, object] = {"cluster": cluster, "query": request.GET.get("q", "")}
    try:
        context |= page_of(request, roles.list_all(cluster))
    except PoolsError as error:
        context["unreachable"] = str(error)
    return render(request, "pools/role_list.html", context)


@never_cache
@needs("role.change")
def role_create(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Render and accept the form of a new role, then show its password; `?name=` and `?database=` prefill it."""
    cluster = cluster_of(request, pk)
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
        created = _("Role %(role)s was created; it can't log in, so it has no password.")
        messages.success(request, created % {"role": role.name})
        return redirect("cluster-roles", cluster.pk)
    context = {"cluster": cluster, "role": role.name, "password": password, "database": database, "is_new": True}
    return render(request, "pools/role_password.html", context)


@never_cache
@needs("role.change")
@asks_server("cluster-roles")
def role_edit(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Change whether a role can log in, its connection limit, and when its password expires."""
    cluster = cluster_of(request, pk)
    role = roles.find(cluster, request.GET.get("name", ""))
    form = RoleChangeForm(request.POST or None, role=role)
    context: dict[str, object] = {
        "cluster": cluster,
        "form": form,
        "role": role,
        "guarded": roles.protection_of(cluster, role),
    }
    if request.method == "POST" and form.is_valid():
        tried = attempt(form, partial(roles.change, cluster, role.name, form.values(), person(request.user)))
        if tried.saved:
            messages.success(request, _("Role %(role)s was changed.") % {"role": role.name})
            return redirect("cluster-roles", pk)
        context |= tried.context
    return render(request, "pools/role_form.html", context)


@never_cache
@needs("role.change", destroys=gettext_lazy("Make a new password"))
@asks_server("cluster-roles")
def role_reset(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Explain the effects of a new password; on POST, make one and show it once."""
    cluster = cluster_of(request, pk)
    role = roles.find(cluster, request.GET.get("name", ""))
    context: dict[str, object] = {
        "cluster": cluster,
        "role": role,
        "guarded": roles.password_protection_of(cluster, role),
    }
    if request.method != "POST":
        return render(request, "pools/role_reset.html", context)
    try:
        password = roles.reset_password(cluster, role.name, person(request.user))
    except IllegalTransition as error:
        return render(request, "pools/role_reset.html", context | {"refused": str(error)}, status=409)
    made = {"cluster": cluster, "role": role.name, "password": password, "pools": role.pools}
    return render(request, "pools/role_password.html", made)


@never_cache
@needs("role.change", destroys=gettext_lazy("Drop the role"))
@asks_server("cluster-roles")
def role_drop(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Drop a role after its name was typed; show its blockers instead if there are any."""
    cluster = cluster_of(request, pk)
    role = roles.find(cluster, request.GET.get("name", ""))
    context: dict[str, object] = {"role": role, "guarded": roles.protection_of(cluster, role)}
    thing = Droppable(
        cluster,
        role.name,
        dropped=_("Role %(role)s was dropped.") % {"role": role.name},
        blocking=partial(roles.blocking, cluster, role.name),
        drop=partial(roles.drop, cluster, role.name, person(request.user)),
        list_name="cluster-roles",
    )
    return drop_answer(request, "pools/role_drop.html", context, thing)
