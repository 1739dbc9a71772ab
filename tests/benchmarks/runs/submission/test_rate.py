"""When the rate of a run can be changed."""

from uuid import uuid4

import pytest

from benchmarks.models import Purpose, Status
from benchmarks.runs.submission import rate
from tests.benchmarks.records import a_run
from tests.pools.records import a_cluster

pytestmark = pytest.mark.django_db
STAGES = [{"duration_s": 2, "clients": 1}] * 20


def running(**fields):
    return a_run(status=Status.RUNNING, cluster=a_cluster(), **fields)


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({}, ""),
        ({"status": Status.QUEUED}, "its load is not running"),
        ({"purpose": Purpose.PREPARE}, "only a load of pgbench"),
        ({"engine": "sysbench"}, "only a load of pgbench"),
        ({"options": {"clients": 2, "transactions": 10}}, "ends after a number of transactions"),
        ({"wanted_generators": ["a", "b"]}, "shared by several generators"),
        ({"group": uuid4()}, "compared with other runs"),
        ({"options": {"clients": 1, "duration": 40, "stages": STAGES}}, "has 20 stages already"),
    ],
)
def test_a_rate_is_changed_where_a_single_load_has_time_left(fields, reason):
    found = rate.obstacle(running(**fields) if "status" not in fields else a_run(**fields))
    assert found.startswith(reason) if not reason else reason in found
    assert bool(found) == bool(reason)
