"""SQL compilers that record what the ORM writes to tracked models.

Each write of the ORM ends in one of three compilers: `save()` and `create()`, `update()`, `bulk_update()`, `delete()`
with what it cascades to, and what a related manager does. No model and no query set has to take part, so none can be
forgotten; an update that touches no tracked column costs a look-up in a dictionary.

Django loads these with the first query, when models are there.
"""

from typing import Any

from django.db.models.sql.compiler import SQLCompiler, SQLDeleteCompiler, SQLInsertCompiler, SQLUpdateCompiler
from django.db.models.sql.subqueries import UpdateQuery

from core.audit import rows
from core.audit.recording import in_transaction
from core.audit.tracking import TRACKED, TrackedModel


def tracked_of(compiler: SQLCompiler) -> TrackedModel | None:
    """Return how the rows that are written are recorded; None where they are not."""
    model = compiler.query.model
    return TRACKED.get(model) if model else None


def written_by(query: UpdateQuery) -> list[str]:
    """Return the columns that an update writes."""
    values: list[Any] = query.values  # type: ignore[attr-defined]  # its stubs lack it: (field, model, value) of each
    return [value[0].attname for value in values]


class RecordingInsert(SQLInsertCompiler):
    """Inserts rows and records those of tracked models."""

    def execute_sql(self, returning_fields: Any = None) -> Any:  # type: ignore[override]  # noqa: ANN401 (rows)
        tracked = tracked_of(self)
        if tracked is None or not tracked.action("create"):
            return super().execute_sql(returning_fields)
        with in_transaction(self.connection):
            returned = super().execute_sql(returning_fields)
            keys = [one.pk for one in self.query.objs]
            if None in keys:  # the database gives them; the caller sets them afterwards
                place = next(index for index, one in enumerate(returning_fields or ()) if one.primary_key)
                keys = [row[place] for row in returned]
            rows.record_created(tracked, rows.of_keys(tracked, keys, self.connection.alias), self.connection.alias)
        return returned


class RecordingUpdate(SQLUpdateCompiler):
    """Updates rows and records what changed in those of tracked models."""

    def execute_sql(self, *words: Any, **named: Any) -> Any:  # noqa: ANN401 (a count)
        tracked = tracked_of(self)
        if tracked is None or not tracked.touches(written_by(self.query)):
            return super().execute_sql(*words, **named)
        alias = self.connection.alias
        with in_transaction(self.connection):
            before = rows.locked(tracked, self.query, alias)
            count = super().execute_sql(*words, **named)
            if before:
                rows.record_changed(tracked, before, rows.of_keys(tracked, before, alias), alias)
        return count


class RecordingDelete(SQLDeleteCompiler):
    """Deletes rows and records those of tracked models."""

    def execute_sql(self, *words: Any, **named: Any) -> Any:  # noqa: ANN401 (a count)
        tracked = tracked_of(self)
        if tracked is None or not tracked.action("delete"):
            return super().execute_sql(*words, **named)
        alias = self.connection.alias
        with in_transaction(self.connection):
            before = rows.of_query(tracked, self.query, alias)
            count = super().execute_sql(*words, **named)
            rows.record_deleted(tracked, before, alias)
        return count
