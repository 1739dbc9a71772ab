"""SHOW rows as a table for people: filtered, sorted, with units, and as CSV."""

import csv
import io
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal

from pools.poolers.admin_commands import Column

Row = Mapping[str, object]
UNKNOWN = Column("")
MICROSECONDS = ((1_000_000, "s"), (1_000, "ms"))
BYTES = ((1 << 40, "TB"), (1 << 30, "GB"), (1 << 20, "MB"), (1 << 10, "kB"))
NUMBER = re.compile(r"-?[0-9]{1,30}(\.[0-9]{1,30})?")
FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")


@dataclass(frozen=True)
class Head:
    """The head of a column; `sort` is the sort key of its link, `direction` the value of aria-sort."""

    name: str
    column: Column
    is_number: bool
    sort: str
    direction: str


@dataclass(frozen=True)
class Cell:
    """A value as people read it, with the exact one in `title` where they differ."""

    text: str
    title: str = ""
    is_number: bool = False
    alarms: bool = False


def heads(rows: Sequence[Row], columns: Mapping[str, Column], sort: str) -> list[Head]:
    """Return a head for each column of the rows, in the order of `columns`; unknown ones come last.

    A first click sorts numbers from the largest and texts from A.
    """
    places = {name: place for place, name in enumerate(columns)}
    names = sorted(rows[0] if rows else (), key=lambda name: places.get(name, len(places)))
    return [_head(name, rows, columns.get(name, UNKNOWN), sort) for name in names]


def matching(rows: Iterable[Row], query: str) -> list[Row]:
    """Return the rows with a cell that contains the text, ignoring case."""
    folded = query.casefold()
    return [row for row in rows if any(folded in str(value).casefold() for value in row.values() if value is not None)]


def ordered(rows: Sequence[Row], sort: str) -> list[Row]:
    """Return the rows sorted by the column that `sort` names, `-` for descending; empty cells last, ties as given."""
    name, backwards = sort.removeprefix("-"), sort.startswith("-")
    if not rows or name not in rows[0]:
        return list(rows)
    empty = [row for row in rows if row[name] in (None, "")]
    filled = [row for row in rows if row[name] not in (None, "")]
    return sorted(filled, key=lambda row: _rank(row[name]), reverse=backwards) + empty


def cells(row: Row, heads: Sequence[Head]) -> list[Cell]:
    """Return the row's values in the order of the heads, each column in one format."""
    return [_cell(row.get(head.name), head) for head in heads]


def as_csv(rows: Sequence[Row]) -> str:
    """Return the rows as CSV: a header line, exact values, and texts that no spreadsheet takes for a formula."""
    written = io.StringIO()
    writer = csv.writer(written)
    writer.writerow(rows[0] if rows else ())
    writer.writerows([_harmless(value) for value in row.values()] for row in rows)
    return written.getvalue()


def _head(name: str, rows: Sequence[Row], column: Column, sort: str) -> Head:
    filled = [row[name] for row in rows if row[name] not in (None, "")]
    is_number = bool(filled) and all(map(_is_number, filled))
    if sort == name:
        return Head(name, column, is_number, f"-{name}", "ascending")
    if sort == f"-{name}":
        return Head(name, column, is_number, name, "descending")
    return Head(name, column, is_number, f"-{name}" if is_number else name, "none")


def _cell(value: object, head: Head) -> Cell:
    if value is None or value == "":
        return Cell("–", is_number=head.is_number)
    if not _is_number(value):
        return Cell(str(value))
    number = Decimal(str(value))
    whole = number == int(number)
    text, title = _written(int(number), head.column.unit) if whole else (str(value), "")
    return Cell(text, title, head.is_number, alarms=head.column.alarms and number != 0)


def _written(number: int, unit: str) -> tuple[str, str]:
    """Return the number as people read it, and the exact one where that differs."""
    if unit == "us":
        return _scaled(number, MICROSECONDS, "µs")
    if unit == "bytes":
        return _scaled(number, BYTES, "bytes")
    if unit == "s":
        return f"{number:,} s", ""
    return (f"{number:,}" if unit == "count" else str(number)), ""


def _scaled(number: int, units: Iterable[tuple[int, str]], smallest: str) -> tuple[str, str]:
    """Return three significant digits (`1.23 ms` for 1,230 µs) and the exact number."""
    for size, unit in units:
        if number >= size:
            return f"{_three_digits(number / size)} {unit}", f"{number:,} {smallest}"
    return f"{number} {smallest}", ""


def _three_digits(number: float) -> str:
    return f"{number:,.{0 if number >= 100 else 1 if number >= 10 else 2}f}"


def _is_number(value: object) -> bool:
    """Return whether it is a number, or a text of one: Pgpool-II writes all values as text."""
    return isinstance(value, int | Decimal) or (isinstance(value, str) and NUMBER.fullmatch(value) is not None)


def _rank(value: object) -> tuple[int, Decimal | str]:
    """Return a sort key that puts numbers before texts, so that a column of both can be sorted."""
    return (0, Decimal(str(value))) if _is_number(value) else (1, str(value).casefold())


def _harmless(value: object) -> object:
    text = "" if value is None else str(value)
    return f"'{text}" if text.startswith(FORMULA_STARTS) and not _is_number(value) else text
