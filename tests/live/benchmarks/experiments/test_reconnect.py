"""The playbook reconnect on real servers: what a pooler saves of clients that connect anew for each transaction."""

import pytest

from benchmarks.analysis.arms import Verdict
from pools.models import Pooler
from tests.live.benchmarks.experiments.conftest import CarryOut, had_the_host

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.timing]


@pytest.mark.parametrize("pgpool_binary", ["installed"], indirect=True)
def test_pgbouncer_is_faster_than_none_and_than_pgpool(carry_out: CarryOut, pgpool_pooler: Pooler) -> None:
    found = carry_out("reconnect", options={"duration": 1}, repeats=4)
    assert all(run.conditions["warm_up"]["seconds"] >= 1 for run in found.runs)
    arms = {one.spec.values["endpoint"]: one for one in found.arms if one.spec.values["auth"] == "scram"}
    assert arms["pgbouncer"].value("tps") > arms["none"].value("tps")
    assert arms["pgbouncer"].value("tps") > arms["pgpool"].value("tps")
    if had_the_host(found):
        assert arms["pgbouncer"].verdict == Verdict.FASTER
        assert arms["pgbouncer"].figure.ratio >= 1.3
    assert "pg_hba.conf" in found.experiment.skipped["10-md5-none"]  # this server lets in no MD5 hash
    assert found.experiment.resources.filter(removed_at=None).count() == 0
