"""Rows that are counted part by part, each in an index of its own, where one query with `OR` would read all rows."""

from collections.abc import Callable
from typing import Self

from django.db.models import Model, Q, QuerySet
from typing_extensions import TypeVar

M = TypeVar("M", bound=Model, covariant=True)
Parts = Callable[[], tuple[Q, ...]]


class CountedInParts(QuerySet[M]):
    """Rows with conditions of which each row fulfils exactly one, so that their counts add up.

    SQLite seeks the alternatives of an `OR` in an index only where no better one is in sight, and then reads the rows
    themselves: to count the runs that a member of a team sees, it went through those of everybody.
    """

    _parts: Parts | None = None

    def in_parts(self, parts: Parts | None) -> Self:
        """Return the same rows, of which each fulfils exactly one of the conditions that `parts` gives when asked."""
        found = self.all()
        found._parts = parts
        return found

    def count(self) -> int:
        """Return the number of the rows, as the sum over the parts where they can be told apart."""
        query = self.query
        is_whole = query.is_sliced or query.combinator or query.distinct or query.group_by is not None
        if not self._parts or self._result_cache is not None or is_whole:
            return super().count()
        whole = self.in_parts(None)
        return sum(whole.filter(part).count() for part in self._parts())

    def _clone(self) -> Self:
        found: Self = super()._clone()  # type: ignore[misc]  # the stubs know nothing of it
        found._parts = self._parts
        return found
