"""Pools under /v2/, without a pooler; with one: tests/live/v2."""

import logging

import pytest

from pools.models import Pool, PoolState
from tests.callers import bearer, queries_of
from tests.pools.api.conftest import make_cluster, make_pool, make_pooler
from tests.pools.managed_api.conftest import url_of
from tests.pools.managed_api.schema import check

pytestmark = pytest.mark.django_db

# what godo sends, every time: the keys that a user left out are empty, not absent
FROM_GODO = {"user": "", "name": "web", "size": 5, "db": "app", "mode": "transaction"}


def error_of(answer):
    """Id and message of an answer whose shape is the provider's."""
    found = check("error", answer.json())
    assert found["request_id"] == answer["x-request-id"]
    return found["id"], found["message"]


def test_a_pool_is_answered_once_it_is_applied(admin, cluster, pooler, worker):
    answer = admin.post(url_of(cluster, "/pools"), FROM_GODO | {"user": "app"})
    assert answer.status_code == 201
    connection = {
        "protocol": "postgresql",
        "uri": f"postgresql://app:app-secret@127.0.0.1:{pooler.port}/web",
        "database": "web",
        "host": "127.0.0.1",
        "port": pooler.port,
        "user": "app",
        "password": "app-secret",
        "ssl": False,
    }
    assert check("pool", answer.json())["pool"] == {
        "name": "web",
        "user": "app",
        "db": "app",
        "mode": "transaction",
        "size": 5,
        "connection": connection,
        "private_connection": connection,
    }
    assert Pool.objects.get().state == PoolState.APPLIED
    assert admin.get(url_of(cluster, "/pools/web")).json() == answer.json()


def test_an_empty_user_is_the_inbound_user(admin, cluster, pooler, worker):
    made = admin.post(url_of(cluster, "/pools"), FROM_GODO).json()["pool"]
    assert (made["user"], made["connection"]["user"], made["connection"]["password"]) == ("", "", "")
    assert made["connection"]["uri"] == f"postgresql://127.0.0.1:{pooler.port}/web"


def test_a_uri_demands_tls_where_the_pooler_does(admin, cluster, pool):
    pool.pooler.settings = {"client_tls_sslmode": "require"}
    pool.pooler.save()
    found = admin.get(url_of(cluster, "/pools/orders")).json()["pool"]["connection"]
    assert (found["ssl"], found["uri"].endswith("?sslmode=require")) == (True, True)


def test_a_list_is_whole_on_page_1(admin, cluster, pooler):
    for number in range(25):
        make_pool(cluster, pooler, f"pool-{number:02}", size=1)
    found = check("pools", admin.get(url_of(cluster, "/pools"), {"page": 1, "per_page": 200}).json())
    assert (len(found["pools"]), found["meta"], found["links"]) == (25, {"total": 25}, {"pages": {}})
    assert len(admin.get(url_of(cluster, "/pools"), {"per_page": 20}).json()["pools"]) == 25
    assert admin.get(url_of(cluster, "/pools"), {"page": 2, "per_page": 20}).json()["pools"] == []


def test_a_list_takes_as_many_queries_for_three_pools_as_for_one(admin, cluster, pool):
    one = queries_of(admin, url_of(cluster, "/pools"))
    for name in ("second", "third"):
        make_pool(cluster, pool.pooler, name, user="app")
    assert queries_of(admin, url_of(cluster, "/pools")) == one


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"name": "with/slash"}, "with/slash"),
        ({"name": ""}, "name"),
        ({"name": 7}, "7"),
        ({"mode": "magic"}, "magic"),
        ({"mode": None}, "mode"),
        ({"size": 0}, "0 is not a pool size"),
        ({"size": "many"}, "many"),
        ({"size": True}, "True"),
        ({"size": None}, "size"),
        ({"size": 98}, "98"),
        ({"db": "missing"}, "missing"),
        ({"user": "missing"}, "missing"),
    ],
)
def test_bad_values_are_422_and_named(admin, cluster, pooler, worker, change, words):
    answer = admin.post(url_of(cluster, "/pools"), FROM_GODO | change)
    assert answer.status_code == 422
    error, message = error_of(answer)
    assert error == "unprocessable_entity"
    assert words in message
    assert not Pool.objects.exists()


def test_over_budget_names_the_figures(admin, cluster, pooler, worker):
    _error, message = error_of(admin.post(url_of(cluster, "/pools"), FROM_GODO | {"size": 98}))
    assert "97 available" in message


@pytest.mark.parametrize("given", ["[]", '"text"', "{", ""])
def test_a_body_that_is_no_object_is_refused(admin, cluster, pooler, given):
    answer = admin.post(url_of(cluster, "/pools"), given, content_type="application/json")
    assert answer.status_code == (400 if given else 422)
    error_of(answer)


def test_a_name_is_taken_once(admin, cluster, pool, worker):
    answer = admin.post(url_of(cluster, "/pools"), FROM_GODO | {"name": "orders"})
    assert (answer.status_code, error_of(answer)[0]) == (409, "conflict")
    assert "'orders'" in error_of(answer)[1]


def test_a_name_of_another_cluster_on_the_same_pooler_is_taken_too(admin, cluster, pool, worker):
    other = make_cluster("other")
    make_pool(other, pool.pooler, "elsewhere")
    assert admin.post(url_of(other, "/pools"), FROM_GODO | {"name": "orders"}).status_code == 409
    assert admin.get(url_of(other, "/pools/orders")).status_code == 404


def test_a_refused_pool_leaves_nothing_behind(admin, cluster, pooler, worker):
    worker.refuse("the login through it failed")
    answer = admin.post(url_of(cluster, "/pools"), FROM_GODO)
    assert answer.status_code == 422
    assert "the login through it failed" in error_of(answer)[1]
    assert not Pool.objects.exists()


def test_a_pool_that_no_worker_applies_in_time_is_withdrawn(admin, cluster, pooler, worker):
    worker.stop()
    answer = admin.post(url_of(cluster, "/pools"), FROM_GODO)
    assert (answer.status_code, error_of(answer)[0]) == (503, "server_error")
    assert not Pool.objects.wanted().exists()
    worker.stop("the pooler's files were edited by hand")
    answer = admin.post(url_of(cluster, "/pools"), FROM_GODO)
    assert answer.status_code == 409  # a client that retries 5xx would wait in vain
    assert "edited by hand" in error_of(answer)[1]


def test_a_change_leaves_absent_keys_alone(admin, cluster, pool, worker):
    answer = admin.put(url_of(cluster, "/pools/orders"), {"size": 9, "mode": "session", "db": "app"})
    assert (answer.status_code, answer.content) == (204, b"")
    pool.refresh_from_db()
    assert (pool.user, pool.mode, pool.size, pool.database) == ("app", "session", 9, "app")
    assert admin.put(url_of(cluster, "/pools/orders"), {"size": 8, "mode": None, "user": None}).status_code == 204
    pool.refresh_from_db()
    assert (pool.user, pool.mode, pool.size) == ("app", "session", 8)


def test_an_empty_user_in_a_change_is_the_inbound_user(admin, cluster, pool, worker):
    assert admin.put(url_of(cluster, "/pools/orders"), {"user": ""}).status_code == 204
    pool.refresh_from_db()
    assert pool.user == ""


def test_a_changed_mode_is_logged(admin, cluster, pool, worker, caplog):
    with caplog.at_level(logging.WARNING):
        admin.put(url_of(cluster, "/pools/orders"), {"size": 9, "mode": "transaction"})
    assert "from session to transaction mode" in caplog.text


def test_a_refused_change_restores_the_values(admin, cluster, pool, worker):
    worker.refuse("the pooler is unwell")
    answer = admin.put(url_of(cluster, "/pools/orders"), {"size": 9})
    assert answer.status_code == 422
    assert "the pooler is unwell" in error_of(answer)[1]
    assert admin.get(url_of(cluster, "/pools/orders")).json()["pool"]["size"] == 10


def test_a_change_over_budget_is_422(admin, cluster, pool, worker):
    answer = admin.put(url_of(cluster, "/pools/orders"), {"size": 500})
    assert answer.status_code == 422
    assert "500" in error_of(answer)[1]


def test_the_second_delete_is_404(admin, cluster, pool, worker):
    address = url_of(cluster, "/pools/orders")
    assert [admin.delete(address).status_code for _ in range(2)] == [204, 404]
    answer = admin.get(address)
    assert (answer.status_code, error_of(answer)[0]) == (404, "not_found")
    assert admin.put(address, {"size": 3}).status_code == 404


def test_a_name_with_a_slash_is_not_found(admin, cluster, pool):
    for address in ("/pools/with/slash", "/pools/with%2Fslash"):
        answer = admin.get(url_of(cluster, address))
        assert (answer.status_code, error_of(answer)[0]) == (404, "not_found")


def test_of_several_poolers_the_one_with_the_clusters_pools_is_taken(admin, cluster, pool, worker):
    make_pooler("another")
    assert admin.post(url_of(cluster, "/pools"), FROM_GODO).status_code == 201
    assert Pool.objects.get(name="web").pooler == pool.pooler


def test_without_any_hint_the_pooler_is_asked_for(admin, cluster, pooler, worker):
    make_pooler("another")
    answer = admin.post(url_of(cluster, "/pools"), FROM_GODO)
    assert answer.status_code == 422
    assert "another, front" in error_of(answer)[1]


def test_a_token_that_may_change_pools_sees_no_passwords(cluster, pool, worker):
    client = bearer("read", "apply")
    made = client.post(url_of(cluster, "/pools"), FROM_GODO | {"user": "app"})
    assert made.status_code == 201
    assert "app-secret" not in made.content.decode()
    assert made.json()["pool"]["connection"]["password"] == ""
    assert "app-secret" not in client.get(url_of(cluster, "/pools")).content.decode()


def test_only_a_pool_that_clients_can_not_use_says_its_state(admin, cluster, pool):
    Pool.objects.update(state=PoolState.FAILING, state_reason="there is no database 'app'")
    shown = admin.get(url_of(cluster, f"/pools/{pool.name}")).json()["pool"]
    assert (shown["state"], shown["state_reason"]) == ("failing", "there is no database 'app'")
