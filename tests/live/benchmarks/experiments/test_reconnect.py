"""The playbook reconnect on real servers: what a pooler saves of clients that connect anew for each transaction."""

import pytest

from tests.live.benchmarks.experiments.conftest import CarryOut

pytestmark = pytest.mark.django_db(transaction=True)


def test_pgbouncer_is_faster_than_none_and_than_pgpool(carry_out: CarryOut, pgpool_pooler) -> None:
    found = carry_out("reconnect")
    for one in found.arms:
        print(
            one.spec.key,
            one.outcome,
            one.value("tps"),
            one.verdict,
            one.derived,
            one.skipped,
            one.arm and one.arm.words,
        )
    print(found.experiment.state, found.experiment.reasons, found.experiment.notes)
    assert 0
