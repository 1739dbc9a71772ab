"""What happened in a run, in its order and in blocks, so that a day of it is never held as a whole."""

from collections.abc import Iterator
from typing import TypeVar

from django.db.models import QuerySet

from benchmarks.models import Look, PoolSample, Sample

Row = TypeVar("Row", Sample, PoolSample, Look)
BLOCK = 1_000


def in_blocks(rows: QuerySet[Row]) -> Iterator[list[Row]]:
    """The rows of one run by attempt and seq, each block by a query of its own: a slow reader holds no cursor open."""
    for attempt in rows.order_by("attempt").values_list("attempt", flat=True).distinct():
        seq = -1
        while block := list(rows.filter(attempt=attempt, seq__gt=seq).order_by("seq")[:BLOCK]):
            yield block
            seq = block[-1].seq
