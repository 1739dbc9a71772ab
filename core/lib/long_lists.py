"""Pages of long lists, the last of which is read as quickly as the first."""

from collections.abc import Sequence
from typing import Any

from django.core.paginator import Page, Paginator
from django.db.models import Model, QuerySet


class LongList(Paginator):  # type: ignore[type-arg]  # Django's is generic in its stubs only
    """Pages of a query, in a whole order: the primary key breaks ties, so that no row is on two pages.

    A database passes over the rows of all pages before. It does so here in an index, without joins, and from the nearer
    end: at first only the keys of a page are read, then its rows by their keys. A list in memory is cut as usual.
    """

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
        found = list(rows[: self.per_page + 1])
        if len(found) <= self.per_page:
            self.count = len(found)
        return found[: self.per_page]


def in_whole_order(rows: QuerySet[Any]) -> QuerySet[Any]:
    """Return the rows in the same order, with the primary key as its last term."""
    terms = rows.query.order_by or (rows.model._meta.ordering if rows.query.default_ordering else ())
    keys = ("pk", rows.model._meta.pk.name)
    is_whole = any(term.removeprefix("-") in keys for term in terms if isinstance(term, str))
    return rows if is_whole else rows.order_by(*terms, "pk")


def _rows(rows: "QuerySet[Any]", start: int, end: int, count: int) -> Sequence[Model]:
    wanted = _keys(rows.values_list("pk", flat=True), start, end, count)
    found = {row.pk: row for row in rows.filter(pk__in=wanted).order_by()}
    return [found[key] for key in wanted if key in found]


def _keys(keys: QuerySet[Any, Any], start: int, end: int, count: int) -> list[Any]:
    if start < count - end:
        return list(keys[start:end])
    return list(keys.reverse()[count - end : count - start])[::-1]
