"""Moves the minutes of an entry to its pool and back, so that a take-over and a release keep the history."""

from collections.abc import Iterator
from itertools import islice

from django.db import models

from pools.models import Entry, EntryMinute, Pool, PoolMinute

ROWS_AT_ONCE = 500


def to_pool(entry: Entry, pool: Pool) -> None:
    """Give the entry's minutes to the pool that it became."""
    _move(EntryMinute.objects.filter(entry=entry), PoolMinute, pool=pool)


def to_entry(pool: Pool, entry: Entry) -> None:
    """Give the pool's minutes to the entry that is left of it; minutes that both have stay the entry's."""
    _move(PoolMinute.objects.filter(pool=pool), EntryMinute, entry=entry)


def _move(
    rows: "models.QuerySet[EntryMinute] | models.QuerySet[PoolMinute]", into: type[models.Model], **owner: object
) -> None:
    names = [field.attname for field in into._meta.concrete_fields if field.name not in ("id", *owner)]
    rows_moved = (into(**owner, **{name: getattr(row, name) for name in names}) for row in rows.iterator(ROWS_AT_ONCE))
    for batch in _batches(rows_moved):
        into._default_manager.bulk_create(batch, ignore_conflicts=True)
    rows.delete()


def _batches(made: Iterator[models.Model]) -> Iterator[list[models.Model]]:
    while batch := list(islice(made, ROWS_AT_ONCE)):
        yield batch
