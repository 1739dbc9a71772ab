"""Pages of a pooler's console: results of SHOW as tables that can be sorted and filtered and that poll."""

from collections.abc import Iterable, Mapping
from typing import TypedDict
from uuid import UUID

from django.core.paginator import Page, Paginator
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.http import content_disposition_header
from django.views.decorators.http import require_safe

from core.accounts.access import find, needs
from pools.console import show_cache, tables
from pools.console.tables import Cell, Head, Row
from pools.models import Pool, Pooler
from pools.poolers import KINDS

PAGE_SIZE = 100
TABLE = "console-table"  # the id of the part that polls


@require_safe
@needs("pooler.view")
def pooler_console(request: HttpRequest, pk: UUID, word: str = "") -> HttpResponse:
    """Render the result of one SHOW command.

    Parameters: `sort` (a column; `-` before it sorts descending), `q` (rows that contain it) and `page`; `as=csv`
    returns all rows as a file.
    """
    pooler = find(request, Pooler.objects.all(), pk=pk)
    words = KINDS[pooler.kind].words_of(pooler)
    if word and word not in words:
        raise Http404(f"SHOW {word} is not offered for this pooler")
    word = word or next(iter(words), "")
    context: dict[str, object] = {"pooler": pooler, "words": words, "word": word}
    if word:
        table = _table(request, pooler, word)
        if request.GET.get("as") == "csv" and not table["error"]:
            return _csv(f"{pooler.name}-{word}.csv", table["found"])
        context |= table
    is_refresh = request.htmx and request.htmx.target == TABLE  # type: ignore[attr-defined]  # the middleware adds it
    return render(request, "pools/includes/console_table.html" if is_refresh else "pools/pooler_console.html", context)


class _TableRow(TypedDict):
    """A row of the table, the pool that it names, and whether that is paused or disabled."""

    cells: list[Cell]
    pool: Pool | None
    paused: bool
    disabled: bool


class _Table(TypedDict):
    """The context of the table."""

    error: str
    heads: list[Head]
    rows: list[_TableRow]
    has_actions: bool
    found: list[Row]
    all_count: int
    page: Page[Row]
    query: str
    sort: str
    is_live: bool


def _table(request: HttpRequest, pooler: Pooler, word: str) -> _Table:
    sort, query = request.GET.get("sort", ""), request.GET.get("q", "").strip()
    table = show_cache.rows(pooler, word)
    heads = tables.heads(table.rows, KINDS[pooler.kind].columns, sort)
    found = tables.ordered(tables.matching(table.rows, query), sort)
    page = Paginator(found, PAGE_SIZE).get_page(request.GET.get("page"))
    pools = _pools_of(pooler, page.object_list) if word == "databases" else {}
    return {
        "error": table.error,
        "heads": heads,
        "rows": [_shown(row, heads, pools) for row in page],
        "has_actions": bool(pools),
        "found": found,
        "all_count": len(table.rows),
        "page": page,
        "query": query,
        "sort": sort,
        "is_live": request.GET.get("live") != "off",
    }


def _pools_of(pooler: Pooler, rows: Iterable[Row]) -> dict[str, Pool]:
    names = [str(row["name"]) for row in rows if "name" in row]
    return {pool.name: pool for pool in pooler.pools.wanted().filter(name__in=names)}


def _shown(row: Row, heads: list[Head], pools: Mapping[str, Pool]) -> _TableRow:
    return {
        "cells": tables.cells(row, heads),
        "pool": pools.get(str(row.get("name"))) if pools else None,
        "paused": bool(row.get("paused")),
        "disabled": bool(row.get("disabled")),
    }


def _csv(name: str, rows: list[Row]) -> HttpResponse:
    headers = {"Content-Disposition": content_disposition_header(as_attachment=True, filename=name) or "attachment"}
    return HttpResponse(tables.as_csv(rows), content_type="text/csv; charset=utf-8", headers=headers)
