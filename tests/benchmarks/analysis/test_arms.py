"""Repeats are one arm, and a verdict rests on arms with repeats: what a comparison says, and when it says nothing."""

from dataclasses import replace
from itertools import count

import pytest

from benchmarks.analysis import arms
from benchmarks.analysis.arms import Outcome, Verdict
from benchmarks.analysis.confidence_intervals import Rule
from benchmarks.analysis.connection_refusals import Refusal
from benchmarks.analysis.subjects import Subject, key_of

_numbers = count(1)
SLOTS = "remaining connection slots are reserved for non-replication superuser connections"


def run(endpoint_kind="direct", tps=1000.0, outcome=Outcome.SUCCEEDED, options=None, group="", **fields):
    summary = fields.pop("summary", {"tps": tps} if tps is not None else {})
    target = fields.pop("target", "demo/shop")
    number = next(_numbers)
    return Subject(
        str(number), number, endpoint_kind, target, "pgbench", options or {}, summary, outcome, group=group, **fields
    )


def repeats(endpoint_kind, *values, **fields):
    return [run(endpoint_kind, value, **fields) for value in values]


def words(found):
    figures = zip(found.arms, found.figures, strict=True)
    return [(arm.label, arm.n_valid, arms.verdict_of(found, arm, figure)) for arm, figure in figures]


def test_repeats_of_one_configuration_are_one_arm_whatever_their_seed():
    runs = [run(options={"clients": 4, "random_seed": seed}) for seed in (1, 2, 3)]
    found = arms.compare([*runs, run(options={"clients": 8})])
    assert [(arm.label, len(arm.runs)) for arm in found.arms] == [("direct, clients 4", 3), ("direct, clients 8", 1)]


def test_three_identical_runs_are_figures_without_any_verdict():
    found = arms.compare(repeats("direct", 1000.0, 870.0, 1110.0))
    assert words(found) == [("direct", 3, None)]
    assert (found.figures[0].median, found.figures[0].low, found.figures[0].high) == (1000.0, 870.0, 1110.0)
    assert found.conclusions == ()


def test_single_runs_get_no_verdict_however_far_apart_and_are_told_how_many_more():
    found = arms.compare([run("direct", 1000.0), run("pooled", 3000.0)])
    assert words(found) == [("direct", 1, None), ("pooled", 1, Verdict.NOT_ENOUGH)]
    assert found.figures[1].ratio == 3.0
    assert found.figures[1].tone == "none"
    assert found.conclusion == (
        "Not enough data to judge pooled by direct; missing: 2 more valid runs of direct, 2 more valid runs of pooled."
    )


@pytest.mark.parametrize(
    ("values", "verdict", "tone"),
    [
        ((3000.0, 3100.0, 2900.0), Verdict.FASTER, "better"),
        ((500.0, 510.0, 490.0), Verdict.SLOWER, "worse"),
        ((1010.0, 960.0, 1050.0), Verdict.NO_DIFFERENCE, "none"),
    ],
)
def test_three_repeats_of_each_are_judged(values, verdict, tone):
    found = arms.compare([*repeats("direct", 1000.0, 1040.0, 970.0), *repeats("pooled", *values)])
    assert words(found)[1] == ("pooled", 3, verdict)
    assert found.figures[1].tone == tone
    assert verdict in found.conclusion.lower()
    assert "3 and 3 runs" in found.conclusion


def test_a_difference_within_the_tie_band_is_none():
    runs = [*repeats("direct", 1000.0, 1001.0, 999.0), *repeats("pooled", 1020.0, 1021.0, 1019.0)]
    tied, strict = arms.compare(runs), arms.compare(runs, tie_band=0.01)
    assert [words(found)[1][2] for found in (tied, strict)] == [Verdict.NO_DIFFERENCE, Verdict.FASTER]
    assert tied.figures[1].interval == strict.figures[1].interval
    assert tied.figures[1].interval.low > 1
    assert "no difference shown between pooled and direct: throughput ×1.02" in tied.conclusion.lower()


def test_the_intervals_of_three_arms_hold_together():
    direct, pooled = repeats("direct", 1000.0, 1040.0, 970.0), repeats("pooled", 1180.0, 1200.0, 1100.0)
    alone = arms.compare([*direct, *pooled])
    together = arms.compare([*direct, *pooled, *repeats("imported", 500.0, 510.0, 490.0)])
    assert [words(found)[1][2] for found in (alone, together)] == [Verdict.FASTER] * 2
    assert together.figures[1].ratio == alone.figures[1].ratio
    assert together.figures[1].interval.low < alone.figures[1].interval.low
    assert together.figures[1].interval.high > alone.figures[1].interval.high


def test_what_two_arms_show_may_not_be_shown_among_three():
    direct, pooled = repeats("direct", 1000.0, 1040.0, 970.0), repeats("pooled", 1100.0, 1120.0, 1080.0)
    alone = arms.compare([*direct, *pooled])
    together = arms.compare([*direct, *pooled, *repeats("imported", 500.0, 510.0, 490.0)])
    assert [words(found)[1][2] for found in (alone, together)] == [Verdict.FASTER, Verdict.NO_DIFFERENCE]
    assert words(together)[2] == ("imported", 3, Verdict.SLOWER)


def test_in_sequential_mode_three_pairs_of_several_arms_are_not_enough_yet():
    def judged(blocks):
        order = [("direct", 1000.0), ("pooled", 2000.0), ("pooled", 2100.0), ("direct", 1000.0)] * blocks
        runs = [run(endpoint_kind, tps, group="g") for endpoint_kind, tps in order]
        return words(arms.compare_arms(arms.compare(runs).arms, rule=Rule(is_sequential=True)))[1]

    assert judged(2) == ("pooled", 4, Verdict.FASTER)
    order = [("direct", 1000.0), ("pooled", 2000.0)] * 3
    runs = [run(endpoint_kind, tps, group="g") for endpoint_kind, tps in order]
    few = arms.compare_arms(arms.compare(runs).arms, rule=Rule(comparisons=4, is_sequential=True))
    assert words(few)[1] == ("pooled", 3, Verdict.NOT_ENOUGH)


def test_pairs_are_judged_pair_by_pair():
    order = [("direct", 1000.0), ("pooled", 1210.0), ("pooled", 610.0), ("direct", 500.0)]
    order += [("direct", 2000.0), ("pooled", 2390.0)]
    found = arms.compare([run(endpoint_kind, tps, group="g") for endpoint_kind, tps in order])
    assert found.figures[1].interval.paired
    assert words(found)[1] == ("pooled", 3, Verdict.FASTER)
    apart = arms.compare([run(endpoint_kind, tps) for endpoint_kind, tps in order])
    assert words(apart)[1] == ("pooled", 3, Verdict.NO_DIFFERENCE)


def test_only_pairs_of_which_both_count_are_counted():
    order = [("direct", 1000.0), ("pooled", 1210.0)] * 4
    runs = [run(endpoint_kind, tps + at, group="g") for at, (endpoint_kind, tps) in enumerate(order)]
    runs[2] = replace(runs[2], outcome=Outcome.SUSPECT)
    found = arms.compare(runs)
    assert found.arms[1].n_valid == 4
    assert "3 pairs)" in found.conclusions[0]


def test_latency_is_faster_where_it_is_lower():
    fields = [{"summary": {"tps": 1.0, "latency_avg_ms": ms}} for ms in (2.0, 2.1, 1.9)]
    faster = [{"summary": {"tps": 1.0, "latency_avg_ms": ms}} for ms in (1.0, 1.1, 0.9)]
    runs = [*(run("direct", **one) for one in fields), *(run("pooled", **one) for one in faster)]
    found = arms.compare(runs, metric="latency_avg_ms")
    assert words(found)[1][2] is Verdict.FASTER


def test_a_percentile_waits_for_its_samples_though_the_throughput_is_judged():
    def logged(endpoint_kind, tps, p99, samples):
        return run(endpoint_kind, summary={"tps": tps, "latency_p99_ms": p99, "latency_samples": samples})

    def judged(samples):
        runs = [logged("direct", tps, tps / 100, samples) for tps in (1000.0, 1001.0, 1002.0)]
        runs += [logged("pooled", tps, tps / 100, samples) for tps in (2000.0, 2001.0, 2002.0)]
        return {row.metric.key: row.figures[1] for row in arms.compare(runs).rows}

    few, enough = judged(1348), judged(4000)
    assert few["tps"].verdict is Verdict.FASTER
    assert few["latency_p99_ms"].verdict is Verdict.NOT_ENOUGH
    assert few["latency_p99_ms"].tone == "none"
    assert "10,000 logged transactions of direct (it has 4,044)" in few["latency_p99_ms"].missing
    assert enough["latency_p99_ms"].verdict is Verdict.SLOWER


def test_a_refused_baseline_beside_a_pool_that_carried_all_is_the_conclusion():
    asked = {"clients": 150}
    refused = [run("direct", None, Outcome.REFUSED, asked, refusal=Refusal(SLOTS, 150, 53)) for _ in range(3)]
    found = arms.compare([*refused, *repeats("pooled", 340.0, 344.2, 350.0, options=asked)])
    assert words(found) == [("direct", 0, Verdict.REFUSED), ("pooled", 3, None)]
    assert found.conclusions == (
        f"the server refused 53 of 150 clients: {SLOTS}",
        "the pool carried 150 clients at 344 tps",
    )
    assert found.arms[0].words == f"0 of 3 valid; the server refused 53 of 150 clients: {SLOTS}"


def test_what_a_pool_carried_is_told_with_its_doubt():
    refused = run("direct", None, Outcome.REFUSED, {"clients": 9}, refusal=Refusal(SLOTS, 9, 2))
    doubtful = run("pooled", 340.0, Outcome.SUSPECT, {"clients": 9}, reasons=("connecting took long",))
    found = arms.compare([refused, doubtful])
    assert found.conclusions[1] == "the pool carried 9 clients at 340 tps (suspect: connecting took long)"
    assert words(found)[1] == ("pooled", 0, Verdict.NOT_ENOUGH)


def test_a_refused_pool_is_the_pools_word():
    refused = run("pooled", None, Outcome.REFUSED, {"clients": 9}, refusal=Refusal("no more connections", 9, None))
    found = arms.compare([*repeats("direct", 1.0, 1.1, 1.2), refused])
    assert words(found)[1] == ("pooled", 0, Verdict.REFUSED)
    assert found.conclusion == "The pool refused some of 9 clients: no more connections."


def test_a_run_that_is_not_valid_is_seen_with_its_reason_and_does_not_count():
    doubtful = run("pooled", 9000.0, Outcome.SUSPECT, reasons=("some clients hung",))
    found = arms.compare([*repeats("direct", 1.0, 1.1, 1.2), *repeats("pooled", 1.0, 1.1), doubtful])
    assert found.arms[1].words == "2 of 3 valid; suspect: some clients hung"
    assert found.figures[1].high == 1.1
    assert found.conclusion.endswith("; missing: 1 more valid run of pooled.")


@pytest.mark.parametrize(
    ("reasons", "shown"),
    [
        (("cancelled",), "cancelled"),
        (("cancelled; figures are those until then",), "cancelled; figures are those until then"),
        ((), "cancelled"),
        (("the load was short",), "cancelled: the load was short"),
    ],
)
def test_an_outcome_is_said_once(reasons: tuple[str, ...], shown: str):
    assert run("pooled", None, Outcome.CANCELLED, reasons=reasons).words == shown


def test_another_arm_can_be_the_baseline():
    runs = [*repeats("direct", 1.0, 1.01, 1.02), *repeats("pooled", 3.0, 3.01, 3.02)]
    key = key_of(runs[-1])
    found = arms.compare(runs, baseline=key)
    assert found.baseline.key == key
    assert words(found)[1] == ("direct", 3, Verdict.SLOWER)
    with pytest.raises(KeyError):
        arms.compare(runs, baseline="nothing")


def test_the_noise_is_that_of_the_repeats():
    assert "not known yet" in arms.compare([run(), run("pooled")]).noise_words
    assert "vary by ±5." in arms.compare(repeats("direct", 100.0, 105.0, 95.0)).noise_words


def test_clients_at_work_are_told_where_they_are_not_those_asked_for():
    def busy(clients, **options):
        return run(summary={"tps": 258.0, "effective_clients": clients}, options={"clients": 150} | options)

    assert busy(72.6).at_work == (72.6, 150)
    assert busy(140.0).at_work is None
    assert busy(72.6, rate=10.0).at_work is None
    assert arms.compare([busy(72.6), busy(73.0)]).arms[0].at_work == (72.8, 150)
