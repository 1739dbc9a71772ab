"""Rolling back: what a revision was made from is asked for again, as a whole or not at all."""

from typing import Any

import pytest

from pools.deployment import rollback, snapshots
from pools.deployment.rollback import CannotRollBack
from pools.models import NodeRole, Pool, Pooler, PoolerFile, PoolState, Revision, RevisionState
from tests.pools.conftest import Asked
from tests.pools.records import a_cluster, a_node, a_pool, a_pooler, an_entry, checked

pytestmark = pytest.mark.django_db


@pytest.fixture
def pooler() -> Pooler:
    """A PgBouncer 1.24 with settings of its own, applied."""
    return a_pooler(server_version="PgBouncer 1.24.1", settings={"max_client_conn": 100})


def applied(pooler: Pooler, **given: str) -> Revision:
    """An applied revision of what is asked for now."""
    pooler.pools.update(state=PoolState.APPLIED)
    revision = Revision.objects.draft(pooler, {}, specs=snapshots.snapshot(pooler), given=given)
    revision.finish(RevisionState.APPLIED)
    return revision


def fields(pool: Pool, *names: str) -> tuple[Any, ...]:
    pool.refresh_from_db()
    return tuple(getattr(pool, name) for name in names)


def test_a_changed_pool_becomes_pending_as_it_was(pooler: Pooler, asked: Asked) -> None:
    pool, kept = a_pool(pooler=pooler, name="orders", size=3), a_pool(pooler=pooler)
    first = applied(pooler)
    pool.edit(None, name="sales", size=9, mode="session", settings={"reserve_pool": 2}, state=PoolState.APPLIED)
    rollback.roll_back(pooler, first)
    assert fields(pool, "name", "size", "mode", "settings", "state", "version") == (
        "orders",
        3,
        "transaction",
        {},
        PoolState.PENDING,
        3,
    )
    assert fields(kept, "state", "version") == (PoolState.APPLIED, 1)
    assert (asked(), pooler.spec_cause) == ([str(pooler.pk)], "rollback to 1")


def test_a_removed_pool_comes_back_with_its_id_and_a_new_one_is_asked_to_leave(pooler: Pooler) -> None:
    gone = a_pool(pooler=pooler, name="orders")
    first = applied(pooler)
    gone_id, cluster = gone.pk, gone.cluster
    gone.delete()
    new = a_pool(pooler=pooler, name="orders", cluster=cluster)
    rollback.roll_back(pooler, first)
    assert fields(Pool.objects.get(pk=gone_id), "name", "state") == ("orders", PoolState.PENDING)
    assert fields(new, "state", "version") == (PoolState.PENDING, 2)
    assert new.removal_requested_at is not None


def test_swapped_names_are_swapped_back(pooler: Pooler) -> None:
    one, other = a_pool(pooler=pooler, name="a"), a_pool(pooler=pooler, name="b")
    first = applied(pooler)
    for pool, name in ((one, "c"), (other, "a"), (one, "b")):
        pool.edit(None, name=name)
    rollback.roll_back(pooler, first)
    assert (fields(one, "name"), fields(other, "name")) == (("a",), ("b",))


def test_settings_users_and_given_files_come_back(pooler: Pooler) -> None:
    first = applied(pooler, auth_hba_file="host all all all scram-sha-256\n")
    pooler.edit(None, settings={"max_client_conn": 7}, user_settings={"app": {"pool_mode": "session"}})
    later = PoolerFile(pooler=pooler, setting="auth_ident_file")
    later.content = "x"
    later.save()
    rollback.roll_back(pooler, first)
    pooler.refresh_from_db()
    assert (pooler.settings, pooler.user_settings) == ({"max_client_conn": 100}, {})
    assert pooler.settings_state == PoolState.PENDING
    given = {one.setting: one.content for one in pooler.given_files.all()}
    assert given == {"auth_hba_file": "host all all all scram-sha-256\n"}


def test_settings_that_are_live_as_they_were_are_left_alone(pooler: Pooler) -> None:
    first = applied(pooler)
    rollback.roll_back(pooler, first)
    pooler.refresh_from_db()
    assert pooler.settings_state == PoolState.APPLIED


def test_a_rollback_over_the_budget_changes_nothing(pooler: Pooler, asked: Asked) -> None:
    cluster = a_cluster(name="main")
    checked(cluster)
    pool = a_pool(pooler=pooler, cluster=cluster, size=90)
    first = applied(pooler)
    pool.edit(None, size=10, state=PoolState.APPLIED)
    a_pool(cluster=cluster, size=50)
    with pytest.raises(CannotRollBack, match="140 connections of cluster main, which has only 97"):
        rollback.roll_back(pooler, first)
    assert fields(pool, "size", "state") == (10, PoolState.APPLIED)
    assert asked() == []


def test_a_rollback_over_the_budget_of_the_standbys_changes_nothing(pooler: Pooler, asked: Asked) -> None:
    cluster = a_cluster(name="main")
    checked(cluster)
    a_node(cluster)
    pool = a_pool(pooler=pooler, cluster=cluster, size=90, target=NodeRole.STANDBY)
    first = applied(pooler)
    pool.edit(None, size=10, state=PoolState.APPLIED)
    a_pool(cluster=cluster, size=50, target=NodeRole.STANDBY)
    with pytest.raises(CannotRollBack, match="140 connections of each standby of cluster main, which has only 97"):
        rollback.roll_back(pooler, first)
    assert fields(pool, "size", "state") == (10, PoolState.APPLIED)
    assert asked() == []


def test_entries_that_are_not_managed_here_leave_less_to_a_rollback(pooler: Pooler, asked: Asked) -> None:
    cluster = a_cluster(name="main")
    checked(cluster)
    pool = a_pool(pooler=pooler, cluster=cluster, size=30)
    first = applied(pooler)
    pool.edit(None, size=10, state=PoolState.APPLIED)
    an_entry(cluster=cluster, user="app", size=80)
    with pytest.raises(CannotRollBack, match="30 connections of cluster main, which has only 17 for pools"):
        rollback.roll_back(pooler, first)
    assert fields(pool, "size") == (10,)


def with_processes(pooler: Pooler, count: int) -> Revision:
    """An applied revision with so many processes; the pooler has one again."""
    pooler.edit(None, desired_processes=count)
    revision = applied(pooler)
    pooler.edit(None, desired_processes=1, settings_state=PoolState.APPLIED)
    return revision


def test_the_processes_that_come_back_count_in_the_budget(pooler: Pooler, asked: Asked) -> None:
    cluster = a_cluster(name="main")
    checked(cluster)
    a_pool(pooler=pooler, cluster=cluster, size=20)
    revision = with_processes(pooler, 4)
    a_pool(cluster=cluster, size=50)
    with pytest.raises(CannotRollBack, match="130 connections of cluster main, which has only 97"):
        rollback.roll_back(pooler, revision)
    pooler.refresh_from_db()
    assert (pooler.desired_processes, pooler.settings_state, asked()) == (1, PoolState.APPLIED, [])


def test_the_processes_of_before_its_host_fetched_its_files_are_refused(pooler: Pooler, asked: Asked) -> None:
    revision = with_processes(pooler, 4)
    pooler.edit(None, delivery="pull")
    with pytest.raises(CannotRollBack, match="its host fetches the files, and starts as many of it as it needs"):
        rollback.roll_back(pooler, revision)
    pooler.refresh_from_db()
    assert (pooler.desired_processes, asked()) == (1, [])


def test_a_lost_cluster_and_a_setting_of_another_release_are_named(pooler: Pooler) -> None:
    pool = a_pool(pooler=pooler, name="orders")
    pooler.edit(None, settings={"max_prepared_statements": 100})
    first = applied(pooler)
    pooler.edit(None, server_version="PgBouncer 1.18.0", settings={})
    with pytest.raises(CannotRollBack, match=r"max_prepared_statements came with 1\.21"):
        rollback.roll_back(pooler, first)
    cluster, name = pool.cluster, pool.cluster.name
    pool.delete()
    cluster.delete()
    with pytest.raises(CannotRollBack, match=f"pool orders routed to cluster {name}, which is no longer registered"):
        rollback.roll_back(pooler, first)


@pytest.mark.parametrize("state", [RevisionState.ROLLED_BACK, RevisionState.FAILED])
def test_only_what_was_live_can_be_gone_back_to(pooler: Pooler, state: RevisionState) -> None:
    revision = Revision.objects.draft(pooler, {}, specs={"pools": []})
    revision.finish(state)
    with pytest.raises(CannotRollBack, match=r"never was live \(.*\): choose an applied one"):
        rollback.roll_back(pooler, revision)


def test_a_revision_of_before_wishes_were_kept_is_refused(pooler: Pooler) -> None:
    revision = Revision.objects.draft(pooler, {})
    revision.finish(RevisionState.APPLIED)
    with pytest.raises(CannotRollBack, match="choose a later one"):
        rollback.roll_back(pooler, revision)
