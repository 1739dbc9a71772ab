"""Export of samples as CSV, safe for spreadsheets; reads in blocks, so that memory stays bounded."""

import csv
import io
from collections.abc import Iterable, Iterator
from typing import TypeVar

from django.db.models import QuerySet

from benchmarks.models import Observation, PoolSample, Run, Sample
from benchmarks.runs.live import events

FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")


def samples(run: Run) -> Iterator[str]:
    """Yield the header, then one line per progress interval, in blocks; missing values are empty."""
    yield line(events.SAMPLE_FIELDS)
    for block in in_blocks(run.samples.all()):
        yield "".join(line(getattr(row, name) for name in events.SAMPLE_FIELDS) for row in block)


def line(cells: Iterable[object]) -> str:
    """Format one line of CSV; prefix texts that a spreadsheet would read as a formula with an apostrophe."""
    out = io.StringIO()
    csv.writer(out, lineterminator="\r\n").writerow([_cell(cell) for cell in cells])
    return out.getvalue()


def _cell(cell: object) -> object:
    if isinstance(cell, str) and cell.startswith(FORMULA_STARTS):
        return f"'{cell}"
    return "" if cell is None else cell


Row = TypeVar("Row", Sample, PoolSample, Observation)
BLOCK = 1_000


def in_blocks(rows: QuerySet[Row]) -> Iterator[list[Row]]:
    """Yield the rows of one run by attempt and seq; one query per block, so a slow reader holds no cursor open."""
    for attempt in rows.order_by("attempt").values_list("attempt", flat=True).distinct():
        seq = -1
        while block := list(rows.filter(attempt=attempt, seq__gt=seq).order_by("seq")[:BLOCK]):
            yield block
            seq = block[-1].seq
