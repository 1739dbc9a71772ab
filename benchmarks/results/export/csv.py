"""A run's samples as CSV, safe to open in a spreadsheet; read in blocks, so that a day of it is never held whole."""

import csv
import io
from collections.abc import Iterator
from typing import Any, TypeVar

from django.db.models import QuerySet

from benchmarks.models import Observation, PoolSample, Run, Sample
from benchmarks.runs.live import events

FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")


def samples(run: Run) -> Iterator[str]:
    """The header, then one line a progress interval, a block of them at a time; what was not printed is left empty."""
    yield line(events.SAMPLE_FIELDS)
    for block in in_blocks(run.samples.all()):
        yield "".join(line(getattr(row, name) for name in events.SAMPLE_FIELDS) for row in block)


def line(cells: Any) -> str:
    """One line of CSV; texts that a spreadsheet would take for a formula begin with an apostrophe (numbers stay)."""
    out = io.StringIO()
    csv.writer(out, lineterminator="\r\n").writerow([_cell(cell) for cell in cells])
    return out.getvalue()


def _cell(cell: Any) -> Any:
    if isinstance(cell, str) and cell.startswith(FORMULA_STARTS):
        return f"'{cell}"
    return "" if cell is None else cell


Row = TypeVar("Row", Sample, PoolSample, Observation)
BLOCK = 1_000


def in_blocks(rows: QuerySet[Row]) -> Iterator[list[Row]]:
    """The rows of one run by attempt and seq, each block by a query of its own: a slow reader holds no cursor open."""
    for attempt in rows.order_by("attempt").values_list("attempt", flat=True).distinct():
        seq = -1
        while block := list(rows.filter(attempt=attempt, seq__gt=seq).order_by("seq")[:BLOCK]):
            yield block
            seq = block[-1].seq
