"""Going back to an earlier revision on a real PgBouncer."""

import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from pools import deployment
from pools.deployment import rollback
from pools.models import Pool, Pooler, PoolState, RevisionState
from tests.live.pools.conftest import Live, LogIn, MakePool

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_pooler_goes_back_to_what_it_was(make_pool: MakePool, pooler: Pooler, live: Live, log_in: LogIn) -> None:
    orders, sales = make_pool("orders"), make_pool("sales")
    first = deployment.apply_pooler(pooler)
    was, sales_id = live(), sales.pk
    orders.edit(None, size=9, user="", mode="session", state=PoolState.PENDING)
    Pool.objects.filter(pk=sales.pk).update(removal_requested_at=timezone.now())
    make_pool("stock")
    deployment.apply_pooler(pooler)
    assert list(live()) == ["orders", "stock"]
    rollback.roll_back(pooler, first, User.objects.create_user("ann"))
    revision = deployment.apply_pooler(pooler)
    assert (revision.state, revision.cause) == (RevisionState.APPLIED, "rollback to 1")
    assert revision.summary.startswith("sales is new · stock is removed · orders: ")
    assert live() == was
    assert (log_in("orders"), log_in("sales")) == ("app", "app")
    assert set(Pool.objects.values_list("pk", "state")) == {(pk, PoolState.APPLIED) for pk in (orders.pk, sales_id)}
    assert revision.specs == first.specs


def test_a_rollbacks_cause_is_not_given_to_later_changes(make_pool: MakePool, pooler: Pooler) -> None:
    pool = make_pool()
    first = deployment.apply_pooler(pooler)
    pool.edit(None, size=9, state=PoolState.PENDING)
    deployment.apply_pooler(pooler)
    rollback.roll_back(pooler, first)
    deployment.apply_pooler(pooler)
    pool.edit(None, size=5, state=PoolState.PENDING)
    later = deployment.apply_pooler(pooler)
    assert (later.cause, later.summary) == ("", "orders: size 3 → 5")


def test_settings_go_back_with_the_pools(make_pool: MakePool, pooler: Pooler, live: Live) -> None:
    make_pool()
    pooler.edit(None, settings={"query_wait_timeout": 33}, settings_state=PoolState.PENDING)
    first = deployment.apply_pooler(pooler)
    assert (first.state, first.reason) == (RevisionState.APPLIED, "")
    pooler.edit(None, settings={"query_wait_timeout": 44}, settings_state=PoolState.PENDING)
    assert deployment.apply_pooler(pooler).summary == "query_wait_timeout 33 → 44"
    rollback.roll_back(pooler, first)
    assert deployment.apply_pooler(pooler).state == RevisionState.APPLIED
    pooler.refresh_from_db()
    assert (pooler.settings, pooler.settings_state) == ({"query_wait_timeout": 33}, PoolState.APPLIED)
