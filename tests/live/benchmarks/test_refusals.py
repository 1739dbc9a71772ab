"""A burst of more clients than a real server has connections: refused straight, carried through the pool."""

import pytest

from benchmarks.analysis import arms
from benchmarks.analysis.arms import Outcome, Verdict
from benchmarks.models import Status
from benchmarks.results import comparisons
from pools.models import Pool
from tests.benchmarks.submitting import submit_pair
from tests.live.benchmarks.conftest import execute

pytestmark = pytest.mark.django_db(transaction=True)
BURST = {"clients": 150}


# long enough for 150 logins beside other tests, at a rate that leaves those the processors
@pytest.mark.parametrize("threads", [1, 2])
def test_the_server_refuses_a_burst_that_the_pool_carries(in_this_process: None, pool: Pool, threads: int) -> None:
    asked = BURST | {"threads": threads, "duration": 8, "rate": 100}
    runs = [execute(run) for run in submit_pair({"pool": str(pool.pk)}, asked, author=None)]
    assert [run.status for run in runs] == [Status.FAILED, Status.SUCCEEDED], [run.error for run in runs]
    found = comparisons.compare(runs)
    direct, pooled = found.arms
    assert direct.outcome is Outcome.REFUSED, direct.words
    assert arms.verdict_of(found, direct, found.figures[0]) is Verdict.REFUSED
    assert pooled.outcome in (Outcome.SUCCEEDED, Outcome.SUSPECT), pooled.words  # connecting may take long here
    refusal = direct.refusal.refusal
    assert 53 <= refusal.refused <= 60  # of 100, 3 are reserved, and the panel's own look takes some
    assert found.conclusions[0].startswith(f"the server refused {refusal.refused} of 150 clients: remaining connection")
    assert found.conclusions[1].startswith("the pool carried 150 clients at ")


def test_clients_that_connect_anew_and_are_refused_are_counted(in_this_process: None, pool: Pool) -> None:
    asked = BURST | {"threads": 150, "connect": True, "duration": 2}
    run = execute(submit_pair({"pool": str(pool.pk)}, asked, author=None)[0])
    if run.status == Status.FAILED:  # a quick machine may never have 98 of them in at once
        [arm] = comparisons.compare([run]).arms
        assert arm.runs[0].outcome is Outcome.REFUSED
        assert arm.runs[0].words.startswith("the server refused ")
