"""Values for the placeholders of a recorded query, `$1` and up, from the statistics of the columns beside them."""

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

import psycopg
from psycopg import sql

from pools.clusters.connect import Connection

MARK = "/* pooldeck */"  # marks the panel's own queries as the pool's role, which are counted as well
INTEGERS = ("smallint", "integer", "bigint")
MOST_VALUES, MOST_CHARACTERS = 20, 200
LIMIT, OFFSET = "10", "0"
LOW, HIGH = 1, 1000  # the range of an integer that no column says more of
# Literals of the types that have no statistics; any other type gets NULL.
DEFAULTS = {
    "boolean": "true",
    "character varying": "a",
    "date": "today",
    "double precision": "1",
    "interval": "1 day",
    "json": "{}",
    "jsonb": "{}",
    "numeric": "1",
    "real": "1",
    "text": "a",
    "timestamp with time zone": "now",
    "timestamp without time zone": "now",
    "uuid": "00000000-0000-0000-0000-000000000000",
}

_PLACEHOLDER = re.compile(r"\$(\d+)")
_COMPARED = re.compile(
    r'(?:"(?P<quoted>[^"]+)"|\b(?P<name>[a-z_]\w*))\s*(?:=|<>|!=|<=?|>=?|i?like|between|in\s*\(|=\s*any\s*\()\s*'
    r"\(?\s*\$(?P<first>\d+)(?P<more>(?:\s*(?:,|\band\b)\s*\$\d+)*)",
    re.IGNORECASE,
)
_ROWS = re.compile(r"\b(?P<word>limit|offset|fetch\s+first|fetch\s+next)\s+\$(?P<number>\d+)", re.IGNORECASE)
_RANGE = re.compile(r"\bbetween\s+\$(\d+)\s+and\s+\$(\d+)", re.IGNORECASE)
_WHOLE = re.compile(r"-?[0-9]+")
_MISREAD = re.compile(r"[\\\r]|:[^\W\d]")  # pgbench misreads these, in literals too
_TYPES = "SELECT /* pooldeck */ parameter_types::text[] FROM pg_prepared_statements WHERE name = 'pooldeck_recorded'"
_STATISTICS = """
    SELECT /* pooldeck */ DISTINCT ON (attname) attname, coalesce(histogram_bounds::text::text[], '{}'),
           coalesce(most_common_vals::text::text[], '{}')
      FROM pg_stats WHERE attname = ANY(%s) AND tablename = ANY(%s) ORDER BY attname, tablename
"""


@dataclass(frozen=True)
class FilledQuery:
    """A query with values: `text` as a script of pgbench, which draws new ones each time, `tried` as plain SQL."""

    text: str
    tried: str


@dataclass(frozen=True)
class _Value:
    """The value for one placeholder; `low` to `high` are drawn for its variable, which `expression` reads."""

    expression: str
    low: int | None = None
    high: int | None = None


def filled(connection: Connection, query: str) -> FilledQuery:
    """Return the query with a value for each placeholder; raises `psycopg.Error` where it can't be prepared."""
    types = _types(connection, query)
    columns, rows = _columns(query), _rows(query)
    samples = _samples(connection, query, sorted(set(columns.values())))
    values = {
        number: _value(number, kind, samples.get(columns.get(number, ""), []))
        for number, kind in enumerate(types, start=1)
    }
    values |= {number: _Value(text) for number, text in rows.items()} | _ranges(query, values)
    body = _PLACEHOLDER.sub(lambda found: f"({values[int(found[1])].expression})", query)
    drawn = {number: one for number, one in values.items() if one.low is not None}
    tried = body
    for number, one in drawn.items():
        tried = re.sub(rf"(?<!:):p{number}\b", str(one.low), tried)
    lines = [f"\\set p{number} random({one.low}, {one.high})\n" for number, one in drawn.items()]
    marked = re.sub(r"\w+", rf"\g<0> {MARK}", body, count=1)
    return FilledQuery("".join(lines) + marked + ";\n", tried)


def _ranges(query: str, values: Mapping[int, _Value]) -> dict[int, _Value]:
    """Return the upper ends of ranges of integers: two draws would span a third of the rows, this a thousandth."""
    ranges = {}
    for match in _RANGE.finditer(query):
        low, high = int(match[1]), int(match[2])
        first = values[low]
        if first.expression == f":p{low}" and first.low is not None and first.high is not None:
            ranges[high] = _Value(f":p{low} + {max(1, (first.high - first.low) // 1000)}")
    return ranges


def _types(connection: Connection, query: str) -> Sequence[str]:
    """Return the types of the placeholders as the server infers them."""
    try:
        connection.execute(b"PREPARE pooldeck_recorded AS " + query.encode())
        (types,) = connection.execute(_TYPES).fetchone() or ([],)
    finally:
        with suppress(psycopg.errors.InvalidSqlStatementName):  # it could not be prepared
            connection.execute("DEALLOCATE pooldeck_recorded")
    return list(types)


def _columns(query: str) -> dict[int, str]:
    """Return the column that each placeholder is compared with, as far as one stands beside it."""
    columns = {}
    for match in _COMPARED.finditer(query):
        name = match["quoted"] or match["name"].lower()
        for number in (match["first"], *_PLACEHOLDER.findall(match["more"])):
            columns[int(number)] = name
    return columns


def _rows(query: str) -> dict[int, str]:
    """Return the number of rows for each placeholder that limits or skips some."""
    return {int(one["number"]): OFFSET if one["word"].lower() == "offset" else LIMIT for one in _ROWS.finditer(query)}


def _samples(connection: Connection, query: str, columns: list[str]) -> dict[str, list[str]]:
    """Return values of columns, as text, from the tables that the query names."""
    words = re.findall(r"\w+", query)
    tables = sorted({*words, *(word.lower() for word in words)})
    rows = connection.execute(_STATISTICS, [columns, tables]).fetchall() if columns else []
    return {name: [one for one in [*common, *bounds] if _is_usable(one)] for name, bounds, common in rows}


def _is_usable(sample: str) -> bool:
    return len(sample) <= MOST_CHARACTERS and not _MISREAD.search(sample)


def _value(number: int, kind: str, samples: list[str]) -> _Value:
    """Return the expression for a placeholder of this type that is compared with a column of these values."""
    if kind.endswith("[]"):
        element = _value(number, kind.removesuffix("[]"), samples)
        return _Value(f"ARRAY[{element.expression}]::{kind}", element.low, element.high)
    if kind in INTEGERS:
        # a table with a column of that name may have texts in it
        numbers = [int(one) for one in samples if _WHOLE.fullmatch(one)] or [LOW, HIGH]
        return _Value(f":p{number}", min(numbers), max(numbers))
    if not samples:
        return _Value(f"{_literal(DEFAULTS[kind])}::{kind}" if kind in DEFAULTS else f"NULL::{kind}")
    chosen = samples[:: max(1, len(samples) // MOST_VALUES)][:MOST_VALUES]
    listed = ", ".join(map(_literal, chosen))
    return _Value(f"(ARRAY[{listed}]::{kind}[])[:p{number}]", 1, len(chosen))


def _literal(text: str) -> str:
    return sql.Literal(text).as_string(None)
