"""An experiment that has ended is set up again for more blocks, and removes what it made once more."""

import pytest

from benchmarks.experiments import more_blocks, results
from tests.live.benchmarks.experiments.conftest import CarryOut, until_ended

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.timing, pytest.mark.slow]

ARMS = ["10-scram-none", "10-scram-pgbouncer"]


def test_more_blocks_of_an_ended_experiment_join_those_that_were_measured(carry_out: CarryOut) -> None:
    found = carry_out("reconnect", arms=ARMS, options={"duration": 1, "warm_up": None}, repeats=1)
    more_blocks.measure_more(found.experiment, 1, is_admin=False)
    found = results.of(until_ended(found.experiment))
    assert found.experiment.reasons == []
    assert [len(one.arm.runs) if one.arm else 0 for one in found.arms] == [2, 2]
    assert len({run.pk for run in found.runs}) == 4
    assert found.experiment.resources.filter(removed_at=None).count() == 0
    assert found.experiment.resources.count() == 3
