"""Suggestions of the search fields that choose a record."""

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from core.accounts.access import Access, needs
from pools.forms.record_choice import SOURCES


@require_safe
@needs("record.find")
def record_choices(request: HttpRequest, source: str) -> HttpResponse:
    """Render the records of a source that the user may see, by the words in the parameter that `of` names."""
    found = SOURCES.get(source)
    if found is None:
        raise Http404
    words = request.GET.get(request.GET.get("of", ""), "").strip()
    rows = Access.of(request).visible(found.rows())
    context = {"suggestions": found.suggestions(rows, words)}
    return render(request, "pools/includes/record_choices.html", context)
