"""The playbook app-pool on a real server: what a pool inside an application is worth."""

import pytest

from tests.live.benchmarks.experiments.conftest import CarryOut

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.timing]


def test_pooled_beats_one_shared_handle_and_that_a_connection_each_request(carry_out: CarryOut) -> None:
    arms = ["20-new", "20-normal", "20-pooled"]
    found = carry_out("app-pool", arms=arms, options={"duration": 2}, dataset={"rows": 1_000}, repeats=2)
    rates = {one.spec.values["connection"]: one.value("tps") for one in found.arms}
    assert rates["new"] < rates["normal"] < rates["pooled"]
    for one in found.arms:
        shortest, mean, longest = (one.value(f"latency_{name}_ms") for name in ("min", "avg", "max"))
        assert 0 < shortest < mean < longest
    pooled = next(run for run in found.runs if run.options["connection"] == "pooled")
    assert [pooled.options[name] for name in ("pool_size", "pool_idle", "pool_lifetime")] == [90, 50, 120]
    assert found.experiment.resources.filter(removed_at=None).count() == 0
