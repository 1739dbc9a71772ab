"""TOML that the panel writes reads back as it was."""

import tomllib
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from benchmarks.experiments.toml_writing import written

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
PLAIN = TEXTS | st.integers(-(2**63), 2**63 - 1) | st.booleans() | st.floats(allow_nan=False, allow_infinity=False)
VALUES = st.recursive(PLAIN, lambda one: st.lists(one, max_size=3) | st.dictionaries(TEXTS, one, max_size=3))


@given(st.dictionaries(TEXTS, VALUES, max_size=4))
def test_what_is_written_is_read_back(table: dict[str, Any]) -> None:
    assert tomllib.loads(written(table)) == table


def test_tables_follow_values_and_none_is_left_out() -> None:
    scripts = [{"text": "SELECT 1;\nEND;", "weight": 2, "version": None}, {"text": "\x7f🐘", "weight": 1}]
    text = written({"options": {"scripts": scripts, "clients": 4}, "name": "a b", "quick": {}})
    assert text == (
        'name = "a b"\n\n[options]\nclients = 4\n\n[[options.scripts]]\ntext = "SELECT 1;\\nEND;"\nweight = 2\n\n'
        '[[options.scripts]]\ntext = "\\u007f🐘"\nweight = 1\n\n[quick]\n'
    )
