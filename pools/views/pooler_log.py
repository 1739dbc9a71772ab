"""The page of a pooler's log: its last lines with filters, and what they tell; htmx polls it."""

from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from core.accounts.access import find, needs
from pools.diagnosis import log_reasons
from pools.diagnosis.log_reasons import Filters
from pools.errors import HostUnreachable
from pools.models import Pooler
from pools.monitoring import refused_logins
from pools.poolers.pooler_log import LEVELS, LogUnreadable

LINES_SHOWN = 200


@never_cache
@require_safe
@needs("pooler.view")
def pooler_log(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Show the end of the log: `level`, `q`, `database`, `user`, `reason` and `refused` filter it.

    `live=0` stops the polls.
    """
    pooler = find(request, Pooler.objects.all(), pk=pk)
    context: dict[str, object] = {"pooler": pooler, "chosen": request.GET, "is_live": request.GET.get("live") != "0"}
    context["refusals"] = refused_logins.of_one(pooler)
    try:
        log = log_reasons.read(pooler)
    except (LogUnreadable, HostUnreachable) as error:
        return render(request, "pools/pooler_log.html", context | {"unreadable": str(error)})
    filters = filters_of(request)
    found = [line for line in log.lines if filters.let_through(line)]
    context |= {
        "paths": log.paths,
        "lines": found[: -LINES_SHOWN - 1 : -1],
        "count": len(found),
        "total": len(log.lines),
        "since": log.lines[0].at if log.lines else "",
        "reasons": log_reasons.of_lines(log.lines),
        "sqlstates": log_reasons.by_sqlstate(log.lines),
        "levels": sorted({line.level for line in log.lines}, key=LEVELS.index),
        "databases": sorted({line.database for line in log.lines if line.database}),
        "users": sorted({line.user for line in log.lines if line.user}),
    }
    return render(request, "pools/pooler_log.html", context)


def filters_of(request: HttpRequest) -> Filters:
    """Return the filters of a query."""
    asked = {name: request.GET.get(name, "").strip() for name in ("level", "database", "user", "reason")}
    is_refused = request.GET.get("refused") == "1"
    return Filters(**asked, words=request.GET.get("q", "").strip(), refused=is_refused)
