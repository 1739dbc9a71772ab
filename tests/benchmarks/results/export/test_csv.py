"""Samples as CSV."""

import csv
import io

from hypothesis import given
from hypothesis import strategies as st

from benchmarks.results.export.csv import line


def test_numbers_stay_numbers_and_what_is_missing_is_empty():
    assert line((1.0, -2.5, None, 3)) == "1.0,-2.5,,3\r\n"


@given(st.lists(st.text(), min_size=1))
def test_no_text_is_a_formula_and_all_of_it_is_there(cells):
    read = next(csv.reader(io.StringIO(line(cells), newline="")), [""])
    for cell, found in zip(cells, read, strict=True):
        assert not found.startswith(("=", "+", "-", "@", "\t", "\r"))
        assert found.removeprefix("'") == cell.removeprefix("'") or found == cell
