"""The page of who may log in to the pools of a PgBouncer."""

from uuid import UUID

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import ngettext
from django.views.decorators.cache import never_cache

from core.accounts.access import find, needs
from core.accounts.permissions import person
from pools.errors import PoolerUnreachable
from pools.inventory import pool_access
from pools.models import Pooler
from pools.poolers import kinds_that
from pools.views.managed import managed_only


@never_cache
@needs("pooler.restrict")
@managed_only
def pooler_access(request: HttpRequest, pk: UUID) -> HttpResponse:
    """List the open pools and whom they would refuse; on POST, restrict them to their own users."""
    pooler = find(request, Pooler.objects.all(), pk=pk, kind__in=kinds_that("admits_others"))
    context: dict[str, object] = {"pooler": pooler, "obstacle": pool_access.obstacle(pooler)}
    try:
        if request.method == "POST":
            restricted = pool_access.restrict(pooler, pooler.name, person(request.user))  # the page has shown the list
            text = ngettext(
                "%(count)d pool is being restricted to its own user.",
                "%(count)d pools are being restricted to their own users.",
                len(restricted),
            )
            messages.info(request, text % {"count": len(restricted)})
            return redirect("pooler-detail", pk)
        context["open_pools"] = pool_access.review(pooler)
    except PoolerUnreachable as error:
        context["error"] = str(error)
    return render(request, "pools/pooler_access.html", context, status=502 if "error" in context else 200)
