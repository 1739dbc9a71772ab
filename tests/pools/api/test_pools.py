"""The REST API of pools, without a pooler; with one: tests/live/test_api.py."""

import logging
import uuid

import pytest
from django.utils import timezone

from pools.models import Pool, PoolState
from tests.callers import anonymous, bearer, queries_of
from tests.pools.api.conftest import make_cluster, make_pool, make_pooler
from tests.waiting import meanwhile

pytestmark = pytest.mark.django_db
URL = "/api/v1/pools/"


def url_of(pool):
    return f"{URL}{pool.pk}/"


@pytest.fixture
def values(cluster, pooler):
    return {"name": "app", "pooler": pooler.pk, "cluster": cluster.pk, "database": "app", "mode": "session", "size": 20}


def test_a_pool_is_saved_as_a_wish_though_its_pooler_is_down(admin, values, pooler):
    answer = admin.post(URL, values)
    assert answer.status_code == 201
    made = answer.json()
    assert (made["state"], made["mode"], made["size"], made["user"], made["settings"]) == (
        "pending", "session", 20, "", {}
    )  # fmt: skip
    assert made["connection"] == {
        "host": "127.0.0.1",
        "port": pooler.port,
        "database": "app",
        "user": "",
        "uri": f"postgresql://127.0.0.1:{pooler.port}/app",
    }
    assert admin.get(f"{URL}{made['id']}/").json() == made


def test_over_budget_names_the_figures_and_saves_nothing(admin, values):
    answer = admin.post(URL, values | {"size": 98})
    assert answer.status_code == 400
    assert list(answer.json()) == ["size"]
    assert "98" in answer.json()["size"][0]
    assert "97" in answer.json()["size"][0]
    assert not Pool.objects.exists()


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"name": "no space"}, "name"),
        ({"name": "pgbouncer"}, "name"),
        ({"name": "x" * 64}, "name"),
        ({"size": 0}, "size"),
        ({"size": -1}, "size"),
        ({"size": "many"}, "size"),
        ({"mode": "magic"}, "mode"),
        ({"database": "missing"}, "database"),
        ({"user": "missing"}, "user"),
        ({"settings": []}, "settings"),
        ({"settings": {"no_such_setting": 1}}, "settings"),
        ({"pooler": str(uuid.uuid4())}, "pooler"),
        ({"cluster": "no-id"}, "cluster"),
    ],
)
def test_bad_values_are_named_by_field_and_nothing_is_saved(admin, values, change, field):
    answer = admin.post(URL, values | change)
    assert answer.status_code == 400
    assert list(answer.json()) == [field]
    assert not Pool.objects.exists()


def test_a_name_is_taken_once_per_pooler(admin, values, pool):
    answer = admin.post(URL, values)
    assert (answer.status_code, list(answer.json())) == (400, ["name"])
    assert admin.post(URL, values | {"pooler": make_pooler("other").pk}).status_code == 201


def test_an_edit_in_place_makes_it_a_wish_again(admin, pool):
    answer = admin.patch(url_of(pool), {"size": 30, "version": 1})
    assert answer.status_code == 200
    assert (answer.json()["size"], answer.json()["state"], answer.json()["version"]) == (30, "pending", 2)
    stale = admin.patch(url_of(pool), {"size": 40, "version": 1})
    assert stale.status_code == 409
    assert admin.get(url_of(pool)).json()["size"] == 30


def test_put_replaces_the_wish(admin, pool, values):
    answer = admin.put(url_of(pool), values | {"size": 5})
    assert (answer.status_code, answer.json()["size"], answer.json()["mode"]) == (200, 5, "session")
    assert admin.put(url_of(pool), {"size": 5}).status_code == 400


def test_a_pool_does_not_move_to_another_pooler(admin, pool):
    answer = admin.patch(url_of(pool), {"pooler": make_pooler("other").pk})
    assert (answer.status_code, list(answer.json())) == (400, ["pooler"])


def test_a_removed_pool_is_gone_from_the_api_at_once(admin, pool):
    assert admin.delete(url_of(pool)).status_code == 204
    assert admin.get(url_of(pool)).status_code == 404
    assert admin.delete(url_of(pool)).status_code == 404
    assert admin.get(URL).json()["count"] == 0
    assert Pool.objects.get().removal_requested_at is not None


def test_connection_strings_hide_the_password_unless_an_admin_asks(admin, pool, caplog):
    pool.cluster.keep_password("app", "app-secret")
    Pool.objects.update(user="app")
    hidden = admin.get(f"{url_of(pool)}connection/", {"as": "keywords"}).json()
    assert hidden == {"as": "keywords", "text": f"host=127.0.0.1 port={pool.pooler.port} dbname=app user=app"}
    with caplog.at_level(logging.INFO):
        shown = admin.get(f"{url_of(pool)}connection/", {"reveal": "1"}).json()
    assert shown == {"as": "uri", "text": f"postgresql://app:app-secret@127.0.0.1:{pool.pooler.port}/app"}
    assert f"password of pool {pool.pk}" in caplog.text
    assert "app-secret" not in caplog.text
    assert bearer("read", "run", "apply").get(f"{url_of(pool)}connection/", {"reveal": "1"}).status_code == 403
    assert bearer("read").get(f"{url_of(pool)}connection/").status_code == 200


def test_a_pool_of_the_inbound_user_is_told_for_the_role_that_is_asked_for(admin, pool):
    pool.cluster.keep_password("app", "app-secret")
    described = {
        role: admin.get(f"{url_of(pool)}connection/", {"reveal": "1", "role": role}).json()["text"].rpartition("@")[0]
        for role in ("", "app", "postgres", "a b")
    }
    assert described == {
        "": "postgresql://YOUR_ROLE",
        "app": "postgresql://app:app-secret",
        "postgres": "postgresql://postgres",
        "a b": "postgresql://a%20b",
    }
    refused = admin.get(f"{url_of(pool)}connection/", {"role": "a\x00b"})
    assert (refused.status_code, list(refused.json())) == (400, ["role"])
    assert admin.get(url_of(pool)).json()["connection"]["user"] == ""


def test_an_unknown_format_names_those_there_are(admin, pool):
    answer = admin.get(f"{url_of(pool)}connection/", {"as": "fax"})
    assert answer.status_code == 400
    assert "uri" in answer.json()["as"][0]


def test_wrong_methods_strangers_wrong_scopes_and_missing_ids(admin, pool, values):
    assert admin.delete(URL).status_code == 405
    assert admin.post(f"{url_of(pool)}connection/").status_code == 405
    for path in (URL, url_of(pool), f"{url_of(pool)}connection/"):
        assert anonymous().get(path).status_code == 401
    weak = bearer("read", "run")
    assert weak.post(URL, values).status_code == 403
    for method in ("put", "patch", "delete"):
        assert getattr(weak, method)(url_of(pool)).status_code == 403
    assert bearer("apply").patch(url_of(pool), {"size": 11}).status_code == 200
    assert admin.get(f"{URL}{uuid.uuid4()}/").status_code == 404
    assert admin.get(f"{URL}no-id/connection/").status_code == 404


def test_lists_are_filtered_and_hold_no_pool_that_is_leaving(admin, cluster, pooler):
    make_pool(cluster, pooler, "one", state=PoolState.PENDING)
    other = make_pool(make_cluster("elsewhere"), pooler, "two")
    make_pool(cluster, pooler, "leaving", removal_requested_at=timezone.now())
    assert [row["name"] for row in admin.get(URL).json()["results"]] == ["one", "two"]
    assert admin.get(URL, {"state": "pending"}).json()["count"] == 1
    assert admin.get(URL, {"cluster": other.cluster_id}).json()["results"][0]["name"] == "two"
    assert admin.get(URL, {"search": "elsewh"}).json()["count"] == 1
    assert admin.get(URL, {"cluster": "no-id"}).status_code == 400


def test_pages_neither_repeat_nor_miss_rows_that_are_equal(admin, cluster):
    made = {str(make_pool(cluster, make_pooler(f"front-{number}"), "same").pk) for number in range(5)}
    for ordering in ({}, {"ordering": "-size"}):
        pages = [admin.get(URL, {"page_size": 2, "page": page, **ordering}).json()["results"] for page in (1, 2, 3)]
        assert [len(page) for page in pages] == [2, 2, 1]
        assert {row["id"] for page in pages for row in page} == made


def test_the_number_of_queries_does_not_grow_with_the_pools(admin, cluster, pooler):
    make_pool(cluster, pooler, "one", user="app")
    one = queries_of(admin, URL)
    make_pool(cluster, make_pooler("second"), "two", user="app")
    make_pool(make_cluster("elsewhere"), pooler, "three")
    assert queries_of(admin, URL) == one


def applied_meanwhile(monkeypatch, **found):
    """Let a worker write these fields of all pools between two reads of a waiting request."""
    meanwhile(monkeypatch, lambda: Pool.objects.update(**found))


def test_wait_answers_once_the_pool_is_settled(admin, values, monkeypatch):
    applied_meanwhile(monkeypatch, state=PoolState.APPLIED)
    made = admin.post(f"{URL}?wait=30", values)
    assert (made.status_code, made.json()["state"]) == (201, "applied")
    pool = Pool.objects.get()
    assert admin.get(url_of(pool), {"wait": 30}).json() == made.json()
    applied_meanwhile(monkeypatch, state=PoolState.ROLLED_BACK, state_reason="refused")
    changed = admin.patch(f"{url_of(pool)}?wait=30", {"size": 30}).json()
    assert (changed["size"], changed["state"], changed["state_reason"]) == (30, "rolled_back", "refused")


def test_wait_answers_after_the_time_with_what_there_is(admin, values):
    assert admin.post(f"{URL}?wait=0.2", values).json()["state"] == "pending"
    assert admin.get(url_of(Pool.objects.get()), {"wait": "0.2"}).json()["state"] == "pending"


@pytest.mark.parametrize("wait", ["61", "-1", "soon", "nan", "inf"])
def test_an_impossible_wait_is_refused_before_anything_is_saved(admin, values, wait):
    answer = admin.post(f"{URL}?wait={wait}", values)
    assert (answer.status_code, list(answer.json())) == (400, ["wait"])
    assert not Pool.objects.exists()


def test_a_pool_that_is_removed_while_it_is_waited_for_is_404(admin, pool, monkeypatch):
    Pool.objects.update(state=PoolState.PENDING)
    meanwhile(monkeypatch, lambda: Pool.objects.all().delete())
    assert admin.get(url_of(pool), {"wait": 30}).status_code == 404


def test_a_pool_refused_before_it_was_ever_live_has_no_connection_string(admin, cluster, pooler):
    pool = make_pool(cluster=cluster, pooler=pooler, name="orders", state=PoolState.FAILED, state_reason="it has one")
    assert admin.get(url_of(pool)).json()["connection"]["uri"] == ""
    answer = admin.get(f"{url_of(pool)}connection/")
    assert (answer.status_code, answer.json()) == (
        409,
        {"detail": "pool orders was refused before it was ever live: it has one"},
    )
