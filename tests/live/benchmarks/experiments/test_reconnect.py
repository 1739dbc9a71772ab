"""The playbook reconnect on real servers: what a pooler saves of clients that connect anew for each transaction.

The size of the gain and its verdict are the machine's: `tests.bench.playbooks` measures them.
"""

import pytest

from benchmarks.analysis.arms import Verdict
from pools.models import Pooler
from tests.live.benchmarks.experiments.conftest import CarryOut

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.timing]


@pytest.fixture
def pgpool_children() -> int:
    """As many as the playbook asks for."""
    return 32


@pytest.mark.parametrize("pgpool_binary", ["installed"], indirect=True)
def test_pgbouncer_is_faster_than_none_and_than_pgpool(carry_out: CarryOut, pgpool_pooler: Pooler) -> None:
    # one of each: in 18 runs of a second the slowest through PgBouncer was 1.4 times the fastest of any other
    found = carry_out("reconnect", options={"duration": 1}, repeats=1)
    assert all(run.conditions["warm_up"]["seconds"] >= 1 for run in found.runs)
    arms = {one.spec.values["endpoint"]: one for one in found.arms if one.spec.values["auth"] == "scram"}
    assert arms["pgbouncer"].value("tps") > arms["none"].value("tps")
    assert arms["pgbouncer"].value("tps") > arms["pgpool"].value("tps")
    assert arms["pgbouncer"].verdict is Verdict.NOT_ENOUGH  # of one run each
    assert "pg_hba.conf" in found.experiment.skipped["10-md5-none"]  # this server lets in no MD5 hash
    assert found.experiment.resources.filter(removed_at=None).count() == 0
