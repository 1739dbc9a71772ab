"""Statement tables (-r) of runs side by side: each statement's latency, and its ratio to the first run's; pure.

Single runs get figures only, no verdict.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from benchmarks.models.summaries import Statement

Key = tuple[int, str, int]  # script, statement, and its occurrence there, from 0


@dataclass(frozen=True)
class StatementCell:
    """One run's figures of a statement; all None where the run did not have the statement."""

    latency_ms: float | None = None
    more_ms: float | None = None  # increase over the first run
    ratio: float | None = None
    failures: int | None = None
    retries: int | None = None


@dataclass(frozen=True)
class StatementRow:
    """A statement with its figures in all runs."""

    script: int
    statement: str
    cells: tuple[StatementCell, ...]


def compare(tables: Sequence[Sequence[Statement]]) -> list[StatementRow]:
    """Return a row for each statement, in order of first appearance."""
    keyed = [_keyed(table) for table in tables]
    keys = dict.fromkeys(key for table in keyed for key in table)
    return [_row(key, keyed) for key in keys]


def _keyed(table: Sequence[Statement]) -> dict[Key, Statement]:
    found: dict[Key, Statement] = {}
    for row in table:
        place = 0
        while (key := (row.get("script") or 1, row["statement"], place)) in found:
            place += 1
        found[key] = row
    return found


def _row(key: Key, tables: Sequence[dict[Key, Statement]]) -> StatementRow:
    first = tables[0].get(key, {}).get("latency_ms")
    cells = [_cell(table.get(key), None if table is tables[0] else first) for table in tables]
    return StatementRow(key[0], key[1], tuple(cells))


def _cell(row: Statement | None, base_ms: float | None) -> StatementCell:
    if row is None:
        return StatementCell()
    latency_ms: float | None = row.get("latency_ms")
    more_ms = None if base_ms is None or latency_ms is None else round(latency_ms - base_ms, 3)
    ratio = latency_ms / base_ms if base_ms and latency_ms is not None else None
    return StatementCell(latency_ms, more_ms, ratio, row.get("failures"), row.get("retries"))
