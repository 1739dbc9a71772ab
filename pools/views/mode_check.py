"""What a pool mode would break in the database it leads to: a page of each pool, and a part of the pool form."""

from typing import Any
from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from panel.lib.access import staff_only
from pools.advice import mode_linter, modes
from pools.advice.mode_linter import Report
from pools.forms.records import PoolForm, edited_pool
from pools.models import Mode, Pool, Pooler
from pools.poolers import KINDS


@require_safe
@never_cache
@staff_only
def pool_mode_check(request: HttpRequest, pk: UUID) -> HttpResponse:
    """The pool judged by its own mode, or by the one asked for with `?mode=`; nothing is changed."""
    pool = get_object_or_404(Pool.objects.select_related("pooler", "cluster"), pk=pk)
    asked = request.GET.get("mode", pool.mode)
    mode = Mode(asked) if asked in Mode.values else Mode(pool.mode)
    pool_set = pool.mode
    pool.mode = mode
    report = mode_linter.lint(pool)
    pool.mode = pool_set
    context = {"pool": pool, "mode": mode, "modes": Mode, "words": modes.of(mode), "report": report}
    context["refusal"] = refusal(pool.pooler, mode)
    return render(request, "pools/pool_mode_check.html", context)


@require_POST
@never_cache
@staff_only
def unsaved_mode_check(request: HttpRequest) -> HttpResponse:
    """The same for what stands in the pool form, as far as it is filled."""
    form = PoolForm(request.POST, pool=edited_pool(request.POST))
    context = {"report": of_form(form), "mode": form["mode"].value()}
    return render(request, "pools/includes/mode_report.html", context)


def of_form(form: PoolForm) -> Report | None:
    """What is known of the wish in a form; None until it has a cluster, a database and a mode that can break."""
    cluster, mode, database = form.chosen_cluster, form["mode"].value(), form["database"].value()
    if cluster is None or not database or mode not in Mode.values or mode == Mode.SESSION:
        return None
    pooler = form.pool.pooler if form.pool else _chosen(form["pooler"].value())
    spec = Pool(pooler=pooler, cluster=cluster, database=database, user=form["user"].value() or "", mode=mode)
    return mode_linter.lint(spec)


def refusal(pooler: Pooler, mode: str) -> str:
    """Why this pooler can't have pools of that mode; empty where it can."""
    spec = Pool(pooler=pooler, name="any", database="any", mode=mode)
    return next((message for field, message in KINDS[pooler.kind].problems(spec) if field == "mode"), "")


def _chosen(pk: Any) -> Pooler:
    """The pooler of that id, or one of which nothing is known yet."""
    return next((one for one in Pooler.objects.all() if str(one.pk) == str(pk)), Pooler())
