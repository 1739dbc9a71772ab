"""Pages that lead from a watched pooler to a managed one, and back."""

import io
import tarfile
from collections.abc import Mapping
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from core.accounts.access import Access, find, needs
from core.accounts.permissions import person
from core.audit.acts import record_reveal
from core.lib.crypto import SealBroken
from pools.config_files import deliveries
from pools.deployment import take_overs
from pools.deployment.take_over_steps import backup
from pools.errors import NotThere, PoolsError
from pools.inventory import poolers
from pools.models import Host, Pooler, TakeOver
from pools.models.take_overs import WAITING
from pools.poolers import KINDS


@never_cache
@needs("pooler.take_over", destroys=gettext_lazy("Take the pooler over"))
def pooler_take_over(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Ask for the main file, show what would become of it, and take the pooler over once that was agreed to."""
    pooler = find(request, Pooler.objects.all(), pk=pk)
    if request.method == "POST":
        return _take_over(request, pooler)
    context = progress(request, pooler)
    if "config_file" in request.GET and not context["waiting"]:
        context |= previewed(request, pooler, request.GET)
    return render(request, "pools/pooler_take_over.html", context)


@never_cache
@needs("pooler.take_over", destroys=gettext_lazy("Let the pooler go"))
def pooler_let_go(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Show which bytes come back, and let the pooler go once that was agreed to."""
    pooler = find(request, Pooler.objects.all(), pk=pk)
    context = progress(request, pooler)
    try:
        if request.method == "POST" and request.POST.get("confirm") == "yes":
            take_overs.request_release(pooler, person(request.user))
            messages.info(request, _("A worker lets %(pooler)s go.") % {"pooler": pooler})
            return redirect("pooler-let-go", pk)
        if not context["waiting"]:
            context["release"] = take_overs.preview_release(pooler)
    except (PoolsError, SealBroken, OSError) as error:
        context["refused"] = str(error)
    return render(request, "pools/pooler_let_go.html", context)


@require_safe
@never_cache
@needs("pooler.take_over")
def pooler_original_files(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Download the files as they were before the take-over, as a tar archive; they hold secrets."""
    pooler = find(request, Pooler.objects.all(), pk=pk)
    try:
        take_over = backup(pooler)
    except NotThere as error:
        messages.error(request, str(error))
        return redirect("pooler-detail", pk=pk)
    record_reveal(pooler, "original files")
    answer = HttpResponse(_archive(take_over), content_type="application/x-tar")
    answer["Content-Disposition"] = f'attachment; filename="{pooler.pk}-original-files.tar"'
    return answer


def _take_over(request: HttpRequest, pooler: Pooler) -> HttpResponse:
    config_file, names = request.POST.get("config_file", ""), request.POST.getlist("entries")
    try:
        _place_of(request, pooler, request.POST).record(pooler)
        take_overs.request(pooler, config_file, names, person(request.user))
    except PoolsError as error:
        context = {**progress(request, pooler), "config_file": config_file, "refused": str(error)}
        return render(request, "pools/pooler_take_over.html", context, status=error.status)
    messages.info(request, _("A worker takes %(pooler)s over.") % {"pooler": pooler})
    return redirect("pooler-take-over", pooler.pk)


def progress(request: HttpRequest, pooler: Pooler) -> dict[str, object]:
    """Return the latest take-over with the steps of its revision, and the path of the main file to begin with."""
    last = pooler.take_overs.first()
    return {
        "pooler": pooler,
        "views": KINDS[pooler.kind].compared_views,
        "last": last,
        "waiting": last is not None and last.state in WAITING,
        "revision": pooler.revisions.first() if last else None,
        "config_file": last.config_file if last else pooler.config_file,
        "hosts": Access.of(request).choices(Host.objects.order_by("name"), "host.use"),
        "ssh_host": pooler.ssh_host_id,
    }


def _place_of(request: HttpRequest, pooler: Pooler, given: Mapping[str, Any]) -> poolers.Place:
    """Return the chosen host, or a worker's."""
    if "host" not in given:
        return poolers.checked_place(pooler, None, None)
    hosts = Access.of(request).choices(Host.objects.all(), "host.use")
    chosen = hosts.filter(pk=given["host"]).first() if given["host"] else None
    return poolers.checked_place(pooler, deliveries.name_for(chosen), chosen)


def previewed(request: HttpRequest, pooler: Pooler, given: Mapping[str, Any]) -> dict[str, object]:
    """Return the context of a preview, or why there is none."""
    config_file = str(given["config_file"]).strip()
    try:
        place = _place_of(request, pooler, given)
        with take_overs.steps_of(pooler).planned(place.applied_to(pooler), config_file) as plan:
            proposed = [one for one in plan.proposals if one.pool]
            kept = [one for one in plan.proposals if not one.pool]
            return {
                "plan": plan,
                "pools": proposed,
                "kept": kept,
                "diff": plan.changes,
                "files": plan.files,
                "config_file": plan.main_file,
                "ssh_host": place.ssh_host.pk if place.ssh_host else None,
            }
    except PoolsError as error:
        return {"refused": str(error), "config_file": config_file}


def _archive(taken: TakeOver) -> bytes:
    """Return the original files under their paths, with their modes and owners."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for path, original in taken.originals.items():
            if original.content is None:
                continue
            member = tarfile.TarInfo(path.lstrip("/"))
            member.size, member.mode = len(original.content), original.mode
            member.uid, member.gid, member.mtime = original.uid, original.gid, int(taken.created_at.timestamp())
            archive.addfile(member, io.BytesIO(original.content))
    return buffer.getvalue()
