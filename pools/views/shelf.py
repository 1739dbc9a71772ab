"""Pages of the shelf: clusters that clients of /v2/ can claim."""

from functools import partial
from uuid import UUID

from django.contrib import messages
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from core.accounts.access import Access, find, needs
from core.accounts.permissions import person
from pools.errors import IllegalTransition, PoolsError
from pools.forms.shelf import ShelfEntryForm
from pools.inventory import create_file, creations, shelf
from pools.models import Cluster, ClusterCreation, ShelfEntry
from pools.provisioning import shelf_return as returning
from pools.views.form_submit import attempt
from pools.views.offered import offer

PAGE_SIZE = 50


@require_safe
@needs("shelf.view")
def shelf_list(request: HttpRequest) -> HttpResponse:
    """List the clusters on the shelf, claimed ones too, and those that the operator's commands create."""
    access = Access.of(request)
    entries = ShelfEntry.objects.select_related("cluster__status", "cluster__creation", "pooler", "claimed_by")
    context: dict[str, object] = {
        "page": Paginator(access.visible(entries), PAGE_SIZE).get_page(request.GET.get("page"))
    }
    unfinished = access.visible(ClusterCreation.objects.unfinished()).select_related("author").order_by("-created_at")
    context["creations"] = unfinished[:PAGE_SIZE]
    try:
        context["offers"] = create_file.entries()
    except create_file.InvalidCreateFile as error:
        context["file_error"] = str(error)
    return render(request, "pools/shelf_list.html", context)


@never_cache
@needs("shelf.change")
def shelf_create(request: HttpRequest) -> HttpResponse:
    """Render and accept the form that puts a cluster on the shelf."""
    form = offer(request, ShelfEntryForm(request.POST or None), cluster="shelf.change", pooler="pool.create")
    status = 200
    if request.method == "POST" and form.is_valid():
        tried = attempt(form, partial(shelf.put, form.cleaned_data["cluster"], form.values(), person(request.user)))
        if tried.saved:
            text = _("Cluster %(cluster)s is on the shelf: clients can claim it.")
            messages.success(request, text % {"cluster": tried.saved.cluster})
            return redirect("shelf-list")
        status = tried.status
    return render(request, "pools/shelf_form.html", {"form": form}, status=status)


@never_cache
@needs("shelf.change")
def shelf_edit(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Render and accept the form of an entry."""
    entry = _get(request, pk)
    form = ShelfEntryForm(request.POST or None, entry=_get(request, pk))
    offer(request, form, pooler="pool.create")
    context: dict[str, object] = {"form": form, "entry": entry}
    if request.method == "POST" and form.is_valid() and attempt(form, partial(_change, entry, form, request)).saved:
        messages.success(request, _("The entry of cluster %(cluster)s was saved.") % {"cluster": entry.cluster})
        return redirect("shelf-list")
    return render(request, "pools/shelf_form.html", context)


@require_POST
@needs("shelf.change", destroys=gettext_lazy("Take the cluster off the shelf"))
def shelf_remove(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Take a free cluster off the shelf; it stays registered."""
    entry = _get(request, pk)
    try:
        shelf.take_off(entry, person(request.user))
    except IllegalTransition as error:
        messages.error(request, str(error))
    else:
        text = _("Cluster %(cluster)s is off the shelf; it stays registered.")
        messages.success(request, text % {"cluster": entry.cluster})
    return redirect("shelf-list")


@require_POST
@needs("shelf.change")
def creation_dismiss(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Forget a creation that failed, after its reason was read."""
    creation = find(request, ClusterCreation.objects.all(), pk=pk)
    if not creations.dismiss(creation):
        text = _("Cluster %(cluster)s is not a failed one: its creation goes on.")
        messages.error(request, text % {"cluster": creation})
    return redirect("shelf-list")


@never_cache
@needs("shelf.change", destroys=gettext_lazy("Give the cluster back"))
def shelf_return(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Give a claimed cluster back in its client's place, after the cluster's name was typed."""
    entry = _get(request, pk)
    cluster, typed = entry.cluster, request.POST.get("name")
    context: dict[str, object] = {"entry": entry, "pools": cluster.pools.wanted(), "typed": typed}
    try:
        context["deletes"] = deletes = creations.deletes(cluster)
        if request.method == "POST" and typed == cluster.name:
            returning.give_back(cluster, person(request.user))
            messages.success(request, _returned(cluster, is_deleted=deletes))
            return redirect("shelf-list")
    except PoolsError as error:
        return render(request, "pools/shelf_return.html", context | {"refused": str(error)}, status=error.status)
    return render(request, "pools/shelf_return.html", context, status=422 if request.method == "POST" else 200)


def _returned(cluster: Cluster, *, is_deleted: bool) -> str:
    if is_deleted:
        return _("Cluster %(cluster)s is being deleted by the operator’s command.") % {"cluster": cluster}
    return _("Cluster %(cluster)s is back on the shelf: another client can claim it.") % {"cluster": cluster}


def _get(request: HttpRequest, pk: UUID) -> ShelfEntry:
    return find(request, ShelfEntry.objects.select_related("cluster", "pooler"), pk=pk)


def _change(entry: ShelfEntry, form: ShelfEntryForm, request: HttpRequest) -> ShelfEntry:
    return shelf.change(entry, form.values(), person(request.user))
