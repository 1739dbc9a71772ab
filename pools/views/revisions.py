"""Pages of a pooler's revisions: the list, the changes of one, and the rollback to one."""

from uuid import UUID

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_safe

from core.accounts.access import find, needs
from core.accounts.permissions import person
from core.lib.long_lists import LongList
from pools.deployment import diff, rollback
from pools.deployment import rollback as rollback_preview
from pools.deployment.rollback import CannotRollBack
from pools.models import Pooler, Revision, RevisionState
from pools.views.managed import managed_only

PAGE_SIZE = 50
OTHERS_OFFERED = 100  # revisions in the list to compare with; `?against=` accepts any number


@require_safe
@needs("pooler.view")
def revision_list(request: HttpRequest, pk: UUID) -> HttpResponse:
    """List a pooler's revisions, latest first, filtered by `state`."""
    pooler = find(request, Pooler.objects.all(), pk=pk)
    rows = pooler.revisions.select_related("author")
    state = request.GET.get("state", "")
    if state in RevisionState.values:
        rows = rows.filter(state=state)
    page = LongList(rows, PAGE_SIZE).get_page(request.GET.get("page"))
    context = {
        "pooler": pooler,
        "page": page,
        "state": state,
        "states": RevisionState.choices,
        "live": pooler.revisions.applied().first(),
    }
    return render(request, "pools/revision_list.html", context)


@require_safe
@needs("pooler.view")
def revision_detail(request: HttpRequest, pk: UUID, number: int) -> HttpResponse:
    """Show one revision: its steps and its differences from the one before, or from another (`?against=`)."""
    revision = _revision(request, pk, number)
    against, files = _against(request, revision), diff.masked_files(revision)
    pooler, live = revision.pooler, Revision.objects.live_on(revision.pooler)
    others = pooler.revisions.applied().exclude(pk=revision.pk)[:OTHERS_OFFERED]
    context = {
        "pooler": pooler,
        "revision": revision,
        "against": against,
        "others": others,
        "diff": diff.of_revision(revision, against) if files else [],
        "files": files,
        "is_live": live == revision,
        "can_roll_back": revision.state == RevisionState.APPLIED and bool(revision.specs) and live != revision,
    }
    return render(request, "pools/revision_detail.html", context)


@needs("pooler.apply", destroys=gettext_lazy("Roll the pooler back"))
@managed_only
def pooler_rollback(request: HttpRequest, pk: UUID, number: int) -> HttpResponse:
    """Preview what a rollback to a revision would change; on POST, request the rollback."""
    revision = _revision(request, pk, number)
    pooler, live = revision.pooler, Revision.objects.live_on(revision.pooler)
    context: dict[str, object] = {"pooler": pooler, "revision": revision, "live": live}
    if request.method == "POST":
        try:
            rollback.roll_back(pooler, revision, person(request.user))
        except CannotRollBack as error:
            context["refused"] = error.errors["revision"]
        else:
            requested = _("A worker rolls %(pooler)s back to %(revision)s.")
            messages.info(request, requested % {"pooler": pooler, "revision": revision})
            return redirect("pooler-revisions", pk)
    context |= {
        "outlook": rollback_preview.effects(pooler, revision) if revision.specs else [],
        "diff": diff.of_revision(revision, live),
    }
    return render(request, "pools/revision_rollback.html", context, status=400 if "refused" in context else 200)


def _revision(request: HttpRequest, pk: UUID, number: int) -> Revision:
    return find(request, Revision.objects.select_related("pooler", "author"), pooler=pk, number=number)


def _against(request: HttpRequest, revision: Revision) -> Revision | None:
    """Return the revision given as `?against=`, by default the one before; raise 404 if there is none."""
    number = request.GET.get("against", "")
    if not number:
        return diff.before(revision)
    if not number.isdecimal():
        raise Http404(f"{number!r} is not the number of a revision: choose one of the list")
    return find(request, revision.pooler.revisions.all(), number=int(number))
