"""The experiment's table says what each arm reached over its repeats, and what may be concluded."""

from typing import Any

from panel.quickstart.demo_experiment import Scenario, table


def arm(label: str, figures: tuple[float, float, float] | None, **more: Any) -> dict[str, Any]:
    low, median, high = figures or (None, None, None)
    runs = [{"number": number, "outcome": "succeeded", "outcome_words": "succeeded"} for number in (1, 2, 3)]
    fields = {"ratio": None, "interval": None, "verdict": None, "n_valid": 3, "runs": runs}
    return {"key": label, "label": label, "median": median, "low": low, "high": high} | fields | more


def scenario(label: str, direct: dict[str, Any], pooled: dict[str, Any], conclusion: str = "") -> Scenario:
    latency = {"arms": [{"key": "direct", "median": 0.5}, {"key": "pooled", "median": 1.0}]}
    connecting = {"arms": [{"key": "direct", "median": None}, {"key": "pooled", "median": 9.5}]}
    return Scenario(label, {"arms": [direct, pooled], "conclusion": conclusion}, latency, connecting)


def kept(**more: Any) -> Scenario:
    judged = {"ratio": 0.5, "interval": [0.46, 0.54], "verdict": "slower"} | more
    pooled = arm("pooled", (9700.0, 10000.0, 10300.0), **judged)
    return scenario("kept", arm("direct", (19000.0, 20000.0, 21000.0)), pooled, "Pooled is slower than direct.")


def test_each_arm_is_told_with_its_spread_its_ratio_and_the_interval() -> None:
    assert table([kept()]).splitlines() == [
        "pgbench select-only, 10 clients, 4 pairs of 6 s  tps, median       low to high  latency ms  connect ms"
        "  to direct  95 % interval   valid  verdict",
        "-" * 146,
        "kept, direct                                          20,000  19,000 to 21,000       0.500           -"
        "          -              -  3 of 3  baseline",
        "kept, pooled                                          10,000   9,700 to 10,300       1.000       9.500"
        "       0.50   0.46 to 0.54  3 of 3  slower",
        "",
        "Kept: Pooled is slower than direct.",
    ]


def test_a_run_that_does_not_count_says_why_and_the_story_is_not_valid() -> None:
    runs = [{"number": 7, "outcome": "suspect", "outcome_words": "suspect: the host was busy"}]
    found = kept(n_valid=0, runs=runs, ratio=None, interval=None, verdict="not enough data")
    lines = table([found]).splitlines()
    assert lines[3].endswith("-              -  0 of 1  not enough data")
    assert lines[-1] == "Run 7 (pooled) does not count: suspect: the host was busy"
    assert not found.is_valid


def test_a_story_is_valid_when_enough_runs_of_both_arms_count() -> None:
    assert kept().is_valid
    assert not kept(n_valid=2).is_valid


def test_an_arm_without_figures_has_dashes() -> None:
    refused = scenario("burst", arm("direct", None, n_valid=0, verdict="refused"), arm("pooled", (1.0, 2.0, 3.0)))
    assert table([refused]).splitlines()[2].split() == [
        "burst,",
        "direct",
        *"-" * 2,
        "0.500",
        *"---",
        "0",
        "of",
        "3",
        "refused",
    ]
