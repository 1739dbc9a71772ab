"""What a comparison says of single runs."""

from benchmarks.judging import comparing
from benchmarks.judging.comparing import Cell, Difference, Direction, Subject, Tone


def subject(label, valid=True, options=None, **summary):
    return Subject(label, valid, summary, options or {})


def cells(comparison, key):
    return next(row.cells for row in comparison.rows if row.metric.key == key)


def test_the_first_run_is_the_base_and_has_no_ratio():
    comparison = comparing.compare([subject("a", tps=100.0), subject("b", tps=150.0)])
    assert cells(comparison, "tps") == (Cell(100.0, None, Tone.NONE), Cell(150.0, 1.5, Tone.BETTER))


def test_lower_latency_is_better():
    comparison = comparing.compare([subject("a", latency_avg_ms=2.0), subject("b", latency_avg_ms=1.0)])
    assert cells(comparison, "latency_avg_ms")[1] == Cell(1.0, 0.5, Tone.BETTER)


def test_a_difference_within_the_noise_is_neither_better_nor_worse():
    tones = [comparing.tone_of(ratio, Direction.UP) for ratio in (0.90, 0.93, 1.0, 1.08, 1.09)]
    assert tones == [Tone.WORSE, Tone.NOISE, Tone.NOISE, Tone.NOISE, Tone.BETTER]


def test_metrics_nobody_printed_are_left_out():
    comparison = comparing.compare([subject("a", tps=1.0, retried=None), subject("b", tps=1.0)])
    assert [row.metric.key for row in comparison.rows] == ["tps"]


def test_a_missing_or_zero_base_gives_no_ratio():
    comparison = comparing.compare([subject("a", tps=0.0, failed=None), subject("b", tps=5.0, failed=3)])
    assert cells(comparison, "tps")[1] == Cell(5.0, None, Tone.NONE)
    assert cells(comparison, "failed")[1] == Cell(3, None, Tone.NONE)
    assert comparison.verdicts == ("b is not compared with a: a throughput above 0 is missing.",)


def test_an_invalid_run_is_shown_but_not_coloured():
    comparison = comparing.compare([subject("a", tps=100.0), subject("b", valid=False, tps=300.0)])
    assert cells(comparison, "tps")[1] == Cell(300.0, 3.0, Tone.NONE)
    assert comparison.verdicts == ("b is not compared with a: b is not valid.",)


def test_the_words_claim_nothing_within_the_noise():
    comparison = comparing.compare([subject("a", tps=100.0), subject("b", tps=104.0)])
    assert comparison.verdicts == ("No difference shown between b and a: ×1.04 is within the ±8 % of noise.",)


def test_beyond_the_noise_the_words_ask_for_a_repeat():
    comparison = comparing.compare([subject("a", tps=100.0), subject("b", tps=1300.0), subject("c", tps=50.0)])
    assert comparison.verdicts == (
        "b carried more than a: ×13.00 the throughput, beyond the ±8 % of noise. "
        "One run each: repeat both before relying on the number.",
        "c carried less than a: ×0.50 the throughput, beyond the ±8 % of noise. "
        "One run each: repeat both before relying on the number.",
    )


def test_settings_that_differ_are_named():
    runs = [
        subject("a", options={"clients": 10, "connect": True, "rate": None}),
        subject("b", options={"clients": 50, "connect": False, "rate": None}),
    ]
    assert comparing.differences(runs) == (
        Difference("clients", ("10", "50")),
        Difference("connect", ("yes", "no")),
    )


def test_another_load_program_is_the_first_difference():
    runs = [
        Subject("a", True, {}, {"clients": 9}, "15.18", "pgbench"),
        Subject("b", True, {}, {"threads": 9}, "15.18", "sysbench"),
    ]
    assert comparing.differences(runs) == (
        Difference("load program", ("pgbench", "sysbench")),
        Difference("clients", ("9", "–")),
        Difference("threads", ("–", "9")),
    )


def test_scripts_that_differ_are_named_without_their_texts():
    one = {"text": "SELECT 1;", "weight": 1, "name": "orders", "version": 1}
    runs = [
        subject("a", options={"builtin": "select-only", "scripts": None, "variables": None}),
        subject("b", options={"builtin": None, "scripts": [one], "variables": {"n": 5, "city": "Oslo"}}),
    ]
    assert comparing.differences(runs) == (
        Difference("builtin", ("select-only", "–")),
        Difference("scripts", ("–", "orders version 1 (weight 1)")),
        Difference("variables", ("–", "n = 5, city = 'Oslo'")),
    )
