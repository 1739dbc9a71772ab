"""The page with what an operator installs so that several processes take a pooler's clients on one port."""

import io
import tarfile
import time
from uuid import UUID

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from panel.lib.access import staff_only
from pools.errors import PoolsError
from pools.models import Pooler
from pools.poolers import KINDS
from pools.poolers.process_plan import ProcessPlan

FEWEST, MOST, USUAL = 2, 32, 4


@require_safe
@never_cache
@staff_only
def pooler_processes(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Show the lines of each main file and the unit; `?as=tar` downloads all of it, whole and with its secrets."""
    pooler = get_object_or_404(Pooler, pk=pk)
    make_plan = KINDS[pooler.kind].process_plan
    if make_plan is None:
        raise Http404
    count = _count(request.GET.get("count", ""))
    context = {"pooler": pooler, "count": count, "fewest": FEWEST, "most": MOST}
    try:
        plan = make_plan(pooler, count)
    except (PoolsError, OSError) as error:
        return render(request, "pools/pooler_processes.html", context | {"refused": str(error)})
    if request.GET.get("as") == "tar":
        answer = HttpResponse(_archive(plan), content_type="application/x-tar")
        answer["Content-Disposition"] = f'attachment; filename="{pooler.pk}-processes.tar"'
        return answer
    units = [plan.unit_name.replace("@", f"@{number}") for number in range(2, count + 1)]
    return render(request, "pools/pooler_processes.html", context | {"plan": plan, "units": " ".join(units)})


def _count(typed: str) -> int:
    return min(MOST, max(FEWEST, int(typed))) if typed.isdecimal() else USUAL


def _archive(plan: ProcessPlan) -> bytes:
    """Return the main files under their paths, which nobody else may read, and the unit where systemd looks for it."""
    made, unit = io.BytesIO(), {plan.unit_path: plan.unit}
    with tarfile.open(fileobj=made, mode="w") as archive:
        for path, text in {**plan.files, **unit}.items():
            content = text.encode(errors="surrogateescape")
            member = tarfile.TarInfo(path.lstrip("/"))
            member.size, member.mode, member.mtime = len(content), 0o644 if path in unit else 0o600, int(time.time())
            archive.addfile(member, io.BytesIO(content))
    return made.getvalue()
