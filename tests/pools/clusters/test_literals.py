"""Statements are shown without the data in them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pools.clusters import literals

SECRET = "ann@example.org 4111"
QUOTED = (
    "'{}'",
    "E'{}'",
    "e'it\\'s {}'",
    "N'{}'",
    "U&'{}'",
    "''' {}'",
    "$${}$$",
    "$a_1$ $$ {} $a_1$",
    "/* /* */ {} */",
)


@pytest.mark.parametrize(
    ("statement", "shown"),
    [
        ("SELECT * FROM t1 WHERE email = 'ann@example.org'", "SELECT * FROM t1 WHERE email = $1"),
        ("SELECT a2 FROM t WHERE id = $2 AND n IN (1, 2.5, .5e-3, 0x1F, 1_000)", None),
        ("SET statement_timeout = 500", "SET statement_timeout = $1"),
        ("SELECT B'01', x'1F', \"it's 7\" FROM \"ann's\"", 'SELECT $1, $2, "it\'s 7" FROM "ann\'s"'),
        ("SELECT E'a\\'b', 'c'", "SELECT $1, $2"),
        ("SELECT 1 -- not 'this\n, 'x'", "SELECT $1 \n, $2"),
        ("DO $body$ BEGIN PERFORM 'x'; END $body$", "DO $1"),
        ("SELECT 'cut of", "SELECT $1"),
        ("SELECT 'C:\\', name FROM ann -- 'x", "SELECT $1"),  # it may end there, or not
        ("SELECT 'it\\'s ann', 1", "SELECT $1"),  # These are written with standard_conforming_strings off.
        ("SELECT j->>'a', a::text, 5::int FROM s.t$1", "SELECT j->>$2, a::text, $3::int FROM s.t$1"),
        ("", ""),
    ],
)
def test_literals_are_numbered(statement: str, shown: str | None) -> None:
    expected = shown if shown is not None else "SELECT a2 FROM t WHERE id = $2 AND n IN ($3, $4, $5, $6, $7)"
    assert literals.without(statement) == expected


@pytest.mark.parametrize("quoted", QUOTED)
@given(before=st.sampled_from(["SELECT ", "SELECT 1, ", 'SELECT "a" || ', "-- x\nSELECT "]), cut=st.integers(0, 60))
def test_no_quoting_shows_the_value_however_it_is_cut(quoted: str, before: str, cut: int) -> None:
    whole = before + quoted.format(SECRET) + " FROM shop"
    shown = literals.without(whole[: len(whole) - cut])
    assert not any(part in shown for part in ("ann", "example", "4111"))
