"""The pages of the audit trail: all of it, the history of one object, and the download."""

from collections.abc import Callable
from typing import Any

from django.core.handlers.asgi import ASGIRequest
from django.db.models import Model, QuerySet
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.views.decorators.http import require_safe

from core.accounts.access import Access, find, needs
from core.accounts.audit.entries import OUTCOME_LABELS, EntryFilter, actions, as_lines, page_of, visible
from core.accounts.audit.shown import shown
from core.audit.models import Entry
from core.audit.stream import state
from core.lib.streams import one_by_one

NDJSON = "application/x-ndjson"


@require_safe
@needs("audit.view")
def audit_list(request: HttpRequest) -> HttpResponse:
    """List the entries that the filters choose, newest first; 422 for a filter that can't be read."""
    access = Access.of(request)
    found = EntryFilter(request.GET, queryset=visible(access))
    is_valid = found.is_valid()
    context = {
        "form": found.form,
        "actions": actions(),
        "streams": state.states() if access.is_admin else [],
        "is_filtered": any(request.GET.get(name) for name in found.filters),
        "filtered": _filtered(request, found),
        **_page(request, found.qs if is_valid else Entry.objects.none()),
    }
    return render(request, "accounts/audit_list.html", context, status=200 if is_valid else 422)


def _filtered(request: HttpRequest, found: EntryFilter) -> list[tuple[object, object]]:
    """Return the label and the value of each filter that is set, as people read it."""
    outcomes = dict(OUTCOME_LABELS)
    given = {name: request.GET.get(name, "") for name in found.filters}
    shown_as = {name: text.replace("T", " ") if name in ("since", "until") else text for name, text in given.items()}
    shown_as["outcome"] = str(outcomes.get(given["outcome"], given["outcome"]))
    return [(found.filters[name].label, text) for name, text in shown_as.items() if text]


@require_safe
@needs("audit.view")
def audit_export(request: HttpRequest) -> HttpResponseBase:
    """Download the entries that the filters choose, a line of JSON for each, oldest first."""
    found = EntryFilter(request.GET, queryset=visible(Access.of(request)))
    if not found.is_valid():
        return audit_list(request)
    return download(request, found.qs)


def download(request: HttpRequest, rows: QuerySet[Entry]) -> StreamingHttpResponse:
    """Stream entries while they are read."""
    lines = as_lines(rows)
    pieces: Any = one_by_one(lines) if isinstance(request, ASGIRequest) else lines
    headers = {"Content-Disposition": 'attachment; filename="pooldeck-audit.ndjson"'}
    return StreamingHttpResponse(pieces, content_type=NDJSON, headers=headers)


def history(
    rows: QuerySet[Any], kind: str, *, template: str = "accounts/history.html", key: str = "pk"
) -> Callable[..., HttpResponseBase]:
    """Return the view of one object's entries; its template calls the object `record` and by its kind."""

    @require_safe
    @needs("audit.view")
    def object_history(request: HttpRequest, **kwargs: object) -> HttpResponse:
        record: Model = find(request, rows.all(), **{key: kwargs[key]})
        context = {kind: record, "record": record, "page_above": f"{kind}-detail"}
        entries = Entry.objects.filter(object_kind=kind, object_id=str(record.pk))
        return render(request, template, {**context, **_page(request, entries)})

    return object_history


def _page(request: HttpRequest, rows: QuerySet[Entry]) -> dict[str, object]:
    page = page_of(rows, request.GET.get("before", ""), request.GET.get("after", ""))
    return {"page": page, "rows": shown(page.entries)}
