"""What an attempt reads of the pools: all of those that changed, and of the others only what it needs."""

import json
import zlib
from base64 import b64encode, b85encode
from typing import Any, cast

import pytest
from pytest_django import DjangoAssertNumQueries

from core.lib import crypto
from pools.deployment import attempt, snapshots
from pools.deployment.attempt import Attempt, DesiredState, count_unsettled
from pools.models import Pool, PoolState, Revision, RevisionState
from tests.pools import records

pytestmark = pytest.mark.django_db


@pytest.fixture
def live(db: None) -> Revision:
    """A live revision of two settled pools."""
    pooler, cluster = records.a_pooler(), records.a_cluster()
    for name in ("orders", "sales"):
        records.a_pool(pooler=pooler, cluster=cluster, name=name, state=PoolState.APPLIED)
    revision = Revision.objects.draft(pooler, {}, specs=snapshots.snapshot(pooler))
    revision.finish(RevisionState.APPLIED)
    return revision


def test_settled_pools_are_read_without_their_fields_and_held_as_they_are_live(live: Revision) -> None:
    pooler = live.pooler
    Pool.objects.get(name="sales").edit(None, size=9, state=PoolState.PENDING)
    asked = DesiredState.of(pooler, live)
    assert [(pool.name, "database" in pool.get_deferred_fields()) for pool in asked.pools] == [
        ("orders", True),
        ("sales", False),
    ]
    orders, sales = live.specs["pools"]
    assert snapshots.snapshot(pooler, asked.pools, live.specs)["pools"] == [orders, sales | {"size": 9}]
    assert next(iter(asked.pools)).database == orders["database"]  # what else is asked of it is read then


def test_a_pool_that_the_live_revision_does_not_know_is_read_whole(live: Revision) -> None:
    records.a_pool(pooler=live.pooler, cluster=Pool.objects.first().cluster, name="new", state=PoolState.APPLIED)
    asked = DesiredState.of(live.pooler, live)
    assert "database" not in {pool.name: pool.get_deferred_fields() for pool in asked.pools}["new"]
    assert len(snapshots.snapshot(live.pooler, asked.pools, live.specs)["pools"]) == 3


def test_pools_of_a_busy_cluster_stay_as_they_are_live(live: Revision) -> None:
    Pool.objects.get(name="sales").edit(None, size=9, state=PoolState.PENDING)
    busy = {Pool.objects.first().route}
    asked = DesiredState.of(live.pooler, live, busy)
    assert asked.changed == []
    assert snapshots.snapshot(live.pooler, asked.pools, live.specs) == live.specs
    assert Pool.objects.get(name="sales").state == PoolState.PENDING


def test_pools_to_standbys_do_not_wait_for_the_primary(live: Revision) -> None:
    sales = Pool.objects.get(name="sales")
    busy = {sales.route}
    sales.edit(None, target="standby", state=PoolState.PENDING)
    assert (DesiredState.of(live.pooler, live, busy).changed, count_unsettled(live.pooler, busy)) == ([sales], 1)
    assert count_unsettled(live.pooler, {*busy, sales.route}) == 0


def test_logins_and_refusals_in_turn_are_written_together(
    live: Revision, monkeypatch: pytest.MonkeyPatch, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    monkeypatch.setattr(attempt, "SHOWN_EVERY_S", 0)
    monkeypatch.setattr(attempt, "ALIKE_EVERY_S", float("inf"))
    asked, none = DesiredState.of(live.pooler, live), cast("Any", None)
    assert asked.pooler.take_apply_lock()
    made = Attempt(asked, none, Revision.objects.draft(live.pooler, {}), none)
    words = ["logged in", "stranger refused"]
    for word in words:
        made.step(word)
    with django_assert_num_queries(0):
        for word in words * 3:
            made.step(word)
    with django_assert_num_queries(2):  # another kind renews the lease and is written, with all before it
        made.step("noted")
    made.revision.refresh_from_db()
    assert [one["step"] for one in made.revision.steps] == [*words * 4, "noted"]


def test_what_earlier_releases_sealed_can_still_be_read(live: Revision) -> None:
    texts = {"pooldeck.ini": "[databases]\n"}
    plain = json.dumps(texts)
    short = zlib.compress(plain.encode())
    for packed in (plain, b85encode(short).decode(), f"zlib:{b64encode(short).decode()}"):
        old = Revision.objects.get(pk=live.pk)
        old.content.sealed_files = crypto.seal(packed, old.secret_owner)
        assert old.files == texts
