"""Creating, changing and removing pools of a cluster known from its last check (tests/live asks real ones)."""

from typing import Any
from uuid import uuid4

import pytest
from django.utils import timezone
from kombu.exceptions import OperationalError

from core.lib.private_text import for_admins
from pools import task_queue
from pools.errors import IllegalTransition, Stale
from pools.inventory import pools
from pools.inventory.pools import InvalidPool
from pools.models import Cluster, Mode, Pool, Pooler, PoolerKind, PoolState
from tests.pools.conftest import Asked
from tests.pools.records import a_cluster, a_pool, a_pooler, checked, know_password

pytestmark = pytest.mark.django_db


@pytest.fixture
def cluster() -> Cluster:
    """Down now; 97 connections at its last check, and the password of `app` is known."""
    made = a_cluster(name="demo")
    checked(made)
    know_password(made, "app", "app-secret")
    return made


@pytest.fixture
def pooler() -> Pooler:
    return a_pooler(name="edge")


@pytest.fixture
def typed(cluster: Cluster, pooler: Pooler) -> dict[str, Any]:
    return {"name": "orders", "pooler": pooler, "cluster": cluster, "database": "shop", "user": "app", "size": 10}


def errors(values: dict[str, Any]) -> dict[str, list[str]]:
    """What is said of values that are refused; nothing may have changed."""
    before = list(Pool.objects.values())
    with pytest.raises(InvalidPool) as refused:
        pools.create(values)
    assert list(Pool.objects.values()) == before
    return refused.value.errors


def test_a_pool_is_saved_pending_and_its_pooler_asked(typed: dict[str, Any], asked: Asked) -> None:
    pool = pools.create(typed | {"settings": {"min_pool_size": 2}})
    assert Pool.objects.get() == pool
    assert (pool.name, pool.database, pool.user, pool.mode, pool.size) == ("orders", "shop", "app", "transaction", 10)
    assert (pool.state, pool.settings, pool.version) == (PoolState.PENDING, {"min_pool_size": 2}, 1)
    assert asked() == [str(typed["pooler"].pk)]


def test_pooler_and_cluster_may_be_given_by_id(typed: dict[str, Any]) -> None:
    pool = pools.create(typed | {"pooler": typed["pooler"].pk, "cluster": str(typed["cluster"].pk)})
    assert (pool.pooler, pool.cluster) == (typed["pooler"], typed["cluster"])


@pytest.mark.parametrize("given", [None, "", "not an id", uuid4()])
def test_pooler_and_cluster_have_to_be_registered(typed: dict[str, Any], given: Any) -> None:
    assert errors(typed | {"pooler": given, "cluster": given}) == {
        "pooler": ["choose a pooler that is registered"],
        "cluster": ["choose a cluster that is registered"],
    }


def test_the_queue_may_be_down(
    typed: dict[str, Any], monkeypatch: pytest.MonkeyPatch, django_capture_on_commit_callbacks: Any
) -> None:
    def refuse(name: str, pooler_id: str, user_id: int | None) -> None:
        raise OperationalError("connection refused")

    monkeypatch.setattr(task_queue, "send", refuse)
    with django_capture_on_commit_callbacks(execute=True):
        pool = pools.create(typed)
    assert Pool.objects.unsettled().get() == pool


def test_a_name_is_taken_once_per_pooler(typed: dict[str, Any]) -> None:
    a_pool(name="orders", pooler=typed["pooler"])
    assert errors(typed) == {
        "name": ["there is already a pool named 'orders' on pooler edge: choose another name"],
    }
    assert pools.create(typed | {"pooler": a_pooler()}).name == "orders"


def test_a_pool_that_waits_for_its_removal_is_replaced(typed: dict[str, Any]) -> None:
    leaving = a_pool(name="orders", pooler=typed["pooler"], cluster=typed["cluster"])
    pools.remove(leaving)
    made = pools.create(typed)
    assert [pool.pk for pool in Pool.objects.all()] == [made.pk]


def test_over_budget_names_the_figures(typed: dict[str, Any]) -> None:
    a_pool(cluster=typed["cluster"], size=40)
    assert errors(typed | {"size": 60}) == {
        "size": ["size 60 is over the budget of cluster demo: 97 available, 40 allocated to pools, 57 free"]
    }
    assert pools.create(typed | {"size": 57}).size == 57


def test_a_cluster_whose_budget_is_unknown_takes_any_size(typed: dict[str, Any]) -> None:
    unknown = a_cluster()
    know_password(unknown, "app", "app-secret")
    assert pools.create(typed | {"cluster": unknown, "size": 5000}).state == PoolState.PENDING


def test_an_unknown_database_or_role_is_refused_from_the_last_check(typed: dict[str, Any]) -> None:
    where = "on cluster demo at the last check"
    assert errors(typed | {"database": "nope", "user": "nobody"}) == {
        "database": [f"there is no database 'nope' {where} (it has postgres, shop): create it or choose another"],
        "user": [f"there is no role 'nobody' {where} (it has app, postgres): create it or choose another"],
    }
    assert errors(typed | {"user": "nologin"}) == {
        "user": [f"role 'nologin' may not log in {where}: give it LOGIN or choose another"]
    }


def test_a_role_whose_password_is_not_known_is_refused(typed: dict[str, Any]) -> None:
    typed["cluster"].role_passwords.all().delete()
    assert errors(typed) == {
        "user_password": ["the password of role 'app' on cluster demo is not known: enter it"],
    }


def test_a_password_that_cannot_be_tried_is_refused_and_not_repeated(typed: dict[str, Any]) -> None:
    ((field, (message,)),) = errors(typed | {"user_password": "typed-secret"}).items()
    assert field == "user_password"
    assert for_admins(message).startswith(
        "the password could not be tried: connection refused: nothing listens at 127.0.0.1:1"
    )
    assert "typed-secret" not in message


def test_a_password_that_poolers_misread_is_refused(typed: dict[str, Any]) -> None:
    typed["cluster"].role_passwords.all().delete()
    know_password(typed["cluster"], "app", "md5" + "0" * 32)
    assert errors(typed) == {
        "user_password": [
            "the password looks like a stored hash and poolers would read it as one: give it in clear",
        ]
    }


def test_the_admins_password_is_kept_with_the_cluster(typed: dict[str, Any]) -> None:
    assert pools.create(typed | {"user": "postgres", "user_password": "admin-secret"}).user == "postgres"
    assert errors(typed | {"name": "other", "user": "postgres", "user_password": "another"}) == {
        "user_password": ["'postgres' is the admin login of cluster demo: change its password there"]
    }


def test_the_inbound_user_needs_no_password(typed: dict[str, Any]) -> None:
    pool = pools.create(typed | {"user": "", "user_password": "typed for nobody"})
    assert (pool.user, pool.login) == ("", "postgres")
    assert [known.role for known in pool.cluster.role_passwords.all()] == ["app"]


@pytest.mark.parametrize("theirs", ["app", ""])
def test_one_role_name_has_one_password_behind_a_pooler(typed: dict[str, Any], theirs: str) -> None:
    other = a_cluster(name="other", admin_user="app", admin_password="other-secret")
    a_pool(name="theirs", cluster=other, pooler=typed["pooler"], user=theirs)
    assert errors(typed) == {
        "user": [
            "role 'app' has another password on cluster other, which is behind the same pooler, and a pooler has "
            "one list of users: give both the same password, or use another role or pooler"
        ]
    }
    other.admin_password = "app-secret"
    other.save()
    assert pools.create(typed).name == "orders"


def test_the_consoles_login_is_in_the_poolers_list_of_users_too(typed: dict[str, Any]) -> None:
    typed["pooler"].admin_user = "app"
    typed["pooler"].admin_password = "console-secret"
    assert errors(typed) == {
        "user": [
            "'app' is also the console login of pooler edge, with another password, and a pooler has one list of "
            "users: use another role"
        ]
    }


def test_pgpool_starts_in_session_mode(typed: dict[str, Any]) -> None:
    pgpool = a_pooler(pcp_port=1, kind=PoolerKind.PGPOOL)
    assert pools.create(typed | {"pooler": pgpool, "name": "shop"}).mode == Mode.SESSION
    assert "mode" in errors(typed | {"pooler": pgpool, "name": "shop", "mode": "transaction"})


def test_a_change_is_pending_again_in_place(typed: dict[str, Any], asked: Asked) -> None:
    pool = a_pool(**typed, state=PoolState.APPLIED, state_reason="old")
    changed = pools.change(pool, {"size": 20, "mode": "session"}, 1)
    stored = Pool.objects.get()
    assert (stored.pk, stored.size, stored.mode, stored.database) == (pool.pk, 20, "session", "shop")
    assert (stored.state, stored.state_reason, stored.version) == (PoolState.PENDING, "", 2)
    assert changed.version == 2
    assert asked() == [str(pool.pooler_id)]


def test_a_stale_change_is_refused_and_writes_nothing(typed: dict[str, Any]) -> None:
    pool = a_pool(**typed)
    pools.change(pool, {"size": 20}, 1)
    with pytest.raises(Stale):
        pools.change(pool, {"size": 30}, 1)
    assert Pool.objects.get().size == 20


def test_a_pool_stays_on_its_pooler_and_cluster(typed: dict[str, Any]) -> None:
    pool = a_pool(**typed)
    elsewhere = {"pooler": a_pooler(name="far"), "cluster": a_cluster(name="away")}
    with pytest.raises(InvalidPool) as refused:
        pools.change(pool, elsewhere, 1)
    assert refused.value.errors == {
        "pooler": ["a pool stays on its pooler edge: make a new pool on far, then remove this one"],
        "cluster": ["a pool stays on its cluster demo: make a new pool on away, then remove this one"],
    }


def test_a_pool_may_grow_into_what_is_free_beside_itself(typed: dict[str, Any]) -> None:
    a_pool(cluster=typed["cluster"], size=40)
    pool = a_pool(**typed)
    with pytest.raises(InvalidPool) as refused:
        pools.change(pool, {"size": 58}, 1)
    assert refused.value.errors == {
        "size": ["size 58 is over the budget of cluster demo: 97 available, 40 allocated to other pools, 57 free"]
    }
    assert pools.change(pool, {"size": 57}, 1).size == 57


def test_a_pool_may_shrink_though_the_budget_shrank_below_it(typed: dict[str, Any]) -> None:
    pool = a_pool(**typed | {"size": 80})
    checked(typed["cluster"], max_connections=20)
    assert pools.change(pool, {"size": 60}, 1).size == 60
    assert pools.change(pool, {"mode": "session"}, 2).mode == "session"
    with pytest.raises(InvalidPool):
        pools.change(pool, {"size": 61}, 3)


def test_a_pool_may_be_renamed_but_not_onto_another(typed: dict[str, Any]) -> None:
    pool = a_pool(**typed)
    a_pool(name="taken", pooler=typed["pooler"])
    a_pool(name="leaving", pooler=typed["pooler"], removal_requested_at=timezone.now())
    with pytest.raises(InvalidPool, match="there is already a pool named 'taken'"):
        pools.change(pool, {"name": "taken"}, 1)
    assert pools.change(pool, {"name": "leaving"}, 1).name == "leaving"
    assert sorted(Pool.objects.values_list("name", flat=True)) == ["leaving", "taken"]


def test_removing_is_a_wish_that_can_be_repeated(typed: dict[str, Any], asked: Asked) -> None:
    pool = a_pool(**typed, state=PoolState.APPLIED)
    pools.remove(pool)
    first = pool.removal_requested_at
    pools.remove(pool)
    assert (pool.removal_requested_at, pool.state, pool.version) == (first, PoolState.PENDING, 2)
    assert first is not None
    assert set(asked()) == {str(pool.pooler_id)}
    with pytest.raises(IllegalTransition, match="pool orders is being removed: create a new one of that name"):
        pools.change(pool, {"size": 1}, None)
