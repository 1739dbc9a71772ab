"""What runs are compared by, and in what they differ."""

import pytest

from benchmarks.analysis import comparison
from benchmarks.analysis.comparison import Difference
from benchmarks.models import metrics


def described(options, version="", engine=""):
    return comparison.settings_in_words(options, engine, version)


def test_settings_that_differ_are_named():
    runs = [
        described({"clients": 10, "connect": True, "rate": None, "random_seed": 1}),
        described({"clients": 50, "connect": False, "rate": None, "random_seed": 2}),
    ]
    assert comparison.differences(runs) == (
        Difference("clients", ("10", "50")),
        Difference("connect", ("yes", "no")),
    )


def test_another_load_program_is_the_first_difference():
    runs = [described({"clients": 9}, "15.18", "pgbench"), described({"threads": 9}, "15.18", "sysbench")]
    assert comparison.differences(runs) == (
        Difference("load program", ("pgbench", "sysbench")),
        Difference("clients", ("9", "–")),
        Difference("threads", ("–", "9")),
    )


def test_scripts_that_differ_are_named_without_their_texts():
    one = {"text": "SELECT 1;", "weight": 1, "name": "orders", "version": 1}
    runs = [
        described({"builtin": "select-only", "scripts": None, "variables": None}, engine="pgbench"),
        described({"builtin": None, "scripts": [one], "variables": {"n": 5, "city": "Oslo"}}, engine="pgbench"),
    ]
    assert comparison.differences(runs) == (
        Difference("builtin", ("select-only", "–")),
        Difference("scripts", ("–", "orders version 1 (weight 1)")),
        Difference("variables", ("–", "n = 5, city = 'Oslo'")),
    )


@pytest.mark.parametrize(
    ("key", "needed"),
    [("latency_p50_ms", 200), ("latency_p95_ms", 2_000), ("service_p99_ms", 10_000), ("latency_p99_9_ms", 100_000)],
)
def test_the_rarer_a_percentile_the_more_samples_it_needs(key, needed):
    assert metrics.BY_KEY[key].samples_needed == needed
    assert metrics.BY_KEY["tps"].samples_needed == 0
