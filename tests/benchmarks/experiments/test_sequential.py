"""When an experiment has measured enough, and which blocks it measures again by itself."""

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from benchmarks.experiments import conclusions, results, sequential
from benchmarks.models import Experiment, ExperimentState, Phase, Run, Validity
from tests.benchmarks.experiments.records import a_measured_experiment

pytestmark = pytest.mark.django_db

DIRECT, POOLED = "10-scram-none", "10-scram-pgbouncer"
CLEAR = {DIRECT: [100, 104, 97, 100], POOLED: [200, 206, 195, 201]}
SCATTERED = {DIRECT: [100, 60, 140, 90], POOLED: [120, 130, 100, 140]}
GOES_ON = {"state": ExperimentState.RUNNING, "phase": Phase.MEASURE, "outcome": ""}


def one_that_goes_on(figures: dict[str, list[Any]], **fields: Any) -> Experiment:
    """An experiment of these two arms after four blocks, ten seconds each."""
    began = timezone.now() - timedelta(seconds=40)
    plan = [[DIRECT, POOLED]] * 30
    return a_measured_experiment(
        figures, **{**GOES_ON, "plan": plan, "step": 8, "measuring_at": began, "seconds": 300} | fields
    )


def contended(experiment: Experiment, arm: str, percent: float, *, block: int) -> None:
    """Let others have taken so much of the host beside a run: more than a quarter makes it suspect."""
    run = experiment.runs.filter(arm=arm).order_by("number")[block]
    meanwhile = {"others_percent": percent, "steal_percent": 0.0} | ({"only_contended": True} if percent > 25 else {})
    validity = Validity.SUSPECT if percent > 25 else Validity.VALID
    Run.objects.filter(pk=run.pk).update(validity=validity, conditions={"meanwhile": meanwhile}, reasons=["others"])


def test_blocks_end_as_soon_as_all_arms_are_judged() -> None:
    assert sequential.is_settled(one_that_goes_on(CLEAR))


def test_blocks_go_on_while_an_arm_is_not_judged() -> None:
    experiment = one_that_goes_on(SCATTERED)
    assert not sequential.is_settled(experiment)
    text = conclusions.text_of(results.of(experiment))
    assert "Blocks go on until every arm is decided, for at most 300 s." in text


def test_no_block_is_begun_that_would_end_after_the_time() -> None:
    assert sequential.is_settled(one_that_goes_on(SCATTERED, seconds=45))  # a block takes ten of them


def test_the_total_is_what_fits_the_budget_not_the_longest_plan() -> None:
    going_on = results.progress(one_that_goes_on(SCATTERED, seconds=140))  # 8 runs in 40 s, and 100 s are left
    assert (going_on.done, going_on.total) == (8, 28)
    ended = results.progress(one_that_goes_on(CLEAR, state=ExperimentState.SUCCEEDED))
    assert (ended.done, ended.total, ended.eta_s) == (8, 8, 0.0)


def test_blocks_that_somebody_asked_for_are_measured_whatever_is_decided() -> None:
    assert not sequential.is_settled(one_that_goes_on(CLEAR, wanted_blocks=6))


def test_a_refusal_is_known_after_three_runs_of_both_arms() -> None:
    figures = {"150-direct": [None] * 3, "150-pool97": [340, 350, 345]}
    plan = [list(figures)] * 30
    experiment = a_measured_experiment(figures, "burst", plan=plan)
    assert sequential.undecided(results.of(experiment)) == []
    experiment.runs.filter(arm="150-pool97").first().delete()
    assert [one.spec.key for one in sequential.undecided(results.of(experiment))] == ["150-pool97"]


def test_runs_beside_others_work_count_where_both_arms_saw_alike() -> None:
    experiment = one_that_goes_on(CLEAR)
    for block in range(4):
        for arm in (DIRECT, POOLED):
            contended(experiment, arm, 40 + block, block=block)
    found = results.of(experiment).arm(auth="scram", endpoint="pgbouncer")
    assert (found.arm.n_valid, found.verdict) == (4, "faster")


def test_a_block_whose_arms_saw_unlike_contention_is_measured_again_at_most_as_often_as_asked() -> None:
    experiment = one_that_goes_on(CLEAR, seconds=None, repeats=4, plan=[[DIRECT, POOLED]] * 4)
    assert not sequential.repeat_contended(experiment)
    for block in (1, 3):
        contended(experiment, POOLED, 43.0, block=block)
        contended(experiment, DIRECT, 5.0, block=block)
    assert sequential.repeat_contended(experiment)
    assert len(experiment.plan) == 6
    assert not sequential.repeat_contended(experiment)  # both are planned again by now
    text = conclusions.text_of(results.of(experiment))
    assert "2 of 4 runs valid: others took 43 % of the host; 3 are needed" in text
    assert "2 blocks in which the arms saw unlike contention are measured again by themselves." in text


def test_how_many_more_blocks_would_decide_is_told_after_the_end() -> None:
    plan = [[DIRECT, POOLED]] * 4
    experiment = a_measured_experiment(SCATTERED, plan=plan)
    more = sequential.blocks_to_decide(results.of(experiment))
    assert more is not None
    assert more > 0
    assert f"About {more} more blocks would decide" in conclusions.text_of(results.of(experiment))
    assert (
        sequential.blocks_to_decide(results.of(a_measured_experiment(CLEAR, cluster=experiment.cluster, plan=plan)))
        == 0
    )
