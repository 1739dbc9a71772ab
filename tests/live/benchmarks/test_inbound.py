"""Runs through a pool of the inbound user: who they log in as, and what is said where nobody is named."""

import pytest

from benchmarks.errors import InvalidTarget
from benchmarks.models import Status
from pools import connection_strings, deployment
from pools.clusters import endpoints
from pools.connection_strings import box as connection_box
from pools.connection_strings.box import BoxChoices
from pools.models import Pool, PoolState
from tests.benchmarks.submitting import submit_one, submit_pair
from tests.live.benchmarks.conftest import QUICK, execute

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.usefixtures("in_this_process"),
]


@pytest.fixture
def inbound(pool: Pool, lookup_role: str) -> Pool:
    """`pool` for inbound users, whom a role looks up."""
    pool.edit(None, user="", state=PoolState.PENDING)
    deployment.apply_pooler(pool.pooler)
    found = Pool.objects.select_related("cluster", "pooler").get(pk=pool.pk)
    assert (found.state, found.state_reason) == (PoolState.APPLIED, "")
    return found


def test_a_run_through_it_asks_for_a_role(inbound: Pool) -> None:
    with pytest.raises(InvalidTarget) as refused:
        submit_one(target={"pool": str(inbound.pk)}, options=QUICK, author=None)
    assert refused.value.errors == {
        "user": [
            "pool orders lets each role in as itself, but no superuser, so not postgres: name a role whose password "
            "the panel knows"
        ]
    }
    with pytest.raises(InvalidTarget, match="the panel does not know the password of role stranger"):
        submit_one(target={"pool": str(inbound.pk), "user": "stranger"}, options=QUICK, author=None)


def test_a_run_and_a_pair_log_in_as_the_role_that_is_named(inbound: Pool) -> None:
    run = execute(submit_one(target={"pool": str(inbound.pk), "user": "app"}, options=QUICK, author=None))
    assert (run.status, run.error, run.role, run.pooled) == (Status.SUCCEEDED, "", "app", True)
    pair = submit_pair({"pool": str(inbound.pk), "user": "app"}, QUICK, author=None)
    assert [(run.role, run.pooled) for run in pair] == [("app", False), ("app", True)]
    assert [execute(run).status for run in pair] == [Status.SUCCEEDED] * 2


def test_a_pool_of_a_fixed_user_takes_no_other(pool: Pool) -> None:
    with pytest.raises(InvalidTarget, match="pool orders logs everybody in as app: leave the role out"):
        submit_one(target={"pool": str(pool.pk), "user": "postgres"}, options=QUICK, author=None)


def test_its_connection_strings_leave_the_role_to_whoever_reads_them(inbound: Pool) -> None:
    assert endpoints.address_of_pool(inbound).user == ""
    uri = connection_strings.render(endpoints.of_pool(inbound), "uri", reveal=True)
    assert uri.startswith("postgresql://YOUR_ROLE@")
    box = connection_box.of_pool(inbound, BoxChoices(reveal=True))
    assert box.endpoints[0]["note"].startswith("Each role except superusers logs in as itself: replace")
    assert not box.knows_password
