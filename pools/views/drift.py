"""Page of a pooler's drift, with its two remedies: adopt the changes or overwrite them."""

from uuid import UUID

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from core.accounts.access import find, needs
from core.accounts.permissions import person
from pools import deployment, task_queue
from pools.config_files import folder_owner
from pools.deployment import adoption, diff, drift, live_files
from pools.deployment.adoption import CannotAdopt
from pools.errors import HostUnreachable, QueueDown
from pools.hosts.base import UnsafeFolder
from pools.models import Pooler, Revision
from pools.views.managed import managed_only


def _overwrites(request: HttpRequest, **_kwargs: object) -> str:
    return "" if request.POST.get("drift") == "adopt" else _("Overwrite the manual changes")


@require_http_methods(["GET", "HEAD", "POST"])
@needs("pooler.view", post="pooler.apply", destroys=_overwrites)
@managed_only
def pooler_drift(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Show how files and live settings differ from the live revision; a POST adopts or overwrites (`drift`)."""
    pooler = find(request, Pooler.objects.all(), pk=pk)
    context: dict[str, object] = {"pooler": pooler}
    if request.method == "POST":
        try:
            return _resolve(request, pooler)
        except CannotAdopt as error:
            context["refused"] = error.errors["drift"]
        except QueueDown as error:
            messages.error(request, str(error))
    context |= _found(pooler)
    return render(request, "pools/pooler_drift.html", context, status=400 if "refused" in context else 200)


def _resolve(request: HttpRequest, pooler: Pooler) -> HttpResponse:
    if request.POST.get("drift") == "adopt":
        adoption.adopt(pooler, person(request.user))
        adopted = _("The manual changes are adopted; a worker verifies them on %(pooler)s.")
        messages.info(request, adopted % {"pooler": pooler})
    else:
        deployment.reset_to_pending(pooler)
        task_queue.ask_to_overwrite(pooler.pk, person(request.user))
        overwritten = _("A worker overwrites the manual changes on %(pooler)s with the panel's files.")
        messages.info(request, overwritten % {"pooler": pooler})
    return redirect("pooler-detail", pooler.pk)


def _found(pooler: Pooler) -> dict[str, object]:
    last = Revision.objects.live_on(pooler)
    live = [one["what"] for one in pooler.drift if one["where"] == drift.LIVE]
    owner = folder_owner.of(pooler)
    context: dict[str, object] = {
        "last": last,
        "live_differences": live,
        "seen_at": pooler.drift_seen_at,
        "owner": owner,
    }
    if last is None:
        return context
    if not owner.is_here:
        found = [
            {"name": one["where"], "what": one["what"]} for one in live_files.file_findings(pooler) if not one.get("by")
        ]
        return context | {"is_elsewhere": True, "changed": found}
    try:
        texts = live_files.on_disk(pooler)
    except (UnsafeFolder, HostUnreachable) as error:
        return context | {"unreadable": str(error)}
    changed = live_files.differences(pooler, texts, last)
    return context | {
        "changed": [{"name": name, "what": what} for name, what in changed.items()],
        "diff": [one for one in diff.between(pooler, last.files, texts) if one.name in changed],
        "unadoptable": [str(one) for one in adoption.preview(pooler).refused] if changed else [],
    }
