"""A run's samples as CSV, safe to open in a spreadsheet."""

import csv
import io
from collections.abc import Iterator
from typing import Any

from benchmarks.models import Run
from benchmarks.running import live

FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")
CHUNK = 500


def samples(run: Run) -> Iterator[str]:
    """The header, then one line a progress interval; a figure that was not printed is left empty."""
    yield line(live.SAMPLE_FIELDS)
    rows = run.samples.order_by("attempt", "seq").values_list(*live.SAMPLE_FIELDS)
    for row in rows.iterator(chunk_size=CHUNK):
        yield line(row)


def line(cells: Any) -> str:
    """One line of CSV; texts that a spreadsheet would take for a formula begin with an apostrophe (numbers stay)."""
    out = io.StringIO()
    csv.writer(out, lineterminator="\r\n").writerow([_cell(cell) for cell in cells])
    return out.getvalue()


def _cell(cell: Any) -> Any:
    if isinstance(cell, str) and cell.startswith(FORMULA_STARTS):
        return f"'{cell}"
    return "" if cell is None else cell
