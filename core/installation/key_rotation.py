"""Rotating the keys: each stored secret is encrypted again under the first key, so that the others can be removed.

Secrets are found by the type of their column (`SealedField`), and those inside other texts and JSON, such as the
scripts of earlier releases, by the beginning that all Fernet tokens share. Each batch is a transaction, and what the
first key opens already is left alone, so a rotation that was killed goes on where it ended. The columns of
`SealedField` come last: while anything is left, the start-up check, which reads these, sees that a key is needed.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from django.apps import apps
from django.conf import settings
from django.db import models, transaction
from django.db.models.functions import Cast

from core.lib.crypto import fingerprint
from core.lib.sealed_field import SealedField

BATCH = 100
TOKEN_BEGINS = "gAAAAA"  # noqa: S105 (the version 0x80 and the first bytes of a time before 2106: the specification of Fernet)
_TOKEN = re.compile(rf"{TOKEN_BEGINS}[\w-]{{94,}}=*")


@dataclass(frozen=True)
class Column:
    """A column that may hold secrets: as a whole (`SealedField`), or somewhere in its text."""

    model: type[models.Model]
    field: "models.Field[Any, Any]"

    @property
    def is_sealed(self) -> bool:
        return isinstance(self.field, SealedField)

    @property
    def rows(self) -> "models.QuerySet[models.Model]":
        """The rows that have a secret in this column."""
        text = Cast(self.field.name, models.TextField())
        return self.model._base_manager.alias(text_of_column=text).filter(text_of_column__contains=TOKEN_BEGINS)


@dataclass
class Count:
    """Secrets by the key that opens them; `unreadable` names the rows whose secrets none does."""

    by_key: list[int]
    unreadable: list[str] = field(default_factory=list)

    @property
    def needing_older(self) -> int:
        return sum(self.by_key[1:])


class Keys:
    """The configured keys: the first encrypts, all decrypt."""

    def __init__(self) -> None:
        self.names = [fingerprint(key) for key in settings.POOLDECK_KEYS]
        self._fernets = [Fernet(key) for key in settings.POOLDECK_KEYS]

    @cached_property
    def _all(self) -> MultiFernet:
        return MultiFernet(self._fernets)

    def number_of(self, token: str) -> int | None:
        """Return the index of the key that opens the token; None where none does."""
        for number, one in enumerate(self._fernets):
            try:
                one.decrypt(token)
            except InvalidToken:
                continue
            return number
        return None

    def rotated(self, token: str) -> str:
        """Return the token under the first key, unchanged where it is that already, or no key opens it."""
        return self._all.rotate(token).decode() if self.number_of(token) else token


def columns() -> list[Column]:
    """Return every column of every model that may hold secrets, those of `SealedField` last."""
    text_types = (models.TextField, models.JSONField)
    found = [
        Column(model, field)
        for model in apps.get_models(include_auto_created=True)
        if model._meta.managed and not model._meta.proxy
        for field in model._meta.local_concrete_fields
        if isinstance(field, text_types)
    ]
    return sorted(found, key=lambda column: column.is_sealed)


def count() -> Count:
    """Count the secrets by the key that opens them; an unreadable token inside a text counts as text."""
    keys = Keys()
    found = Count([0] * len(keys.names))
    for column in columns():
        for row in column.rows.iterator(BATCH):
            for token in _tokens(getattr(row, column.field.attname)):
                number = keys.number_of(token)
                if number is not None:
                    found.by_key[number] += 1
                elif column.is_sealed:
                    found.unreadable.append(f"{row._meta.verbose_name} {row}")
    return found


def unreadable() -> list[str]:
    """Return the rows with secrets that no key opens, by the names that people know: `cluster orders`."""
    keys = Keys()
    return [
        f"{row._meta.verbose_name} {row}"
        for column in columns()
        if column.is_sealed
        for row in column.rows.iterator(BATCH)
        if keys.number_of(getattr(row, column.field.attname)) is None
    ]


def rotate(on_progress: Callable[[int], None] = lambda rows: None) -> int:
    """Encrypt every secret under the first key; return the number of those that were not yet.

    `on_progress` gets the number of rows of each batch after its commit; together they are `rows_to_read()`.
    """
    keys, rotated = Keys(), 0
    for column in columns():
        for batch in _batches(column):
            with transaction.atomic():
                rotated += sum(_rotate_row(keys, column, row) for row in _locked(column, batch))
            on_progress(len(batch))
    return rotated


def rows_to_read() -> int:
    """Return how many rows a rotation reads, each once for each of its columns."""
    return sum(column.rows.count() for column in columns())


def _batches(column: Column) -> Iterator[list[object]]:
    """Yield the primary keys of rows, all of them read before the first row is changed."""
    found = list(column.rows.values_list("pk", flat=True))
    return (found[start : start + BATCH] for start in range(0, len(found), BATCH))


def _locked(column: Column, batch: list[object]) -> "models.QuerySet[models.Model]":
    """Return the rows as they are now, which nobody else changes until the transaction ends."""
    return column.model._base_manager.select_for_update().only("pk", column.field.name).filter(pk__in=batch)


def _rotate_row(keys: Keys, column: Column, row: models.Model) -> int:
    before = getattr(row, column.field.attname)
    changed = sum(bool(keys.number_of(token)) for token in _tokens(before))
    if changed:
        after = _replaced(before, keys.rotated)
        column.model._base_manager.filter(pk=row.pk).update(**{column.field.name: after})
    return changed


def _tokens(value: object) -> list[str]:
    """Return the tokens in a text, or in the texts of a JSON value."""
    found: list[str] = []

    def note(token: str) -> str:
        found.append(token)
        return token

    _replaced(value, note)
    return found


def _replaced(value: Any, replace: Callable[[str], str]) -> Any:  # noqa: ANN401 (JSON in, the same JSON out)
    """Return the value with each token in its texts replaced."""
    if isinstance(value, str):
        return _TOKEN.sub(lambda found: replace(found[0]), value)
    if isinstance(value, list):
        return [_replaced(one, replace) for one in value]
    if isinstance(value, dict):
        return {key: _replaced(one, replace) for key, one in value.items()}
    return value
