"""Pages that lead from a watched pooler to a managed one, and back."""

import io
import tarfile
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from panel.accounts.permissions import person
from panel.lib.access import staff_only
from panel.lib.crypto import SealBroken
from pools.deployment import let_go, take_over, take_over_plan
from pools.errors import NotThere, PoolsError
from pools.models import Pooler, TakeOver
from pools.models.take_overs import WAITING


@never_cache
@staff_only
def pooler_take_over(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Ask for the main file, show what would become of it, and take the pooler over once that was agreed to."""
    pooler = get_object_or_404(Pooler, pk=pk)
    if request.method == "POST":
        return _taken(request, pooler)
    context = progress(pooler)
    if "config_file" in request.GET and not context["waiting"]:
        context |= previewed(pooler, request.GET["config_file"].strip())
    return render(request, "pools/pooler_take_over.html", context)


@never_cache
@staff_only
def pooler_let_go(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Show which bytes come back, and let the pooler go once that was agreed to."""
    pooler = get_object_or_404(Pooler, pk=pk)
    context = progress(pooler)
    try:
        if request.method == "POST" and request.POST.get("confirm") == "yes":
            let_go.ask(pooler, person(request.user))
            messages.info(request, _("A worker lets %(pooler)s go.") % {"pooler": pooler})
            return redirect("pooler-let-go", pk)
        if not context["waiting"]:
            context["release"] = let_go.preview(pooler)
    except (PoolsError, SealBroken, OSError) as error:
        context["refused"] = str(error)
    return render(request, "pools/pooler_let_go.html", context)


@require_safe
@never_cache
@staff_only
def pooler_original_files(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Download the files as they were before the take-over, as a tar archive; they hold secrets."""
    pooler = get_object_or_404(Pooler, pk=pk)
    try:
        taken = let_go.backup(pooler)
    except NotThere as error:
        messages.error(request, str(error))
        return redirect("pooler-detail", pk=pk)
    answer = HttpResponse(_archive(taken), content_type="application/x-tar")
    answer["Content-Disposition"] = f'attachment; filename="{pooler.pk}-original-files.tar"'
    return answer


def _taken(request: HttpRequest, pooler: Pooler) -> HttpResponse:
    config_file, names = request.POST.get("config_file", ""), request.POST.getlist("entries")
    try:
        take_over.ask(pooler, config_file, names, person(request.user))
    except PoolsError as error:
        context = {"pooler": pooler, "config_file": config_file, "refused": str(error)}
        return render(request, "pools/pooler_take_over.html", context, status=error.status)
    messages.info(request, _("A worker takes %(pooler)s over.") % {"pooler": pooler})
    return redirect("pooler-take-over", pooler.pk)


def progress(pooler: Pooler) -> dict[str, Any]:
    """Return the latest take-over with the steps of its revision, and the path of the main file to begin with."""
    last = pooler.take_overs.first()
    return {
        "pooler": pooler,
        "last": last,
        "waiting": last is not None and last.state in WAITING,
        "revision": pooler.revisions.first() if last else None,
        "config_file": last.config_file if last else pooler.config_file,
    }


def previewed(pooler: Pooler, config_file: str) -> dict[str, Any]:
    """Return the context of a preview, or why there is none."""
    try:
        with take_over_plan.planned(pooler, config_file) as plan:
            pools = [one for one in plan.proposals if one.pool]
            kept = [one for one in plan.proposals if not one.pool]
            return {
                "plan": plan,
                "pools": pools,
                "kept": kept,
                "diff": plan.changes,
                "files": list(plan.running.files.files.values()),
                "config_file": plan.running.files.main.path,
            }
    except PoolsError as error:
        return {"refused": str(error), "config_file": config_file}


def _archive(taken: TakeOver) -> bytes:
    """Return the original files under their paths, with their modes and owners."""
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w") as archive:
        for path, original in taken.originals.items():
            if original.content is None:
                continue
            member = tarfile.TarInfo(path.lstrip("/"))
            member.size, member.mode = len(original.content), original.mode
            member.uid, member.gid, member.mtime = original.uid, original.gid, int(taken.created_at.timestamp())
            archive.addfile(member, io.BytesIO(original.content))
    return made.getvalue()
