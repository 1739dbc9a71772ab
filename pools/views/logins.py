"""Page that measures how long a login to a pool takes, and where the time goes."""

from typing import Any
from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from panel.lib.access import staff_only
from pools.advice import login_cost
from pools.errors import PoolsError
from pools.models import Pool


@require_http_methods(["GET", "HEAD", "POST"])
@never_cache
@staff_only
def pool_logins(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Show how clients authenticate; a POST measures `login_cost.LOGINS` logins and breaks their time down."""
    pool = get_object_or_404(Pool.objects.select_related("pooler", "cluster"), pk=pk)
    context: dict[str, Any] = {"pool": pool, "client_auth": login_cost.client_auth_note(pool)}
    context["count"] = login_cost.LOGINS
    if request.method == "POST":
        try:
            context["logins"] = found = login_cost.measure(pool)
            context["remedies"] = login_cost.remedies_of(pool, found[0])
        except PoolsError as error:
            context["refused"] = str(error)
    return render(request, "pools/pool_logins.html", context)
