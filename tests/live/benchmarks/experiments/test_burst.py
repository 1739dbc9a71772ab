"""The playbook burst on real servers: a pool carries what the server refuses."""

import pytest

from benchmarks.analysis.arms import Outcome
from benchmarks.experiments import conclusions
from tests.live.benchmarks.experiments.conftest import CarryOut

pytestmark = pytest.mark.django_db(transaction=True)


def test_the_server_refuses_what_the_pool_carries(carry_out: CarryOut) -> None:
    # The rate leaves processor time to tests that run at the same time.
    options = {"duration": 8, "warm_up": 1, "rate": 200}
    found = carry_out("burst", arms=["150-direct", "150-pool97"], options=options, repeats=1)
    direct, pooled = found.arms
    assert direct.outcome is Outcome.REFUSED
    assert all(run.conditions["warm_up"]["refused"] for run in found.runs if run.arm == "150-direct")
    assert all("refused" not in run.conditions["warm_up"] for run in found.runs if run.arm == "150-pool97")
    assert direct.derived["refused_clients"] == 53  # In the published experiment, 97 of 150 clients find a connection.
    assert pooled.outcome in (Outcome.SUCCEEDED, Outcome.SUSPECT)  # connecting takes its time on a busy machine
    assert pooled.value("tps")
    assert "the pool carried 150 clients at " in conclusions.text_of(found)
    assert found.experiment.resources.filter(removed_at=None).count() == 0
    # 97 connections, of which none is set aside here: a note would name a pool that got fewer
    assert found.experiment.notes == []
