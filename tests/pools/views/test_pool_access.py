"""The page and the API of who may log in to pools, without a PgBouncer that answers; the rest is in tests/live."""

import pytest
from django.urls import reverse

from pools.models import Pool, PoolerKind
from tests import callers
from tests.pages import page_of
from tests.pools.records import a_cluster, a_pool, a_pooler

KNOWN = {
    "users": [{"name": "app"}, {"name": "pgbouncer"}, {"name": "tenant"}],
    "clients": [{"database": "orders", "user": "looked-up"}],
}


@pytest.fixture
def opened(db, monkeypatch):
    """A pool that is open to all, on a PgBouncer that knows another user and has a third one connected."""
    pool = a_pool(name="orders", user="app", allowed_users="*")
    monkeypatch.setattr("pools.poolers.pgbouncer.driver.PgBouncer.show", lambda _self, _pooler, word: KNOWN[word])
    return pool


def test_strangers_are_led_to_the_login_and_readers_refused(client, reader, opened):
    address = reverse("pooler-access", args=[opened.pooler_id])
    assert client.get(address).status_code == 302
    assert reader.get(address).status_code == 403
    assert reader.post(address).status_code == 403


def test_only_a_pgbouncer_has_the_page(staff, db):
    pgpool = a_pooler(kind=PoolerKind.PGPOOL, port=1, pcp_port=1)
    assert staff.get(reverse("pooler-access", args=[pgpool.pk])).status_code == 404


def test_the_page_lists_who_would_be_refused_and_restricts(staff, opened):
    address = reverse("pooler-access", args=[opened.pooler_id])
    page = page_of(staff.get(address))
    assert "looked-up, tenant" in page
    assert address in page_of(staff.get(reverse("pooler-detail", args=[opened.pooler_id])))
    assert staff.post(address).status_code == 302
    opened.refresh_from_db()
    assert (opened.allowed_users, opened.state) == ("", "pending")
    assert "lets in only its own user" in page_of(staff.get(address))


def test_the_page_says_why_nothing_is_listed(staff, db):
    pool = a_pool(user="app", allowed_users="*")
    answer = staff.get(reverse("pooler-access", args=[pool.pooler_id]))
    assert (answer.status_code, "The pooler did not list its users" in page_of(answer)) == (502, True)


def test_the_api_lists_and_asks_for_the_poolers_name(opened):
    address = f"/api/v1/poolers/{opened.pooler_id}/"
    assert callers.bearer("read").get(f"{address}access/").data == {
        "open_pools": [
            {
                "pool": str(opened.pk),
                "name": "orders",
                "user": "app",
                "refused": ["looked-up", "tenant"],
                "connected": ["looked-up"],
            }
        ],
        "obstacle": "",
    }
    assert callers.bearer("read").post(f"{address}restrict-pools/", {"confirm": "x"}).status_code == 403
    token = callers.bearer("read", "apply")
    assert token.post(f"{address}restrict-pools/", {"confirm": "x"}).status_code == 400
    assert token.post(f"{address}restrict-pools/", {"unknown": "x"}).status_code == 400
    done = token.post(f"{address}restrict-pools/", {"confirm": opened.pooler.name})
    assert (done.status_code, done.data) == (202, {"pools": [opened.pk]})


@pytest.mark.parametrize(
    ("given", "kept"), [([], ""), (["b", "a", "b"], "a\nb"), (["*"], "*"), (["we\"ird, n'ame"], "we\"ird, n'ame")]
)
def test_names_are_kept_and_answered_as_a_list(db, given, kept):
    pool = a_pool(user="")
    answer = callers.bearer("read", "apply").patch(f"/api/v1/pools/{pool.pk}/", {"allowed_users": given})
    pool.refresh_from_db()
    assert (answer.status_code, pool.allowed_users) == (200, kept)
    assert answer.data["allowed_users"] == sorted({*given})


@pytest.mark.parametrize("given", [["*", "b"], ["a\nb\0"], ["x" * 64], "app", [""]])
def test_names_that_no_role_has_are_refused(opened, given):
    answer = callers.bearer("read", "apply").patch(f"/api/v1/pools/{opened.pk}/", {"allowed_users": given})
    assert (answer.status_code, list(answer.data)) == (400, ["allowed_users"])


def test_other_kinds_let_in_a_pools_own_user_only(db):
    pgpool = a_pooler(kind=PoolerKind.PGPOOL, port=1, pcp_port=1)
    spec = {
        "pooler": str(pgpool.pk),
        "cluster": str(a_cluster().pk),
        "database": "app",
        "user": "app",
        "mode": "session",
    }
    answer = callers.bearer("read", "apply").post("/api/v1/pools/", spec | {"name": "app", "allowed_users": ["b"]})
    assert (answer.status_code, "is not a PgBouncer" in answer.data["allowed_users"][0]) == (400, True)
    assert not Pool.objects.exists()
