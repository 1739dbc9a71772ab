"""The playbook burst on real servers: a pool carries what the server refuses."""

import pytest
from tests.live.benchmarks.experiments.conftest import CarryOut
from benchmarks.experiments import conclusions

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.mark.parametrize(
    "name,dataset,options",
    [
        ("burst", {"scale": 2}, {"duration": 2}),
        ("tuning", {"scale": 2}, {"duration": 2}),
        ("app-pool", {"rows": 1000}, {"duration": 2}),
    ],
)
def test_it(carry_out: CarryOut, name, dataset, options) -> None:
    found = carry_out(name, dataset=dataset)
    for one in found.arms:
        print(
            "ARM",
            one.spec.key,
            one.outcome,
            one.value("tps"),
            one.verdict,
            one.derived,
            one.skipped,
            one.arm and one.arm.words,
        )
    print("ARM", found.experiment.state, found.experiment.reasons, found.experiment.notes)
    print("ARM", "\nARM ".join(conclusions.sentences(found)))
    assert 0
