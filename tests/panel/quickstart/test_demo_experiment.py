"""The experiment's tables say what each arm reached over its repeats, and what may be concluded."""

from typing import Any

import pytest

from benchmarks.experiments import library
from panel.quickstart.demo_experiment import DIRECT, PARTS, MeasuredPart, Part, report

PART = Part("burst", ("150-direct", "150-pool97"), 6, 60, refused=("150-direct",))


def runs(*outcomes: str) -> list[dict[str, Any]]:
    return [
        {"number": number, "outcome": outcome, "outcome_words": f"{outcome}: the reason"}
        for number, outcome in enumerate(outcomes, 1)
    ]


def arm(key: str, label: str, *outcomes: str, **more: Any) -> dict[str, Any]:
    fields = {"key": key, "label": label, "runs": runs(*outcomes), "n_valid": outcomes.count("succeeded")}
    empty = dict.fromkeys(("median", "low", "high", "ratio", "interval", "verdict", "baseline"))
    values = {"endpoint": key.partition("-")[2]}
    return fields | empty | {"values": values, "figures": {}, "published": {}, "skipped": ""} | more


def direct(*outcomes: str, **more: Any) -> dict[str, Any]:
    published = {"published": {"tps": 258.05, "outcome": "FATAL"}}
    return arm("150-direct", "150 clients, direct", *outcomes, **{"verdict": "refused"} | published | more)


def pooled(*outcomes: str, **more: Any) -> dict[str, Any]:
    figures = {"latency_avg_ms": 15.0, "average_connection_ms": 9.5}
    reached = {"median": 10000.0, "low": 9700.0, "high": 10300.0, "ratio": 0.5, "interval": [0.46, 0.54]}
    judged = reached | {"figures": figures, "baseline": "150-direct", "verdict": "slower"}
    return arm("150-pool97", "150 clients, pool of 97", *outcomes, **judged | more)


def measured(*arms: dict[str, Any], part: Part = PART, **more: Any) -> MeasuredPart:
    values = {"number": 1, "state": "succeeded", "conclusion": "Reproduced: it is so.", "reasons": [], "notes": []}
    return MeasuredPart(part, "A burst", values | {"arms": list(arms)} | more)


REPEATS = 4
GOOD = ("succeeded",) * REPEATS
REFUSED = ("refused",) * REPEATS


def test_each_arm_is_told_with_its_spread_its_ratio_and_what_was_published() -> None:
    assert report([measured(direct(*REFUSED), pooled(*GOOD))]).splitlines() == [
        "A burst (playbook burst: pgbench, 4 blocks, 6 s for each arm)",
        "arm                      route   tps, median      low to high  latency ms  connect ms  to direct"
        "  95 % interval  published tps   valid  verdict",
        "-" * 143,
        "150 clients, direct      direct            -                -           -           -          -"
        "              -         258.05  0 of 4  refused",
        "150 clients, pool of 97  pooled       10,000  9,700 to 10,300      15.000       9.500       0.50"
        "   0.46 to 0.54              -  4 of 4  slower",
        "",
        "Reproduced: it is so.",
    ]


def test_a_low_rate_keeps_a_digit() -> None:
    slow = pooled(*GOOD, median=16.58, low=9.96, high=1234.5)
    assert "  16.6  10.0 to 1,234  " in report([measured(direct(*REFUSED), slow)])


def test_a_baseline_is_named_and_an_arm_without_a_verdict_has_a_dash() -> None:
    lines = report([measured(direct(*GOOD, verdict=None), pooled(*GOOD, verdict=None))]).splitlines()
    assert lines[3].endswith("4 of 4  baseline")
    assert lines[4].endswith("4 of 4  -")


@pytest.mark.parametrize("lost", ["suspect", "failed", "lost"])
def test_one_run_of_an_arm_may_be_lost_and_says_why(lost: str) -> None:
    found = measured(direct(*REFUSED), pooled(*GOOD[1:], lost))
    assert found.is_valid
    assert report([found]).splitlines()[-1] == (f"Run 4 (150 clients, pool of 97) does not count: {lost}: the reason")
    assert not measured(direct(*REFUSED), pooled(*GOOD[2:], lost, lost)).is_valid


def test_a_refusal_is_valid_only_where_the_source_reports_it() -> None:
    assert measured(direct(*REFUSED), pooled(*GOOD)).is_valid
    assert measured(direct(*GOOD), pooled(*GOOD)).is_valid
    assert not measured(direct(*REFUSED[2:], "failed", "failed"), pooled(*GOOD)).is_valid
    found = measured(direct(*GOOD), pooled(*REFUSED))
    assert not found.is_valid
    assert "Run 1 (150 clients, pool of 97) does not count: refused: the reason" in report([found])


def test_an_arm_that_cannot_be_measured_here_is_left_out_where_two_are_left() -> None:
    part = Part("reconnect", ("150-direct", "150-pool97", "150-pgpool"), 6, 60, refused=("150-direct",))
    skipped = arm("150-pgpool", "Pgpool-II", skipped="no Pgpool-II is registered")
    found = measured(direct(*REFUSED), pooled(*GOOD), skipped, part=part)
    assert found.is_valid
    assert report([found]).splitlines()[-1] == "Pgpool-II was not measured: no Pgpool-II is registered"


def test_one_measured_arm_alone_makes_it_invalid() -> None:
    found = measured(direct(*REFUSED), pooled(skipped="no PgBouncer is registered"))
    assert not found.is_valid
    assert report([found]).splitlines()[-1] == "150 clients, pool of 97 was not measured: no PgBouncer is registered"
    assert not measured(direct(*REFUSED)).is_valid


def test_arms_without_the_baseline_that_they_are_compared_with_make_it_invalid() -> None:
    part = Part("reconnect", ("150-direct", "150-pool97", "150-pgpool"), 6, 60)
    pgpool = arm("150-pgpool", "Pgpool-II", *GOOD, baseline="150-direct", median=9000.0, low=8900.0, high=9100.0)
    lost = direct(skipped="its login was refused", verdict=None)
    assert measured(direct(*GOOD), pooled(*GOOD), pgpool, part=part).is_valid
    assert not measured(lost, pooled(*GOOD, ratio=None, interval=None, verdict=None), pgpool, part=part).is_valid


def test_an_experiment_that_failed_is_invalid_and_says_why() -> None:
    found = measured(direct(*REFUSED), pooled(*GOOD), state="failed", reasons=["the dataset was not made"])
    assert not found.is_valid
    assert report([found]).splitlines()[6:8] == ["Experiment 1 failed.", "the dataset was not made"]


@pytest.mark.parametrize("part", PARTS, ids=lambda part: part.playbook)
def test_the_parts_name_arms_of_the_built_in_playbooks_with_direct_and_pooled_ones(part: Part) -> None:
    arms = {one.key: one for one in library.built_in()[part.playbook].arms(quick=True)}
    assert set(part.arms) <= set(arms)
    assert {arms[key].endpoint.is_pooled for key in part.arms} == {True, False}
    assert all("outcome" in arms[key].published for key in part.refused)
    assert all((arms[key].values["endpoint"] in DIRECT) != arms[key].endpoint.is_pooled for key in part.arms)
