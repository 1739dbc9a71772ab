"""What an experiment makes for itself."""

import pytest

from benchmarks.experiments import resources
from benchmarks.experiments.report import presentation
from tests.benchmarks.experiments.records import an_experiment
from tests.pools.records import a_cluster, a_pool, checked

pytestmark = pytest.mark.django_db


def test_a_pool_that_the_budget_makes_smaller_is_noted_on_the_page() -> None:
    cluster = a_cluster(name="db7")
    checked(cluster, max_connections=100)
    a_pool(cluster=cluster, size=10)
    experiment = an_experiment("burst", cluster=cluster)
    size = resources.size_within_budget(cluster, 97)
    assert size < 97
    for _ in range(2):  # made again after a crash, it is noted once
        resources.note_smaller_size(experiment, 97, size)
    note = f"The pool of 97 has {size} connections here: the budget of db7 has no more left."
    assert presentation.show(experiment).notes == (note,)
    resources.note_smaller_size(experiment, 5, 5)
    assert experiment.notes == [note]
