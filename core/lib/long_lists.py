"""Pages of long lists, the last of which is read as quickly as the first."""

from collections.abc import Sequence
from typing import Any

from django.core.paginator import Page, Paginator
from django.db.models import Model, QuerySet


class LongList(Paginator):  # type: ignore[type-arg]  # Django's is generic in its stubs only
    """Pages of a query, in a whole order: the primary key breaks ties, so that no row is on two pages.

    A database passes over the rows of all pages before. It does so here in an index, without joins, and from the nearer
    end: at first only the keys of a page are read, then its rows by their keys. A list in memory is cut as usual.

    Of the first page the rows are read at once, unless `keys_first`: a search passes over rows there too.
    """

    def __init__(self, rows: QuerySet[Any] | Sequence[Any], per_page: int, *, keys_first: bool = False) -> None:
        super().__init__(rows, per_page)
        self.keys_first = keys_first

    def page(self, number: int | str) -> "Page[Any]":
        """Return a page by its number, from 1. Raises `InvalidPage`."""
        if not isinstance(self.object_list, QuerySet) or self.object_list.query.is_sliced:
            return super().page(number)
        rows = in_whole_order(self.object_list)
        if number in (1, "1"):
            return Page(self._first(rows), 1, self)
        valid = self.validate_number(number)
        start = (valid - 1) * self.per_page
        return Page(_rows(rows, start, min(start + self.per_page, self.count), self.count), valid, self)

    def _first(self, rows: "QuerySet[Any]") -> list[Model]:
        """Read the first page and a row more: a list that ends there need not be gone through again to be counted."""
        found = rows.values_list("pk", flat=True) if self.keys_first else rows
        first = list(found[: self.per_page + 1])
        if len(first) <= self.per_page:
            self.count = len(first)
        return _by_keys(rows, first[: self.per_page]) if self.keys_first else first[: self.per_page]


def whole_order(model: type[Model], terms: Sequence[Any]) -> Sequence[Any]:
    """Return the terms, and the primary key as the last one where none of them is unique."""
    unique = {"pk", *(field.name for field in model._meta.fields if field.unique and not field.null)}
    is_whole = any(term.removeprefix("-") in unique for term in terms if isinstance(term, str))
    return terms if is_whole else [*terms, "pk"]


def in_whole_order(rows: QuerySet[Any]) -> QuerySet[Any]:
    """Return the rows in the same order, in which no two are alike."""
    terms = rows.query.order_by or (rows.model._meta.ordering if rows.query.default_ordering else ())
    return rows.order_by(*whole_order(rows.model, terms or ()))


def _rows(rows: "QuerySet[Any]", start: int, end: int, count: int) -> Sequence[Model]:
    return _by_keys(rows, _keys(rows.values_list("pk", flat=True), start, end, count))


def _by_keys(rows: "QuerySet[Any]", wanted: "Sequence[Any]") -> list[Any]:
    found = {row.pk: row for row in rows.filter(pk__in=wanted).order_by()}
    return [found[key] for key in wanted if key in found]


def _keys(keys: QuerySet[Any, Any], start: int, end: int, count: int) -> list[Any]:
    if start < count - end:
        return list(keys[start:end])
    return list(keys.reverse()[count - end : count - start])[::-1]
