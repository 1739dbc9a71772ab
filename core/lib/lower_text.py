"""Texts that one search compares: several columns of a table in one that the database generates, in small letters."""

from typing import Any

from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import GeneratedField, TextField, Value
from django.db.models.functions import Concat, Lower
from django.db.models.lookups import Contains, IContains
from django.db.models.sql.compiler import SQLCompiler


class LowerTextField(TextField):  # type: ignore[type-arg]  # Django's is generic in its stubs only
    """A text that is in small letters already: `icontains` changes the letters of what is searched for alone."""


class ContainsInAnyLetters(Contains):
    """Takes no UPPER of each row, but LOWER of what is searched for: by the database, which made the column with it."""

    def process_rhs(self, compiler: SQLCompiler, connection: BaseDatabaseWrapper) -> tuple[str, Any]:
        """Return the pattern in small letters, and its parameters."""
        sql, params = super().process_rhs(compiler, connection)
        return f"LOWER({sql})", params


LowerTextField.register_lookup(ContainsInAnyLetters, IContains.lookup_name)


def together(*columns: str) -> GeneratedField:
    """Return a column that has these texts, with a sign between them that nobody types: no word is found across two."""
    parts = [part for column in columns for part in (Value("\x1f"), column)][1:]
    return GeneratedField(expression=Lower(Concat(*parts)), output_field=LowerTextField(), db_persist=True)
