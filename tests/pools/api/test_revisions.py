"""The REST API of revisions and of rollbacks."""

import pytest

from pools.deployment import snapshots
from pools.models import Pooler, PoolState, Revision, RevisionState
from tests.callers import anonymous, bearer
from tests.pools.conftest import Asked
from tests.pools.records import a_pool, a_pooler

pytestmark = pytest.mark.django_db


@pytest.fixture
def pooler() -> Pooler:
    """A pooler with two applied revisions and one that was refused."""
    pooler = a_pooler(name="front")
    pool = a_pool(pooler=pooler, name="orders", size=3, state=PoolState.APPLIED)
    for size in (3, 7):
        pool.edit(None, size=size)
        text = f"[databases]\norders = password='word{size}' pool_size={size}\n"
        made = Revision.objects.draft(pooler, {"pooldeck.ini": text}, specs=snapshots.snapshot(pooler))
        made.finish(RevisionState.APPLIED)
    Revision.objects.draft(pooler, {}).finish(RevisionState.ROLLED_BACK, "no")
    return pooler


def url(pooler: Pooler, rest: str) -> str:
    return f"/api/v1/poolers/{pooler.pk}/{rest}"


def test_one_revision_reads_with_masked_files_and_its_diff(pooler: Pooler) -> None:
    read = bearer("read").get(url(pooler, "revisions/2/")).json()
    assert (read["number"], read["state"], read["against"]) == (2, "applied", 1)
    assert read["files"] == [{"name": "pooldeck.ini", "content": "[databases]\norders = password=•••• pool_size=7\n"}]
    assert read["wishes"]["pools"][0]["size"] == 7
    (diff,) = read["diff"]
    assert diff["text"].splitlines() == [
        "--- pooldeck.ini",
        "+++ pooldeck.ini",
        "@@ -1,2 +1,2 @@",
        " [databases]",
        "-orders = password=•••• pool_size=3",
        "+orders = password=•••• pool_size=7",
        "\\ secret changed",
    ]


def test_it_is_compared_with_any_other(pooler: Pooler) -> None:
    read = bearer("read").get(url(pooler, "revisions/1/?against=2")).json()
    assert (read["against"], read["diff"][0]["added"]) == (2, 1)


@pytest.mark.parametrize("rest", ["revisions/99/", "revisions/1/?against=99", "revisions/1/?against=x"])
def test_what_is_not_there_is_not_found(pooler: Pooler, rest: str) -> None:
    assert bearer("read").get(url(pooler, rest)).status_code == 404


def test_a_rollback_is_asked_for(pooler: Pooler, asked: Asked) -> None:
    answer = bearer("apply").post(url(pooler, "rollback/"), {"revision": 1})
    assert (answer.status_code, answer.json()["number"]) == (202, 1)
    pool = pooler.pools.get()
    assert (pool.size, pool.state, asked()) == (3, PoolState.PENDING, [str(pooler.pk)])


@pytest.mark.parametrize(
    ("body", "status"), [({}, 400), ({"revision": "x"}, 400), ({"revision": 99}, 404), ({"revision": 3}, 400)]
)
def test_a_bad_rollback_is_refused(pooler: Pooler, body: dict[str, object], status: int) -> None:
    assert bearer().post(url(pooler, "rollback/"), body).status_code == status
    assert pooler.pools.get().state == PoolState.APPLIED


def test_who_may_not_may_not(pooler: Pooler) -> None:
    assert bearer("read").post(url(pooler, "rollback/"), {"revision": 1}).status_code == 403
    assert anonymous().post(url(pooler, "rollback/"), {"revision": 1}).status_code == 401
    assert anonymous().get(url(pooler, "revisions/1/")).status_code == 401
    assert bearer().get(url(pooler, "rollback/")).status_code == 405
    assert bearer().post(url(pooler, "revisions/1/")).status_code == 405
