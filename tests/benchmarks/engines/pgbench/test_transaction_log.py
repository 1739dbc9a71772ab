"""The log of transactions is read as it was written, however it is cut, and nothing else is read out of it."""

import itertools
import random
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from benchmarks.engines.log_files import LoggedTransaction
from benchmarks.engines.pgbench.transaction_log import TransactionLog, log_files
from tests.benchmarks.engines.pgbench.captured import OUTPUTS
from tests.drawing import examples

LOGS = OUTPUTS.parent / "logs"
CAPTURED = sorted(LOGS.glob("*/*.log"))
COLUMNS = {"rate": (True, False), "rate-skipped": (True, False), "retries": (False, True), "rate-retries": (True, True)}


def reader_of(path: Path) -> TransactionLog:
    return TransactionLog(*COLUMNS.get(path.stem, (False, False)))


def plainly(path: Path) -> list[LoggedTransaction]:
    """What the lines of a whole log say, read word by word."""
    lagged = COLUMNS.get(path.stem, (False, False))[0]
    lines = (line.split() for line in path.read_text().splitlines())
    return [
        LoggedTransaction(int(line[4]) * 1_000_000 + int(line[5]), int(line[2]), int(line[6]) if lagged else 0)
        for line in lines
        if line[2].isdigit()
    ]


@pytest.mark.parametrize("path", CAPTURED, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_a_captured_log_gives_every_transaction_that_succeeded(path: Path):
    assert reader_of(path).feed(path.read_bytes()) == plainly(path)


def test_the_captured_logs_hold_every_kind_of_line():
    words = {line.split()[2] for path in CAPTURED for line in path.read_text().splitlines()}
    assert {word for word in words if not word.isdigit()} >= {"skipped", "failed", "serialization"}
    assert len(CAPTURED) == 27


@pytest.mark.parametrize("path", CAPTURED, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_chunks_may_end_anywhere(path: Path):
    text, cuts = path.read_bytes(), random.Random(path.stem)
    for _ in range(20):
        places = [0, *sorted(cuts.randrange(len(text)) for _ in range(30)), len(text)]
        reader = reader_of(path)
        found = [one for start, end in itertools.pairwise(places) for one in reader.feed(text[start:end])]
        assert found == plainly(path)


WHOLE = b"3 17 1042 0 1795299657 214991\n"


@pytest.mark.parametrize(
    "line",
    [
        b"3 17 1042 0 1795299657 21499",  # cut off: the newline is missing
        b"3 17 skipped 0 1795299657 214991\n",
        b"3 17 deadlock 0 1795299657 214991\n",
        b"3 17 other 0 1795299657 214991\n",
        b"3 17 1042 0 1795299657\n",
        b"3 17 1042 0 1795299657 214991 5\n",  # a column that these options do not write
        b"3 17 -1042 0 1795299657 214991\n",
        b"3 17 1042.5 0 1795299657 214991\n",
        b"3 17 1042 0 1795299657 214991 \n",
        b" 3 17 1042 0 1795299657 214991\n",
        b"3 17 1042 0 1795299657 214991\r\n",
        b"3 17 1042 0 1795299657 2149910\n",
        b"\x003 17 1042 0 1795299657 214991\n",
        b"3\t17\t1042\t0\t1795299657\t214991\n",
        b"\n",
        b"",
    ],
)
def test_anything_but_a_whole_line_is_left_out_and_the_next_is_read(line: bytes):
    reader = TransactionLog()
    assert reader.feed(line) == []
    reader.feed(b"\n")
    assert reader.feed(WHOLE) == [LoggedTransaction(1795299657214991, 1042)]


def test_a_line_of_eight_megabytes_is_dropped_without_being_kept():
    reader = TransactionLog()
    for _ in range(128):
        assert reader.feed(b"7 " * 32_768) == []
        assert len(reader._rest) <= 2_048
    assert reader.feed(b"1 1 5 0 1795299657 1\n" + WHOLE) == [LoggedTransaction(1795299657214991, 1042)]


BYTES = st.binary(max_size=200) | st.sampled_from([WHOLE, WHOLE[:-1], WHOLE[9:], b"0 1 2 3 4 5\n", b"\n", b" "])


@settings(max_examples=examples(500))
@given(st.lists(BYTES, max_size=12), st.booleans(), st.booleans())
@example([WHOLE[:12], WHOLE[12:]], False, False)
def test_any_bytes_give_only_what_stands_there_as_a_whole_line(chunks: list[bytes], scheduled: bool, retries: bool):
    reader = TransactionLog(scheduled, retries)
    found = [one for chunk in chunks for one in reader.feed(chunk)]
    lines = b"".join(chunks).split(b"\n")[:-1]
    columns = 6 + scheduled + retries
    plausible = [
        words for line in lines if len(words := line.split(b" ")) == columns and all(map(bytes.isdigit, words))
    ]
    assert len(found) <= len(plausible)
    assert {one.latency_us for one in found} <= {int(words[2]) for words in plausible}


@settings(max_examples=examples(200))
@given(st.data())
def test_a_mutated_log_never_gives_more_transactions_than_it_has_lines(data: st.DataObject):
    path = data.draw(st.sampled_from(CAPTURED))
    text = bytearray(path.read_bytes())
    for _ in range(data.draw(st.integers(1, 40))):
        at = data.draw(st.integers(0, len(text) - 1))
        text[at : at + data.draw(st.integers(0, 3))] = data.draw(st.binary(max_size=3))
        if not text:
            break
    assert len(reader_of(path).feed(bytes(text))) <= text.count(b"\n")


def test_the_options_say_what_is_logged():
    assert log_files({"percentiles": False}) is None
    files = log_files({"percentiles": True, "rate": 50.0, "sampling_rate": 0.1, "max_tries": 0})
    assert files is not None
    assert (files.pattern, files.scheduled, files.sampling_rate) == ("pgbench_log.*", True, 0.1)
    assert files.reader().feed(b"0 1 1163 0 1795299674 712683 182 0\n") == [
        LoggedTransaction(1795299674712683, 1163, 182)
    ]
    once = log_files({"percentiles": True, "max_tries": 1})
    assert once is not None
    assert once.reader().feed(WHOLE) == [LoggedTransaction(1795299657214991, 1042)]
