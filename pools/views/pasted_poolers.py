"""Page on which many poolers are registered at once from a pasted list, to be watched."""

from collections.abc import Iterator

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST

from core.accounts.access import Access, needs
from core.accounts.people.ownership import chosen_team, offer_team
from core.accounts.permissions import person
from pools.errors import InvalidValues
from pools.forms.pasted_poolers import PastedPoolersForm
from pools.inventory import pasted_poolers
from pools.inventory.pasted_poolers import Line, Outcome
from pools.models import Pooler


@never_cache
@needs("pooler.create")
def pooler_paste(request: HttpRequest) -> HttpResponse:
    """Render the form; on POST check all lines and show what was found of each.

    A browser with JavaScript gets rows that each ask for their own line, so that they fill in as consoles answer.
    """
    form = offer_team(request, PastedPoolersForm(request.POST or None), "pooler.create")
    context: dict[str, object] = {"form": form}
    if request.method == "POST" and form.is_valid():
        try:
            lines = pasted_poolers.read(form.cleaned_data["lines"])
        except InvalidValues as error:
            form.add_errors(error.errors)
        else:
            if request.htmx:  # type: ignore[attr-defined]  # the middleware adds it
                context["waiting"] = lines
            else:
                context["outcomes"] = list(_watched(request, form, lines))
    is_part = bool(request.htmx)  # type: ignore[attr-defined]
    template = "pools/includes/pasted_poolers.html" if is_part else "pools/pooler_paste.html"
    return render(request, template, context)


@require_POST
@never_cache
@needs("pooler.create")
def pooler_paste_line(request: HttpRequest) -> HttpResponse:
    """Check one line (`line`, counted from 1) of the list, register its pooler, and render its row."""
    form = offer_team(request, PastedPoolersForm(request.POST), "pooler.create")
    number = request.POST.get("line", "")
    if not form.is_valid() or not number.isdecimal():
        return HttpResponse(status=400)
    try:
        lines = [line for line in pasted_poolers.read(form.cleaned_data["lines"]) if line.number == int(number)]
    except InvalidValues:
        lines = []
    if not lines:
        return HttpResponse(status=400)
    (outcome,) = _watched(request, form, lines)
    return render(request, "pools/includes/pasted_row.html", {"outcome": outcome})


def _watched(request: HttpRequest, form: PastedPoolersForm, lines: list[Line]) -> Iterator[Outcome]:
    team, known = chosen_team(request, form, "pooler.create"), Access.of(request).visible(Pooler.objects.all())
    return pasted_poolers.watch(lines, form.login(), person(request.user), team=team, known=known)
