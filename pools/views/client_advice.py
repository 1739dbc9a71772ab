"""Page that lists what a pool's clients have to change for its mode."""

from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_safe

from pools.advice import client_advice, mode_linter, modes
from pools.models import Pool


@require_safe
def pool_clients(request: HttpRequest, pk: UUID) -> HttpResponse:
    """List the changes for each client, which depend on the mode and on the pooler's release."""
    pool = get_object_or_404(Pool.objects.select_related("pooler", "cluster"), pk=pk)
    now = client_advice.situation(pool.mode, *mode_linter.prepared_limits(pool))
    context = {
        "pool": pool,
        "mode": modes.of(pool.mode),
        "now": now,
        "general": client_advice.general(now),
        "advice": client_advice.advise(now),
    }
    return render(request, "pools/pool_clients.html", context)
