"""Every sentence of every conclusion rests on the verdicts of the table, whatever was measured."""

from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.analysis.arms import Arm, Outcome, Verdict
from benchmarks.analysis.connection_refusals import Refusal
from benchmarks.analysis.subjects import Subject
from benchmarks.experiments import conclusions, library, results
from benchmarks.experiments.conclusions import DECIDED, Claim, Finding
from benchmarks.experiments.playbook import ArmSpec
from benchmarks.experiments.results import ArmResult, Result
from benchmarks.models import Experiment, ExperimentState

RUNS = 4
FIGURE = st.one_of(st.floats(1, 1000).map(lambda tps: round(tps, 1)), st.none())  # None: the server refused
NEAR = st.sampled_from([0.5, 0.97, 1.0, 1.02, 2.0]).flatmap(
    lambda ratio: st.lists(
        st.floats(0.95, 1.05).map(lambda noise: round(100 * ratio * noise, 2)), min_size=RUNS, max_size=RUNS
    )
)
FIGURES = st.one_of(NEAR, st.lists(FIGURE, min_size=1, max_size=RUNS))
AGREES = {
    Finding.FASTER: {Verdict.FASTER},
    Finding.SLOWER: {Verdict.SLOWER},
    Finding.NO_DIFFERENCE: {Verdict.NO_DIFFERENCE},
}
DECISIVE = {*AGREES, Finding.REPRODUCED, Finding.NOT_REPRODUCED}


def measured(playbook: str, figures: Mapping[str, Sequence[float | None]]) -> Result:
    """An experiment that has ended with these figures, by arm; arms may have different numbers of runs."""
    spec = library.built_in()[playbook]
    specs = spec.arms(quick=True)
    keys = [one.key for one in specs]
    about: dict[str, Any] = {"definition": spec.text, "plan": [keys], "repeats": RUNS, "cluster_name": "here"}
    experiment = Experiment(playbook=playbook, state=ExperimentState.SUCCEEDED, **about)
    found = {one.key: a_measured_arm(one, figures[one.key]) for one in specs if figures.get(one.key)}
    return results.of_arms(experiment, spec, specs, found, [])


def a_measured_arm(spec: ArmSpec, figures: Sequence[float | None]) -> Arm:
    return Arm(spec.key, spec.label, tuple(a_run(spec, at, figure) for at, figure in enumerate(figures)))


def a_run(spec: ArmSpec, block: int, tps: float | None) -> Subject:
    refusal = Refusal("sorry, too many clients already", 150, 53) if tps is None else None
    return Subject(
        id=f"{block}/{spec.key}",
        number=block,
        endpoint_kind="pooled" if spec.endpoint.is_pooled else "direct",
        target="here",
        engine="pgbench",
        options=spec.options,
        summary={} if tps is None else {"tps": tps, "latency_avg_ms": 1000 / tps},
        outcome=Outcome.REFUSED if refusal else Outcome.SUCCEEDED,
        refusal=refusal,
        group=f"block {block}",
    )


def is_backed(result: Result, one: ArmResult) -> bool:
    """Whether the table says something of an arm: a verdict, a refusal, or runs beside a refused baseline."""
    base = result.baseline_of(one)
    if one.verdict in DECIDED or one.verdict is Verdict.REFUSED:
        return True
    is_baseline = base is None and one.arm is not None and one.arm.refusal is not None
    return is_baseline or bool(base and base.arm and base.arm.refusal and one.arm and one.arm.n_valid)


def check(result: Result, claim: Claim) -> None:
    """Fail where a claim decides what the table does not."""
    by_key = {one.spec.key: one for one in result.arms}
    assert claim.arms, f"the claim names no arm: {claim.text}"
    backed = [by_key[key] for key in claim.arms]
    if claim.finding in DECISIVE:
        assert all(is_backed(result, one) for one in backed), (claim.text, [one.verdict for one in backed])
    if claim.finding in AGREES:
        assert all(one.verdict in AGREES[claim.finding] for one in backed)


@pytest.mark.parametrize("playbook", library.BUILT_IN)
@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_no_sentence_says_what_the_table_does_not(playbook: str, data: st.DataObject) -> None:
    arms = [arm.key for arm in library.find(playbook).arms(quick=True) if not arm.other_host]
    chosen = data.draw(st.lists(st.sampled_from(arms), min_size=1, max_size=6, unique=True))
    figures = {key: data.draw(FIGURES, label=key) for key in chosen}
    result = measured(playbook, figures)
    for claim in conclusions.claims(result):
        check(result, claim)


def test_a_figure_that_the_table_does_not_judge_is_no_finding() -> None:
    """The medians alone are in the published order, and the table says "not enough data"."""
    result = measured("app-pool", {"20-new": [34.0], "20-normal": [42.0], "20-pooled": [59.0]})
    assert [one.verdict for one in result.arms if one.arm] == [None, Verdict.NOT_ENOUGH, Verdict.NOT_ENOUGH]
    assert {claim.finding for claim in conclusions.claims(result)} == {Finding.NOT_JUDGED}
