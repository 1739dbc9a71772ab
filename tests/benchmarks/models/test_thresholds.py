"""Thresholds: what a run must reach for scripts to go on."""

import pytest

from benchmarks.models.thresholds import InvalidThresholds, judge, passes, read

SUMMARY = {"tps": 812.4, "latency_p95_ms": 12.0, "transactions": 990, "failed": 10, "latency_avg_ms": None}


def test_each_threshold_is_judged_in_words():
    asked = [
        {"metric": "tps", "at_least": 1000},
        {"metric": "latency_p95_ms", "at_most": 12},
        {"metric": "failed_percent", "at_most": 0.5},
        {"metric": "latency_avg_ms", "at_most": 5},
    ]
    judged = judge(read(asked), SUMMARY)
    assert [(one.passed, one.sentence) for one in judged] == [
        (False, "Throughput 812.4 tps, at least 1,000 tps"),
        (True, "Latency, 95th percentile 12 ms, at most 12 ms"),
        (False, "Failed transactions 1 %, at most 0.5 %"),
        (False, "Latency, average was not measured, at most 5 ms"),
    ]


def test_figures_that_may_not_be_relied_on_never_pass():
    asked = read([{"metric": "tps", "at_least": 1}])
    assert passes(asked, SUMMARY, valid=True)
    assert not passes(asked, SUMMARY, valid=False)
    assert not passes(asked, {}, valid=True)


def test_no_failures_told_are_none():
    asked = read([{"metric": "failed_percent", "at_most": 0}])
    assert passes(asked, {"transactions": 5}, valid=True)
    assert not passes(asked, {"failed": 5}, valid=True)


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        ({"metric": "tps"}, "give a list of at most 20 thresholds"),
        (["tps"], 'threshold 1: use {"metric": …, "at_least": …} or {"metric": …, "at_most": …}'),
        ([{"metric": "speed", "at_least": 1}], "threshold 1: 'speed' is not a metric here: choose one of tps, "),
        ([{"metric": "tps"}], "threshold 1: tps takes one of at_least and at_most, perhaps abort_after_s"),
        ([{"metric": "tps", "at_least": 1, "at_most": 2}], "threshold 1: tps takes one of"),
        ([{"metric": "tps", "at_least": 1, "why": 2}], "threshold 1: tps takes one of"),
        ([{"metric": "tps", "at_least": "1"}], "threshold 1: '1' is not a number of tps: use 0 or more"),
        ([{"metric": "tps", "at_least": -1}], "threshold 1: -1 is not a number of tps: use 0 or more"),
        ([{"metric": "tps", "at_least": float("nan")}], "threshold 1: nan is not a number of tps: use 0 or more"),
        ([{"metric": "tps", "at_least": True}], "threshold 1: True is not a number of tps: use 0 or more"),
        (
            [{"metric": "tps", "at_least": 1, "abort_after_s": 0}],
            "threshold 1: 0 is not a time for abort_after_s: use 1 to 86400 seconds",
        ),
        ([{"metric": "tps", "at_least": 1, "abort_after_s": "9"}], "threshold 1: '9' is not a time for abort_after_s"),
    ],
)
def test_what_is_no_threshold_is_refused_by_its_place(raw, message):
    with pytest.raises(InvalidThresholds) as caught:
        read(raw)
    assert caught.value.errors[0].startswith(message)


def test_millions_are_written_out():
    [one] = judge(read([{"metric": "tps", "at_least": 1_000_000}]), {"tps": 1_234_567.8})
    assert one.sentence == "Throughput 1,234,568 tps, at least 1,000,000 tps"
    assert one.asked == "Throughput at least 1,000,000 tps"


def test_the_time_after_which_it_ends_the_run_is_kept_and_shown():
    asked = read([{"metric": "tps", "at_least": 1, "abort_after_s": 10}])
    assert asked == [{"metric": "tps", "at_least": 1.0, "abort_after_s": 10.0}]
    [one] = judge(asked, SUMMARY)
    assert one.as_json() == {
        "metric": "tps",
        "at_least": 1.0,
        "abort_after_s": 10.0,
        "value": 812.4,
        "passed": True,
    }
