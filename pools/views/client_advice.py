"""Page that lists what a pool's clients have to change for its mode."""

from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from core.accounts.access import find, needs
from pools.advice import client_advice, client_limits, modes
from pools.advice.client_advice import Situation
from pools.models import Mode, Pool


@require_safe
@needs("pool.view")
def pool_clients(request: HttpRequest, pk: UUID) -> HttpResponse:
    """List the changes for each client, which depend on the mode and on the pooler's release."""
    pool = find(request, Pool.objects.select_related("pooler", "cluster"), pk=pk)
    now = Situation(pool.mode, client_limits.of(pool.pooler))
    context = {
        "pool": pool,
        "mode": modes.of(pool.mode),
        "shared": pool.mode != Mode.SESSION,
        "now": now,
        "general": client_advice.general(now),
        "advice": client_advice.advise(now),
    }
    return render(request, "pools/pool_clients.html", context)
