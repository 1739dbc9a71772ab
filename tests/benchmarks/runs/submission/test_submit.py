"""What is refused before anything is saved, without a server; with servers: tests/live/benchmarks."""

import uuid

import pytest

from benchmarks.errors import InvalidOptions, InvalidTarget
from benchmarks.models import Run
from benchmarks.targets import resolve
from pools.errors import ClusterUnreachable
from pools.models import Pool, PoolState
from tests.benchmarks.submitting import submit_one
from tests.pools.api.conftest import make_cluster, make_pool, make_pooler

pytestmark = pytest.mark.django_db


@pytest.fixture
def cluster():
    return make_cluster()


@pytest.fixture
def pool(cluster):
    return make_pool(cluster, make_pooler())


def refused(target, **more):
    with pytest.raises(InvalidTarget) as refusal:
        submit_one(target=target, options={}, author=None, **more)
    assert Run.objects.count() == 0
    return refusal.value.errors


def test_a_target_is_needed():
    assert refused({}) == {"cluster": ["choose a cluster, or a pool"]}
    assert refused("the pool") == {"target": ['give {"pool": id} or {"cluster": id, "database": name}']}


def test_a_target_is_one_thing(cluster, pool):
    errors = refused({"cluster": str(cluster.pk), "database": "app", "pool": str(pool.pk)})
    assert errors == {"pool": ["give a pool or a cluster, not both"]}


@pytest.mark.parametrize("field", ["cluster", "pool"])
@pytest.mark.parametrize("given", ["x", 5, ["a"], {}, str(uuid.UUID(int=4))])
def test_ids_that_lead_nowhere_are_named(field, given):
    assert list(refused({field: given, "database": "app"})) in ([field], ["cluster"])


@pytest.mark.parametrize("database", [None, "", 5, ["x"], "a\x00b", "é" * 32])
def test_a_database_has_a_name(cluster, database):
    assert list(refused({"cluster": str(cluster.pk), "database": database})) == ["database"]


def test_an_unknown_field_of_the_target_is_named(cluster):
    errors = refused({"cluster": str(cluster.pk), "database": "app", "databse": "x"})
    assert errors == {"databse": ["unknown field of a target: use pool, cluster and database, entry, or external"]}


@pytest.mark.parametrize("state", [PoolState.PENDING, PoolState.FAILED, PoolState.ROLLED_BACK])
def test_a_pool_that_is_not_live_carries_no_load(pool, state):
    Pool.objects.update(state=state)
    assert refused({"pool": str(pool.pk)}) == {
        "pool": [f"pool app is not live ({state.label}): apply it first"],
    }


def test_a_pool_whose_password_the_panel_lacks_carries_no_load(pool):
    Pool.objects.update(user="stranger")
    assert refused({"pool": str(pool.pk)}) == {
        "pool": ["the panel does not know the password of role stranger: give it with a pool of that user"],
    }


def test_options_are_checked_before_any_server_is_asked(pool):
    with pytest.raises(InvalidOptions) as refusal:
        submit_one(target={"pool": str(pool.pk)}, options={"clients": 0, "speed": 9}, author=None)
    assert sorted(refusal.value.errors) == ["clients", "speed"]


@pytest.mark.parametrize(("field", "value"), [("engine", "abbench"), ("purpose", "import")])
def test_engine_and_purpose_are_known_words(pool, field, value):
    with pytest.raises(InvalidOptions) as refusal:
        submit_one(target={"pool": str(pool.pk)}, options={}, author=None, **{field: value})
    assert list(refusal.value.errors) == [field]


def test_a_cluster_that_can_not_be_asked_is_told_with_the_reason(pool):
    with pytest.raises(ClusterUnreachable, match="connection refused"):
        submit_one(target={"pool": str(pool.pk)}, options={}, author=None)
    assert Run.objects.count() == 0


def test_preparing_through_a_pool_goes_to_its_database_directly(pool, cluster):
    found = resolve.find({"pool": str(pool.pk)}, purpose="prepare")
    assert (found.cluster, found.database, found.pool) == (cluster, "app", None)


def test_a_run_whose_pool_was_removed_does_not_go_round_it(pool, cluster):
    run = Run.objects.enqueue(**resolve.find({"pool": str(pool.pk)}).fields())
    pool.delete()
    with pytest.raises(InvalidTarget, match="the pool app on front was removed"):
        resolve.endpoint_of(Run.objects.get(pk=run.pk))


def test_a_run_whose_cluster_was_removed_has_nowhere_to_go(cluster):
    run = Run.objects.enqueue(**resolve.find({"cluster": str(cluster.pk), "database": "app"}).fields())
    cluster.delete()
    with pytest.raises(InvalidTarget, match="the cluster of shop/app was removed"):
        resolve.endpoint_of(Run.objects.get(pk=run.pk))


def test_a_direct_run_logs_in_as_its_role(cluster):
    known = cluster.role_passwords.model(cluster=cluster, role="app")
    known.password = "of-app"
    known.save(force_insert=True)
    target = {"cluster": str(cluster.pk), "database": "app"}
    as_admin = Run.objects.enqueue(**resolve.find(target).fields())
    as_app = Run.objects.enqueue(**resolve.find(target | {"user": "app"}).fields())
    found = [resolve.endpoint_of(run) for run in (as_admin, as_app)]
    assert [(one.user, one.password) for one in found] == [("postgres", "cluster-secret"), ("app", "of-app")]
