"""A preparation that is lost with its generator is tried once more before its experiment fails."""

import pytest
from django.utils import timezone

from benchmarks.errors import BenchmarksError
from benchmarks.experiments import lifecycle
from benchmarks.models import Experiment, ExperimentState, Purpose, Run, Status
from benchmarks.runs.submission import submit
from benchmarks.runs.submission.submit import RunRequest
from tests.benchmarks.experiments.records import an_experiment
from tests.benchmarks.records import a_run

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def queued(monkeypatch: pytest.MonkeyPatch) -> None:
    """Submitted runs are queued, without asking a server."""

    def enqueue(request: RunRequest) -> Run:
        return a_run(pk=request.run_id, purpose=request.purpose, experiment=request.experiment)

    monkeypatch.setattr(submit, "submit", enqueue)


@pytest.fixture
def experiment() -> Experiment:
    return an_experiment(state=ExperimentState.RUNNING, started_at=timezone.now())


def prepared(experiment: Experiment, *ends: str) -> bool:
    """Whether the dataset is ready after its preparations have ended so, each as soon as it was submitted."""
    for end in ends:
        assert not lifecycle._dataset_is_ready(experiment)
        waiting = experiment.runs.filter(purpose=Purpose.PREPARE, status=Status.QUEUED)
        assert waiting.update(status=end, error="its worker was lost") == 1
    return lifecycle._dataset_is_ready(experiment)


def test_a_second_preparation_makes_the_dataset(experiment: Experiment) -> None:
    assert prepared(experiment, Status.LOST, Status.SUCCEEDED)
    assert experiment.runs.count() == 2


@pytest.mark.parametrize("ends", [(Status.LOST, Status.LOST), (Status.FAILED,), (Status.LOST, Status.FAILED)])
def test_no_third_one_is_tried_and_none_after_a_failure(experiment: Experiment, ends: tuple[str, ...]) -> None:
    with pytest.raises(BenchmarksError, match="the dataset was not made: its worker was lost"):
        prepared(experiment, *ends)
    assert experiment.runs.count() == len(ends)


def test_a_second_delivery_submits_none_twice(experiment: Experiment) -> None:
    prepared(experiment, Status.LOST)
    assert [lifecycle._dataset_is_ready(experiment) for _ in range(2)] == [False, False]
    assert experiment.runs.count() == 2
