"""What a revision is rendered from, and what is told of its changes."""

import json

import pytest

from pools.deployment import snapshots
from pools.models import PoolState, Revision, RevisionState
from tests.pools.records import a_cluster, a_pool, a_pooler

pytestmark = pytest.mark.django_db


def test_a_snapshot_holds_pools_settings_and_users() -> None:
    pooler = a_pooler(settings={"max_client_conn": 500}, user_settings={"app": {"pool_mode": "session"}})
    pool = a_pool(pooler=pooler, name="orders", size=3)
    held = dict(snapshots.snapshot(pooler))
    (record,) = held.pop("pools")
    assert held == {
        "settings": {"max_client_conn": 500},
        "user_settings": {"app": {"pool_mode": "session"}},
        "files": {},
        "processes": 1,
    }
    assert (record["id"], record["name"], record["size"], record["cluster_id"], record["cluster_name"]) == (
        str(pool.pk),
        "orders",
        3,
        str(pool.cluster_id),
        pool.cluster.name,
    )


def test_each_line_is_the_json_of_its_pool_however_alike_they_are() -> None:
    first = a_pool(name="orders", size=3)
    more = [
        {"size": 3},
        {"size": 4},
        {"size": 3, "user": 'a "quoted" rôle'},
        {"size": 3, "settings": {"reserve_pool": 1}},
    ]
    pools = [first, *(a_pool(pooler=first.pooler, name=f"more{at}", **values) for at, values in enumerate(more))]
    pools.append(a_pool(pooler=first.pooler, name="other", size=3, cluster=a_cluster(name="second")))
    lines = snapshots.snapshot(first.pooler).lines
    assert lines == {pool.key: json.dumps(snapshots.of_pool(pool)) for pool in pools}
    assert len(lines) == 6


def test_a_pool_to_be_removed_is_not_part_of_it() -> None:
    pool = a_pool(removal_requested_at="2026-01-01T00:00:00Z")
    assert snapshots.snapshot(pool.pooler)["pools"] == []


def test_what_was_rolled_back_is_kept_as_it_is_live() -> None:
    pooler = a_pooler(settings={"max_client_conn": 100})
    pool = a_pool(pooler=pooler, size=3)
    live = Revision.objects.draft(pooler, {}, specs=snapshots.snapshot(pooler))
    live.finish(RevisionState.APPLIED)
    pool.edit(None, size=9, state=PoolState.ROLLED_BACK)
    pooler.edit(None, settings={"max_client_conn": 7}, settings_state=PoolState.FAILED)
    assert snapshots.snapshot(pooler) == live.specs


def test_a_pool_that_never_was_live_is_not_part_of_it() -> None:
    pool = a_pool(state=PoolState.ROLLED_BACK)
    assert snapshots.snapshot(pool.pooler)["pools"] == []


def test_changes_are_told_one_by_one() -> None:
    before = {
        "pools": [
            {"id": "1", "name": "orders", "size": 3, "settings": {"reserve_pool": 1}},
            {"id": "2", "name": "sales"},
        ],
        "settings": {"max_client_conn": 100, "verbose": 1},
        "files": {"auth_hba_file": "2026-01-01"},
    }
    after = {
        "pools": [{"id": "1", "name": "orders", "size": 7, "settings": {}}, {"id": "3", "name": "stock"}],
        "settings": {"max_client_conn": 200},
        "files": {"auth_hba_file": "2026-01-02"},
    }
    assert list(snapshots.changes(before, after)) == [
        "stock is new",
        "sales is removed",
        "orders: size 3 → 7",
        "orders: reserve_pool left out",
        "verbose left out",
        "max_client_conn 100 → 200",
        "file auth_hba_file replaced",
    ]


def test_the_summary_of_many_changes_stays_one_line() -> None:
    after = {"pools": [{"id": str(number), "name": f"pool{number}"} for number in range(10_000)]}
    described = snapshots.summary({}, after)
    assert len(described) <= snapshots.LONGEST_SUMMARY
    assert described.startswith("pool0 is new · pool1 is new")
    assert described.endswith(f" · {10_000 - described.count(' is new')} more changes")
    assert snapshots.summary(after, {"pools": []}).endswith(" more changes")
    assert snapshots.summary(after, after) == "nothing"
