"""Lines out of bytes, however those are cut."""

import re
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.processes.process import MAX_LINE_BYTES, LineReader
from tests.drawing import examples


@settings(max_examples=examples(500), deadline=None)
@given(st.binary(max_size=400) | st.text(max_size=80).map(lambda line: f"{line}\r\n{line}\n".encode()), st.data())
def test_where_the_chunks_are_cut_changes_no_line(stream: bytes, data: st.DataObject) -> None:
    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=8)))
    whole, pieces = LineReader(), LineReader()
    expected = [*whole.feed(stream), *whole.close()]
    found = [line for start, end in pairwise([0, *cuts, len(stream)]) for line in pieces.feed(stream[start:end])]
    assert [*found, *pieces.close()] == expected
    assert expected == [
        piece.decode("utf-8", "replace").replace("\x00", "\ufffd") for piece in re.split(rb"[\r\n]", stream) if piece
    ]


@pytest.mark.parametrize("chunk", [1, 1000, 8191, 8192, 8193, 30_000])
def test_a_huge_line_is_truncated_counted_and_over_with_its_newline(chunk: int) -> None:
    reader, stream = LineReader(), b"x" * 20_000 + b"\nshort\n"
    lines = [line for at in range(0, len(stream), chunk) for line in reader.feed(stream[at : at + chunk])]
    assert (lines, reader.truncated) == (["x" * MAX_LINE_BYTES, "short"], 1)


def test_a_line_without_its_newline_comes_when_the_stream_closes() -> None:
    reader = LineReader()
    assert (reader.feed(b"one\rtwo\n\nthr"), reader.feed(b"ee"), reader.close(), reader.close()) == (
        ["one", "two"],
        [],
        ["three"],
        [],
    )


def test_bytes_that_are_no_utf8_and_nul_are_replaced() -> None:
    assert LineReader().feed(b"\xff\x00a\n") == ["\ufffd\ufffda"]
