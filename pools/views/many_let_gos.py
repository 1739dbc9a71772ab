"""Page on which many poolers that were taken over are let go: chosen, previewed in one table, agreed to once."""

from urllib.parse import urlencode
from uuid import UUID

from django.contrib import messages
from django.db.models import Count, Q, QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from core.accounts.access import Access, find, needs
from core.accounts.permissions import person
from core.lib.crypto import SealBroken
from pools.approvals.errors import HeldBack
from pools.deployment import take_overs
from pools.errors import PoolsError
from pools.models import Pooler, TakeOver
from pools.views.many_take_overs import MOST, chosen_of
from pools.views.take_overs import progress


@never_cache
@needs("pooler.take_over", destroys=gettext_lazy("Let the poolers go"))
def poolers_let_go(request: HttpRequest) -> HttpResponse:
    """Choose poolers that were taken over, then show which bytes come back on each; on POST let the chosen ones go.

    Each row asks for its own preview, so that they fill in as files are read; `whole` renders them all at once.
    """
    if request.method == "POST":
        return _asked(request)
    chosen = chosen_of(request, request.GET)
    context: dict[str, object] = {"chosen": chosen, "query": request.GET.urlencode()}
    if not chosen:
        context["taken"] = _taken_over(request)
    elif "whole" in request.GET:
        context["rows"] = [_row(request, pooler) for pooler in chosen]
    return render(request, "pools/poolers_let_go.html", context)


@require_safe
@never_cache
@needs("pooler.take_over")
def pooler_let_go_row(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Render what letting one pooler go would do, or how far that has come."""
    context = {"row": _row(request, find(request, Pooler.objects.all(), pk=pk)), "polls": True}
    return render(request, "pools/includes/let_go_row.html", context)


def _taken_over(request: HttpRequest) -> QuerySet[Pooler]:
    """Return the poolers that may be let go, with the number of their pools."""
    rows = Pooler.objects.filter(take_overs__in=TakeOver.objects.holding())
    without_removal = Q(pools__removal_requested_at=None)
    return (
        Access.of(request)
        .visible(rows)
        .annotate(total=Count("pools", filter=without_removal, distinct=True))
        .order_by("name")[:MOST]
    )


def _row(request: HttpRequest, pooler: Pooler) -> dict[str, object]:
    row = progress(request, pooler)
    if row["waiting"] or pooler.is_watched:
        return row
    try:
        return row | {"release": take_overs.preview_release(pooler)}
    except (PoolsError, SealBroken, OSError) as error:
        return row | {"refused": str(error)}


def _asked(request: HttpRequest) -> HttpResponse:
    """Queue the release of each chosen pooler; without the confirmation of none."""
    poolers = chosen_of(request, request.POST)
    if not poolers:
        messages.error(request, _("Choose at least one pooler."))
    elif request.POST.get("confirm") != "yes":
        messages.error(request, _("Confirm that you have seen what comes back: nothing was let go."))
    else:
        _ask_each(request, poolers)
    ids = request.POST.getlist("shown") or [str(pooler.pk) for pooler in poolers]
    return redirect(f"{reverse('poolers-let-go')}?{urlencode([('pooler', one) for one in ids])}")


def _ask_each(request: HttpRequest, poolers: list[Pooler]) -> None:
    count = 0
    for pooler in poolers:
        try:
            take_overs.request_release(pooler, person(request.user))
        except HeldBack as held:
            messages.info(request, f"{pooler}: {held}")
        except (PoolsError, SealBroken, OSError) as error:
            messages.error(request, f"{pooler}: {error}")
        else:
            count += 1
    if count:
        text = ngettext("Workers let %(count)d pooler go.", "Workers let %(count)d poolers go.", count)
        messages.info(request, text % {"count": count})
