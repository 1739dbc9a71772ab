"""The lines of the panel's own load programs, whole and damaged."""

import random

import pytest

from benchmarks.engines.base import ParsedLine, ProgramTerms, Progress
from benchmarks.engines.load_output import LogReader, log_files, parse_line, read_output
from benchmarks.engines.log_files import LoggedTransaction
from benchmarks.engines.sentences import REQUESTS, WORKERS

WORDS = ProgramTerms("it", units=REQUESTS, workers=WORKERS)
INTERVAL = (
    '{"interval": {"t": 2.001, "tps": 431.5, "latency_avg_ms": 47.5, "latency_stddev_ms": 6.5, "latency_min_ms": 4.9, '
    '"latency_max_ms": 75.9, "failed": 3, "megabytes_per_second": 0.054}}'
)
SUMMARY = '{"summary": {"tps": 376.8, "transactions": 1523, "failed": 0, "clients": 20}}'


def test_an_interval_is_a_sample() -> None:
    assert parse_line(INTERVAL, {}) == ParsedLine(
        sample=Progress(2.001, 431.5, 47.5, 6.5, failed=3), worth_reporting=False
    )
    late = parse_line(INTERVAL.replace('"t": ', '"late_s": 1.5, "t": '), {})
    assert (late.sample, late.late_s) == (parse_line(INTERVAL, {}).sample, 1.5)


@pytest.mark.parametrize("cut", range(len(INTERVAL)))
def test_an_interval_that_is_cut_off_is_no_sample(cut: int) -> None:
    assert parse_line(INTERVAL[:cut], {}).sample is None


@pytest.mark.parametrize(
    "text",
    [
        '{"interval": 5}',
        '{"interval": {"t": "1"}}',
        '{"interval": {"t": NaN}}',
        '{"interval": ' + "[" * 100_000,
        '{"other": {"t": 1}}',
        "null",
    ],
)
def test_other_json_is_no_sample(text: str) -> None:
    assert parse_line(text, {}).sample is None


def test_infinite_figures_are_none() -> None:
    sample = parse_line('{"interval": {"t": 1, "tps": Infinity, "latency_avg_ms": 1e999}}', {}).sample
    assert sample == Progress(1.0, None, None, None)


def test_errors_are_told_and_rows_are_a_percentage() -> None:
    assert parse_line("error: refused", {}).worth_reporting
    assert parse_line("filled 5 of 20 rows", {}) == ParsedLine(percent=25.0, worth_reporting=False)
    assert not parse_line(SUMMARY, {}).worth_reporting


def test_an_output_is_read_whole() -> None:
    output = read_output(WORDS, f"{INTERVAL}\nerror: timeout: slow\n{SUMMARY}\n")
    assert (output.has_summary, output.summary["tps"], len(output.progress)) == (True, 376.8, 1)
    assert (output.errors, output.prepared) == (["error: timeout: slow"], False)
    assert not read_output(WORDS, "").has_summary


def test_damage_never_raises_and_adds_no_sample() -> None:
    chance = random.Random(4)
    text = "\n".join([INTERVAL] * 5 + [SUMMARY])
    for _ in range(500):
        damaged = bytearray(text.encode())
        damaged[chance.randrange(len(damaged))] = chance.randrange(256)
        assert len(read_output(WORDS, damaged.decode("utf-8", "replace")).progress) <= 5


def test_the_log_is_read_in_any_pieces() -> None:
    wire = b"1700000000000000 1500\nx y\n1700000000100000 2500\n17"
    for size in (1, 5, 100):
        reader = LogReader()
        found = [one for at in range(0, len(wire), size) for one in reader.feed(wire[at : at + size])]
        assert found == [
            LoggedTransaction(1_700_000_000_000_000, 1_500),
            LoggedTransaction(1_700_000_000_100_000, 2_500),
        ]


def test_a_warm_up_writes_no_log() -> None:
    assert log_files({"percentiles": False}) is None
    assert log_files({}) is not None
