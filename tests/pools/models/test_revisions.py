"""Texts of revisions, compressed and read again."""

import zlib

from hypothesis import given
from hypothesis import strategies as st

from pools.models.revisions import packed, unpacked


@given(st.text())
def test_any_text_comes_back(text: str) -> None:
    assert unpacked(packed(text)) == text


@given(st.text())
def test_what_zlib_packed_is_still_read(text: str) -> None:
    assert unpacked(zlib.compress(text.encode())) == text


def test_entries_that_are_alike_become_short() -> None:
    text = "\n".join(f"pool{number:05} = host='127.0.0.1' port=5432 pool_size=20" for number in range(1000))
    assert len(packed(text)) < len(text) / 8
