"""The page on which a PgBouncer gets several processes on one port, with what its host needs for that."""

from functools import partial
from typing import Any
from uuid import UUID

from django import forms
from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from core.accounts.access import find, needs
from core.accounts.permissions import person
from pools.errors import PoolsError
from pools.forms.base import PanelForm
from pools.inventory import poolers
from pools.models import Pooler
from pools.models.poolers import MOST_PROCESSES
from pools.poolers import KINDS
from pools.views.form_submit import Attempt, attempt

USUAL = 4


class ProcessesForm(PanelForm):
    """Form that asks for the number of processes that share the port."""

    desired_processes = forms.IntegerField(
        label=gettext_lazy("How many share the port"),
        min_value=1,
        max_value=MOST_PROCESSES,
        help_text=gettext_lazy(
            "One for each core that it may use. Each opens the server connections of every pool itself, so the budget "
            "counts a pool once for each"
        ),
    )


@require_http_methods(["GET", "HEAD", "POST"])
@never_cache
@needs("pooler.change")
def pooler_processes(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Show what so many processes need, `?count=` before anything is changed; POST asks for that number."""
    pooler = find(request, Pooler.objects.all(), pk=pk)
    make_plan = KINDS[pooler.kind].process_plan
    if make_plan is None:
        raise Http404
    count = _count(request.GET.get("count", ""), pooler)
    form = ProcessesForm(request.POST or None, initial={"desired_processes": count})
    context, status = {"pooler": pooler, "form": form, "count": count}, 200
    if request.method == "POST" and form.is_valid():
        tried = _try_to_ask(request, pooler, form)
        if tried.saved:
            return redirect("pooler-processes", pooler.pk)
        context, status = context | tried.context, tried.status
    context["awaited"] = KINDS[pooler.kind].processes_awaited(pooler)
    try:
        context["plan"] = make_plan(pooler, count)
    except (PoolsError, OSError) as error:
        context["refused"] = str(error)
    return render(request, "pools/pooler_processes.html", context, status=status)


def _try_to_ask(request: HttpRequest, pooler: Pooler, form: ProcessesForm) -> Attempt[Any]:
    """Ask for the number, unless the pooler was edited since it was read: all its fields are written."""
    before, count = pooler.desired_processes, form.cleaned_data["desired_processes"]
    verb = partial(poolers.change, pooler, {"desired_processes": count}, pooler.version, person(request.user))
    tried = attempt(form, verb, current=pooler)
    if tried.saved and count != before:
        messages.info(request, _("A worker writes the files of %(pooler)s.") % {"pooler": pooler})
    elif tried.saved:
        same = _("Nothing changed: %(pooler)s has that number already, and no file is written.")
        messages.info(request, same % {"pooler": pooler})
    return tried


def _count(typed: str, pooler: Pooler) -> int:
    """Return the number to show: the typed one, else the pooler's, or the usual one where it has one process."""
    if typed.isdecimal():
        return min(MOST_PROCESSES, max(1, int(typed)))
    has_several = pooler.desired_processes > 1 or KINDS[pooler.kind].files_of(pooler) != KINDS[pooler.kind].files
    return pooler.desired_processes if has_several else USUAL
