"""Reports on what a pool mode would break in the pool's database: a page of each pool, and a part of its form."""

from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from core.accounts.access import Access, find, needs
from pools.advice import mode_linter, modes
from pools.advice.mode_linter import Report
from pools.forms.pools import PoolForm, edited_pool, pooler_of
from pools.models import Mode, Pool, Pooler
from pools.poolers import KINDS
from pools.views.offered import offer_pool


@require_safe
@never_cache
@needs("pool.check")
def pool_mode_check(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Lint the pool in its own mode, or in the one given as `?mode=`; nothing is changed."""
    pool = find(request, Pool.objects.select_related("pooler", "cluster"), pk=pk)
    asked = request.GET.get("mode", pool.mode)
    mode = Mode(asked) if asked in Mode.values else Mode(pool.mode)
    saved_mode = pool.mode
    pool.mode = mode
    report = mode_linter.lint(pool)
    pool.mode = saved_mode
    context = {"pool": pool, "mode": mode, "modes": Mode, "words": modes.of(mode), "report": report}
    context["refusal"] = refusal(pool.pooler, mode)
    return render(request, "pools/pool_mode_check.html", context)


@require_POST
@never_cache
@needs("pool.create")
def unsaved_mode_check(request: HttpRequest) -> HttpResponse:
    """Lint the pool that an unsaved pool form describes, as far as it is filled in."""
    form = offer_pool(request, PoolForm(request.POST, pool=edited_pool(request.POST), access=Access.of(request)))
    context = {"report": of_form(form), "mode": form["mode"].value()}
    return render(request, "pools/includes/mode_report.html", context)


def of_form(form: PoolForm) -> Report | None:
    """Return the report on the pool in a form; None without a cluster, a database, or a mode that breaks anything."""
    cluster, mode, database = form.chosen_cluster, form["mode"].value(), form["database"].value()
    if cluster is None or not database or mode not in Mode.values or mode == Mode.SESSION:
        return None
    pooler = form.pool.pooler if form.pool else pooler_of(form["pooler"].value()) or Pooler()  # unsaved: without facts
    spec = Pool(pooler=pooler, cluster=cluster, database=database, user=form["user"].value() or "", mode=mode)
    return mode_linter.lint(spec)


def refusal(pooler: Pooler, mode: str) -> str:
    """Return the reason why this pooler can't have pools of that mode; empty if it can."""
    spec = Pool(pooler=pooler, name="any", database="any", mode=mode)
    return next((message for field, message in KINDS[pooler.kind].problems(spec) if field == "mode"), "")
