"""Page on which many watched poolers are taken over in one go: chosen, previewed in one table, agreed to once."""

from urllib.parse import urlencode
from uuid import UUID

from django.contrib import messages
from django.db.models import Count, QuerySet
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from core.accounts.access import Access, find, needs
from core.accounts.permissions import person
from pools.approvals.errors import HeldBack
from pools.deployment import take_overs
from pools.errors import PoolsError
from pools.models import Pooler
from pools.poolers import kinds_that
from pools.views.take_overs import previewed, progress

MOST = 200  # A pasted list has the same limit.


@never_cache
@needs("pooler.take_over", destroys=gettext_lazy("Take the poolers over"))
def poolers_take_over(request: HttpRequest) -> HttpResponse:
    """Choose watched poolers, then show what would become of each (`pooler`, repeated); on POST take these over.

    Each row asks for its own preview, so that they fill in as consoles answer; `whole` renders them all at once.
    """
    if request.method == "POST":
        return _asked(request)
    chosen = chosen_of(request, request.GET)
    context: dict[str, object] = {"chosen": chosen, "query": request.GET.urlencode(), "back": request.get_full_path()}
    if not chosen:
        context["watched"] = _watched(request)
    elif "whole" in request.GET:
        context["rows"] = [_row(request, pooler) for pooler in chosen]
    return render(request, "pools/poolers_take_over.html", context)


@require_safe
@never_cache
@needs("pooler.take_over")
def pooler_take_over_row(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Render what would become of one pooler, or how far its take-over has come."""
    context = {"row": _row(request, find(request, Pooler.objects.all(), pk=pk)), "polls": True}
    context["back"] = request.htmx.current_url_abs_path or ""  # type: ignore[attr-defined]  # the middleware adds it
    return render(request, "pools/includes/take_over_row.html", context)


def _watched(request: HttpRequest) -> QuerySet[Pooler]:
    """Return the poolers that may be taken over, with the number of their entries."""
    rows = Pooler.objects.filter(config_dir="", kind__in=kinds_that("can_be_taken_over"))
    return Access.of(request).visible(rows).annotate(total=Count("entries")).order_by("name")[:MOST]


def chosen_of(request: HttpRequest, given: QueryDict) -> list[Pooler]:
    """Return the poolers that were chosen (`pooler`, repeated), as far as the request may do this to them."""
    access = Access.of(request)
    rows = access.visible(Pooler.objects.filter(pk__in=_chosen_ids(given)).order_by("name"))
    return [pooler for pooler in rows if access.refused_on(pooler) is None]


def _chosen_ids(given: QueryDict) -> list[UUID]:
    """Return the ids of the poolers that were chosen (`pooler`, repeated); what is no id is left out."""
    found = []
    for text in given.getlist("pooler")[:MOST]:
        try:
            found.append(UUID(text))
        except ValueError:
            continue
    return found


def _row(request: HttpRequest, pooler: Pooler) -> dict[str, object]:
    row = progress(request, pooler)
    if row["waiting"] or not pooler.is_watched:
        return row
    return row | previewed(request, pooler, {"config_file": row["config_file"]})


def _asked(request: HttpRequest) -> HttpResponse:
    """Queue the take-over of each chosen pooler with the file and the entries that its preview showed."""
    poolers = chosen_of(request, request.POST)
    count = 0
    for pooler in poolers:
        names = request.POST.getlist(f"entries-{pooler.pk}")
        try:
            take_overs.queue(pooler, request.POST.get(f"file-{pooler.pk}", ""), names, person(request.user))
        except HeldBack as held:
            messages.info(request, f"{pooler}: {held}")
        except PoolsError as error:
            messages.error(request, f"{pooler}: {error}")
        else:
            count += 1
    if not poolers:
        messages.error(request, _("Choose at least one pooler."))
    if count:
        text = ngettext("Workers take %(count)d pooler over.", "Workers take %(count)d poolers over.", count)
        messages.info(request, text % {"count": count})
    ids = request.POST.getlist("shown") or [str(pooler.pk) for pooler in poolers]
    return redirect(f"{reverse('poolers-take-over')}?{urlencode([('pooler', one) for one in ids])}")
