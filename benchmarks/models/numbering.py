"""Records that people know by a number: the next one is free, also where two are made at once."""

from collections.abc import Mapping
from typing import TypeVar

from django.db import IntegrityError, models, transaction
from django.db.models import Max

from core.lib.counted_in_parts import CountedInParts

TRIES = 10
Record = TypeVar("Record", bound=models.Model)


class NumberedQuerySet(CountedInParts[Record]):
    """Creates records whose `number` is unique."""

    def enqueue(self, **fields: object) -> Record:
        """Create a record with the next number; of two that reach for the same number, each gets one."""
        for _nth in range(TRIES - 1):
            try:
                return self._enqueue_once(fields)
            except IntegrityError:  # another record took the number between the query and the insert
                continue
        return self._enqueue_once(fields)

    def _enqueue_once(self, fields: Mapping[str, object]) -> Record:
        with transaction.atomic():
            number = (self.aggregate(last=Max("number"))["last"] or 0) + 1
            return self.create(number=number, **fields)
