"""A run's samples as CSV, safe to open in a spreadsheet."""

import csv
import io
from collections.abc import Iterator
from typing import Any

from benchmarks.models import Run
from benchmarks.results.export.rows import in_blocks
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
