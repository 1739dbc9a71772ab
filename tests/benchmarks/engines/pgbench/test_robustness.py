"""Captured streams, cut anywhere, mutated anywhere, with lines of megabytes: never an error, never a sample made up."""

import random
import re
from itertools import pairwise

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from benchmarks.engines.base import Progress
from benchmarks.engines.pgbench.output import parse_line, read_output
from benchmarks.processes.process import MAX_LINE_BYTES, LineReader
from tests.benchmarks.engines.pgbench import captured
from tests.drawing import examples

CAPTURED = {f"{path.parent.name}-{path.stem}": captured.read(path) for path in captured.paths()}
WITH_PROGRESS = sorted(name for name, one in CAPTURED.items() if "progress: " in one.stderr)
PRINTED = re.compile(rb"progress: ([0-9.]+) s, ([0-9.]+|-?nan) tps, lat ([0-9.]+|-?nan) ms stddev")
NUMBER = re.compile(rb"[0-9]+\.?[0-9]*|\.[0-9]+")
OPTIONS = {"initialize_steps": "dtgvp"}


def parsed(chunks: list[bytes]) -> list[Progress]:
    """The samples of a stream that comes in these chunks."""
    reader = LineReader()
    lines = [line for chunk in chunks for line in reader.feed(chunk)] + reader.close()
    return [reported.sample for reported in (parse_line(line, OPTIONS) for line in lines) if reported.sample]


def printed(stream: bytes) -> set[tuple[float, float | None]]:
    """(t, tps) of everything that looks like the beginning of a progress line, read by another way."""
    found = PRINTED.findall(stream)
    return {
        (float(t), None if b"n" in tps else float(tps))
        for t, tps, _ in found
        if NUMBER.fullmatch(t) and (b"n" in tps or NUMBER.fullmatch(tps))
    }


def cut(stream: bytes, places: list[int]) -> list[bytes]:
    borders = [0, *sorted(place % (len(stream) + 1) for place in places), len(stream)]
    return [stream[start:end] for start, end in pairwise(borders)]


@pytest.mark.parametrize("name", WITH_PROGRESS)
def test_a_captured_stream_gives_the_same_samples_however_it_is_cut(name: str) -> None:
    stream, dice = CAPTURED[name].stderr.encode(), random.Random(name)
    whole = parsed([stream])
    assert whole == read_output("", CAPTURED[name].stderr).progress
    assert whole
    for _ in range(5):
        assert parsed(cut(stream, [dice.randrange(len(stream)) for _ in range(40)])) == whole
    assert parsed([stream[at : at + 1] for at in range(len(stream))]) == whole


PIECES = st.binary(max_size=6) | st.sampled_from(
    [
        b"progress: ",
        b" tps, lat ",
        b"\n",
        b"\r",
        b"\x00",
        b"nan",
        b"-",
        b"9" * 30,
        b" s, ",
        b"pgbench: error: ",
        b"\xff",
    ]
)


@settings(max_examples=examples(400), suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(
    st.sampled_from(WITH_PROGRESS),
    st.lists(st.tuples(st.integers(0), st.integers(0, 9), PIECES), max_size=12),
    st.lists(st.integers(0), max_size=8),
)
def test_a_mutated_stream_never_raises_and_every_sample_stands_in_it(
    name: str, changes: list[tuple[int, int, bytes]], places: list[int]
) -> None:
    stream = bytearray(CAPTURED[name].stderr.encode())
    for at, length, piece in changes:
        start = at % (len(stream) + 1)
        stream[start : start + length] = piece
    samples = parsed(cut(bytes(stream), places))
    assert {(sample.t, sample.tps) for sample in samples} <= printed(bytes(stream))
    assert len(samples) <= bytes(stream).count(b"progress: ")
    read_output(bytes(stream).decode("utf-8", "replace"))


@pytest.mark.parametrize(
    "filling", [b"7", b"progress: 1.0 s, 5.0 tps ", b"\xf0\x9f\x98\x80", b"client 1 aborted in command "]
)
def test_a_line_of_eight_megabytes_is_one_short_line_between_two_samples(filling: bytes) -> None:
    line = b"progress: %d.0 s, 10.0 tps, lat 1.000 ms stddev 0.100, 0 failed\n"
    huge = (filling * (8 * 1024 * 1024 // len(filling) + 1))[: 8 * 1024 * 1024]
    stream = line % 1 + huge + b"\n" + line % 2
    reader, lines = LineReader(), []
    for at in range(0, len(stream), 65_536):
        lines += reader.feed(stream[at : at + 65_536])
        assert len(reader._kept) <= MAX_LINE_BYTES
    samples = [reported.sample for reported in (parse_line(one, OPTIONS) for one in lines) if reported.sample]
    assert [sample.t for sample in samples] == [1.0, 2.0]
    assert (len(lines), reader.truncated) == (3, 1)


@settings(max_examples=examples(200), deadline=None)
@given(st.lists(st.binary(max_size=80), max_size=10))
def test_any_bytes_are_heard_without_raising(chunks: list[bytes]) -> None:
    assert {(sample.t, sample.tps) for sample in parsed(chunks)} <= printed(b"".join(chunks))
