"""What passes by itself leaves no arm out: a login that timed out, an apply that is on, a queue that is away."""

from datetime import timedelta

import pytest
from django.utils import timezone

from benchmarks.errors import QueueDown, Refused
from benchmarks.experiments import kept_connections, lifecycle, resources
from benchmarks.experiments.start import arms_of
from benchmarks.models import Experiment, ExperimentState, Phase, ResourceKind, Run
from benchmarks.runs.submission import submit
from benchmarks.runs.submission.submit import RunRequest
from pools.models import Pool, PoolState
from tests.benchmarks.experiments.records import an_experiment
from tests.benchmarks.records import a_finished_run, a_run
from tests.pools.records import a_pool

pytestmark = pytest.mark.django_db
SLOW = "the pooler did not take the login within 5 s"


@pytest.fixture
def experiment(monkeypatch: pytest.MonkeyPatch) -> Experiment:
    """One that is set up but for its pools: all else is there."""
    monkeypatch.setattr(lifecycle, "_dataset_is_ready", lambda _: True)
    monkeypatch.setattr(resources, "create", lambda *_: None)
    monkeypatch.setattr(kept_connections, "close_server_connections", lambda _: False)
    return an_experiment(state=ExperimentState.RUNNING, started_at=timezone.now())


def pools_of(experiment: Experiment, state: PoolState, reason: str = "") -> list[Pool]:
    """A pool of each key that its arms know, as an apply left it."""
    keys = dict.fromkeys(key for arm in arms_of(experiment) if (key := resources.pool_key(arm)))
    made = []
    for number, key in enumerate(keys):
        pool = a_pool(name=f"pool_{number}", cluster=experiment.cluster, state=state, state_reason=reason)
        experiment.resources.create(kind=ResourceKind.POOL, key=key, name=pool.name, record=pool.pk)
        made.append(pool)
    return made


def set_up(experiment: Experiment) -> set[str]:
    """Carry it on by a step; the arms that are left out."""
    lifecycle._set_up(experiment)
    return set(experiment.skipped) - {arm.key for arm in arms_of(experiment) if arm.other_host}


def test_a_refused_pool_is_applied_once_more_before_its_arms_are_left_out(experiment: Experiment) -> None:
    pools = pools_of(experiment, PoolState.ROLLED_BACK, SLOW)
    assert set_up(experiment) == set()
    assert set(Pool.objects.values_list("state", flat=True)) == {PoolState.PENDING}
    Pool.objects.update(state=PoolState.ROLLED_BACK, state_reason=SLOW)
    Pool.objects.filter(pk=pools[0].pk).update(state=PoolState.APPLIED, state_reason="")
    left_out = set_up(experiment)
    first = experiment.resources.get(record=pools[0].pk).key
    pooled = {arm.key: resources.pool_key(arm) for arm in arms_of(experiment) if not arm.other_host}
    assert left_out == {arm for arm, key in pooled.items() if key not in ("", first)}
    assert left_out < set(pooled)
    assert {experiment.skipped[key] for key in left_out} == {SLOW}
    assert experiment.phase == Phase.MEASURE


def test_a_pool_that_is_never_applied_leaves_its_arms_out_with_the_reason(experiment: Experiment) -> None:
    pools_of(experiment, PoolState.PENDING)
    assert set_up(experiment) == set()
    experiment.write(started_at=timezone.now() - lifecycle.APPLIED_WITHIN)
    pooled = {arm.key for arm in arms_of(experiment) if resources.pool_key(arm) and not arm.other_host}
    assert set_up(experiment) == pooled
    assert {experiment.skipped[key] for key in pooled} == {"its pool was not applied within 120 s"}


@pytest.fixture
def measuring(experiment: Experiment) -> Experiment:
    """One that is about to submit the run of an arm through a pool."""
    pools_of(experiment, PoolState.APPLIED)
    pooled = next(arm.key for arm in arms_of(experiment) if resources.pool_key(arm) and not arm.other_host)
    others = [key for key in experiment.plan[0] if key != pooled]
    plan = [[pooled, *others]] * 3
    experiment.write(phase=Phase.MEASURE, measuring_at=timezone.now(), plan=plan)
    return experiment


def test_an_arm_whose_pool_is_applied_again_waits_for_it(
    measuring: Experiment, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(submit, "submit", lambda request: pytest.fail("nothing is submitted meanwhile"))
    a_finished_run(0, experiment=measuring, arm="10-scram-none", finished_at=timezone.now())
    Pool.objects.update(state=PoolState.PENDING)
    assert lifecycle._measure(measuring) is False
    assert measuring.step == 0
    submitted: list[RunRequest] = []
    monkeypatch.setattr(submit, "submit", submitted.append)
    Pool.objects.update(state=PoolState.APPLIED)
    assert lifecycle._measure(measuring) is True
    assert [request.arm for request in submitted] == [measuring.plan[0][0]]


def test_an_arm_whose_pool_stays_pending_is_tried_after_two_minutes(
    measuring: Experiment, monkeypatch: pytest.MonkeyPatch
) -> None:
    long_ago = timezone.now() - lifecycle.APPLIED_WITHIN - timedelta(seconds=1)
    a_finished_run(0, experiment=measuring, arm="10-scram-none", finished_at=long_ago)
    Pool.objects.update(state=PoolState.PENDING)
    submitted: list[RunRequest] = []
    monkeypatch.setattr(submit, "submit", submitted.append)
    assert lifecycle._measure(measuring) is True
    assert len(submitted) == 1


def test_a_queue_that_is_away_ends_neither_the_arm_nor_the_experiment(
    measuring: Experiment, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(request: RunRequest) -> Run:
        raise QueueDown("redis can't be reached, so no run can be dispatched; nothing was saved: try again")

    monkeypatch.setattr(submit, "submit", refuse)
    skipped = measuring.skipped
    for _ in range(2):
        lifecycle.advance(measuring.pk)
        measuring.refresh_from_db()
        assert (measuring.state, measuring.phase, measuring.step) == (ExperimentState.RUNNING, Phase.MEASURE, 0)
        assert measuring.skipped == skipped
    monkeypatch.setattr(submit, "submit", lambda request: a_run(pk=request.run_id, experiment=measuring))
    lifecycle.advance(measuring.pk)
    measuring.refresh_from_db()
    assert measuring.step == 1


def test_what_does_not_pass_leaves_the_arm_out(measuring: Experiment, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(request: RunRequest) -> Run:
        raise Refused("pgbench_accounts belongs to somebody else")

    monkeypatch.setattr(submit, "submit", refuse)
    assert lifecycle._measure(measuring) is True
    assert measuring.skipped[measuring.plan[0][0]] == "pgbench_accounts belongs to somebody else"
