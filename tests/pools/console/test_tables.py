"""Rows of a console as people read them: found, sorted, with units, as CSV."""

from decimal import Decimal

import pytest

from pools.console import tables
from pools.console.tables import Cell, Head
from pools.poolers.admin_commands import Column

COLUMNS = {
    "name": Column("The pool"),
    "waiting": Column("Clients in the queue", "count", alarms=True),
    "took": Column("An average", "us"),
}
ROWS = [
    {"name": "web", "waiting": 12345, "took": Decimal(1234), "host": None},
    {"name": "Batch", "waiting": 0, "took": None, "host": "db1"},
    {"name": "app", "waiting": 7, "took": Decimal(999), "host": ""},
]


def cells_of(rows, columns):
    return tables.cells(rows[0], tables.heads(rows, columns, ""))


def names(rows):
    return [row["name"] for row in rows]


@pytest.mark.parametrize(
    ("sort", "found"),
    [
        ("", ["web", "Batch", "app"]),
        ("name", ["app", "Batch", "web"]),
        ("-waiting", ["web", "app", "Batch"]),
        ("took", ["app", "web", "Batch"]),
        ("-took", ["web", "app", "Batch"]),  # Empty values stay at the end.
        ("nothing", ["web", "Batch", "app"]),
    ],
)
def test_rows_are_sorted_by_the_column_named(sort, found):
    assert names(tables.ordered(ROWS, sort)) == found


def test_a_column_of_numbers_and_texts_can_be_sorted():
    rows = [{"value": "yes"}, {"value": 10}, {"value": "No"}, {"value": 9}]
    assert [row["value"] for row in tables.ordered(rows, "value")] == [9, 10, "No", "yes"]


@pytest.mark.parametrize(("query", "found"), [("", 3), ("BAT", 1), ("1234", 1), ("None", 0), ("db", 1)])
def test_rows_are_found_by_any_of_their_cells(query, found):
    assert len(tables.matching(ROWS, query)) == found


def test_heads_say_what_a_click_sorts_by():
    assert tables.heads(ROWS, COLUMNS, "-waiting") == [
        Head("name", COLUMNS["name"], False, "name", "none"),
        Head("waiting", COLUMNS["waiting"], True, "waiting", "descending"),
        Head("took", COLUMNS["took"], True, "-took", "none"),
        Head("host", Column(""), False, "host", "none"),
    ]
    assert tables.heads(ROWS, COLUMNS, "name")[0] == Head("name", COLUMNS["name"], False, "-name", "ascending")
    assert tables.heads([], COLUMNS, "") == []


def test_numbers_written_as_text_are_numbers():
    rows = [{"load": "0.50", "count": "9"}, {"load": "0.25", "count": "10"}, {"load": "", "count": "-1"}]
    assert [row["count"] for row in tables.ordered(rows, "-count")] == ["10", "9", "-1"]
    assert [head.is_number for head in tables.heads(rows, {}, "")] == [True, True]
    assert cells_of(rows, {"count": Column("", "bytes")}) == [
        Cell("9 bytes", is_number=True),
        Cell("0.50", is_number=True),
    ]
    assert tables.as_csv(rows).splitlines()[3] == ",-1"


def test_a_column_of_numbers_and_words_is_no_column_of_numbers():
    rows = [{"value": "100"}, {"value": "auto"}]
    assert cells_of(rows, {}) == [Cell("100")]


def test_columns_come_in_the_order_of_those_that_are_known():
    rows = [{"odd": 1, "waiting": 2, "name": "web"}]
    assert [head.name for head in tables.heads(rows, COLUMNS, "")] == ["name", "waiting", "odd"]


def test_cells_carry_units_and_the_exact_number():
    assert cells_of(ROWS, COLUMNS) == [
        Cell("web"),
        Cell("12,345", is_number=True, alarms=True),
        Cell("1.23 ms", "1,234 µs", is_number=True),
        Cell("–"),
    ]


@pytest.mark.parametrize(
    ("number", "unit", "text"),
    [
        (999, "us", "999 µs"),
        (1_500_000, "us", "1.50 s"),
        (123_456_789, "us", "123 s"),
        (0, "us", "0 µs"),
        (1023, "bytes", "1023 bytes"),
        (1536, "bytes", "1.50 kB"),
        (5 << 30, "bytes", "5.00 GB"),
        (3600, "s", "3,600 s"),
        (6432, "", "6432"),
    ],
)
def test_numbers_are_written_in_the_unit_of_their_size(number, unit, text):
    (cell,) = cells_of([{"x": number}], {"x": Column("", unit)})
    assert cell.text == text


def test_csv_is_exact_and_harmless_in_a_spreadsheet():
    rows = [{"name": "=1+1", "took": -5}, {"name": 'a "b", c', "took": None}]
    assert tables.as_csv(rows) == 'name,took\r\n\'=1+1,-5\r\n"a ""b"", c",\r\n'
    assert tables.as_csv([]).strip() == ""
