"""Rows of tracked models before and after a write, and the entries that their difference makes."""

from collections.abc import Iterable
from typing import Any, NamedTuple
from uuid import UUID

from django.db.models import Model, QuerySet
from django.db.models.sql import Query

from core.audit.recording import Subject, record
from core.audit.tracking import CHANGED, TrackedModel

EMPTY: tuple[object, ...] = (None, "", [], {})


class Row(NamedTuple):
    """A row of a tracked model: its columns by name, and what the entry says beside them."""

    values: dict[str, object]
    subject: Subject
    author: str

    def shown(self, tracked: TrackedModel) -> dict[str, object]:
        """Return the columns that have a value, secrets as `changed`."""
        filled = {name: value for name, value in self.values.items() if value not in EMPTY}
        return {_plain(name): CHANGED if name in tracked.secrets else value for name, value in filled.items()}


Rows = dict[object, Row]
Values = dict[object, dict[str, object]]


def locked(tracked: TrackedModel, query: Query, using: str) -> Values:
    """Read the columns of the rows that an update is about, and lock these as the update is going to."""
    rows = _rows_of(tracked, query, using).select_for_update(of=("self",))  # a column may be of a record that it names
    found = rows.values_list("pk", *tracked.fields)
    return {key: dict(zip(tracked.fields, values, strict=True)) for key, *values in found}


def of_query(tracked: TrackedModel, query: Query, using: str) -> Rows:
    """Read the rows that a write's query is about."""
    return _read(tracked, _rows_of(tracked, query, using))


def of_keys(tracked: TrackedModel, keys: Iterable[object], using: str) -> Rows:
    """Read rows by their primary keys."""
    return _read(tracked, tracked.model._base_manager.using(using).filter(pk__in=list(keys)))


def _rows_of(tracked: TrackedModel, query: Query, using: str) -> QuerySet[Model]:
    keys = query.chain(klass=Query)
    keys.select_related = False
    keys.clear_ordering(force=True)
    keys.clear_select_clause()
    keys.add_fields(["pk"])
    return tracked.model._base_manager.using(using).filter(pk__in=keys)


def _read(tracked: TrackedModel, rows: QuerySet[Model]) -> Rows:
    fields = tracked.fields
    found = rows.values_list("pk", *fields, *tracked.lookups)
    return {key: _row(tracked, dict(zip(fields, rest, strict=False)), rest[len(fields) :]) for key, *rest in found}


def _row(tracked: TrackedModel, values: dict[str, object], further: list[Any]) -> Row:
    pk, name, *others = further
    cluster: UUID | None = others.pop(0) if tracked.cluster else None
    team: UUID | None = next(filter(None, [others.pop(0) for _lookup in tracked.team]), None)
    author = str(others.pop(0) or "") if tracked.author else ""
    subject = Subject(tracked.kind, "" if pk is None else str(pk), "" if name is None else str(name), cluster, team)
    return Row(values, subject, author)


def record_created(tracked: TrackedModel, rows: Rows, using: str) -> None:
    """Record that the rows were inserted."""
    for row in rows.values():
        _record(tracked, tracked.action("create"), row, using, after=row.shown(tracked))


def record_deleted(tracked: TrackedModel, rows: Rows, using: str) -> None:
    """Record that the rows were deleted."""
    for row in rows.values():
        _record(tracked, tracked.action("delete"), row, using, before=row.shown(tracked))


def record_changed(tracked: TrackedModel, before: Values, after: Rows, using: str) -> None:
    """Record each row of which a tracked column has another value now."""
    for key, row in after.items():
        names = [name for name, value in row.values.items() if value != before[key][name]]
        if names:
            shown = list(dict.fromkeys((*tracked.named_by, *names)))
            sides = {"before": _side(tracked, before[key], shown), "after": _side(tracked, row.values, shown)}
            _record(tracked, tracked.action("change", names), row, using, **sides)


def _side(tracked: TrackedModel, values: dict[str, object], names: list[str]) -> dict[str, object]:
    return {_plain(name): CHANGED if name in tracked.secrets else values[name] for name in names}


def _plain(name: str) -> str:
    return name.removeprefix("sealed_")


def _record(tracked: TrackedModel, action: str, row: Row, using: str, **sides: dict[str, object]) -> None:
    if action:
        outcome = ": ".join(str(row.values[name]) for name in tracked.outcome if row.values[name])
        record(action, row.subject, outcome=outcome, asked_by=row.author, using=using, **sides)
