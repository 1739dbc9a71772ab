"""Profiles as people type them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.library.settings_profiles.parsing import WrongLines, parse, written


def test_lines_as_in_postgresql_conf():
    text = "# tuned\nshared_buffers = 4GB   # a quarter\n\nWork_Mem 16MB\nlog_line_prefix = '%m [''x''] '\n"
    assert parse(text) == {"shared_buffers": "4GB", "work_mem": "16MB", "log_line_prefix": "%m ['x'] "}


def test_every_wrong_line_is_named():
    with pytest.raises(WrongLines) as caught:
        parse("work_mem = 16MB\nwork_mem = 8MB\n= 7\nmax_wal_size = 4 GB\n")
    assert caught.value.faults == {
        2: "work_mem is set twice: leave one of them out",
        3: "'= 7' is not a setting: enter name = value, with quotes around a value with spaces",
        4: "'max_wal_size = 4 GB' is not a setting: enter name = value, with quotes around a value with spaces",
    }


def test_nothing_is_no_profile():
    with pytest.raises(WrongLines):
        parse("# only a comment\n")


@given(
    st.dictionaries(
        st.from_regex(r"[a-z_][a-z0-9_]{0,20}", fullmatch=True),
        st.text(st.characters(codec="utf-8", exclude_categories=["C", "Z"], include_characters=" '#"), max_size=20),
        min_size=1,
        max_size=5,
    )
)
def test_what_is_written_parses_back(values):
    assert parse(written(values)) == values
