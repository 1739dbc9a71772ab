"""Block comments nest."""

import pytest

from core.lib import block_comments


@pytest.mark.parametrize(
    ("text", "rest"),
    [
        ("/* one */ SELECT 1", " SELECT 1"),
        ("/* a /* b */ c */d", "d"),
        ("/*/* both */*/", ""),
        ("/**/x", "x"),
        ("/* never closed /* */ SELECT", ""),
        ("/*", ""),
        ("/*/ SELECT */ 2", " 2"),  # `/*/` opens one and does not close it
    ],
)
def test_a_comment_ends_with_the_mark_that_closes_it(text: str, rest: str) -> None:
    assert text[block_comments.end_of(text, 0) :] == rest


def test_one_may_begin_anywhere() -> None:
    text = "*/ SELECT /* a */ 1"
    assert text[block_comments.end_of(text, text.index("/*")) :] == " 1"
