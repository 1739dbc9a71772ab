"""How many requests may wait at once: each holds a thread and a session of the metadata database."""

import pytest

from core.lib import wait_param
from pools.models import Pool, PoolState
from tests import openapi
from tests.callers import bearer, person
from tests.pools.api.test_pools import URL, url_of, values  # noqa: F401 (a fixture)

FULL = 503, "5"


def answer_of(answer):
    return answer.status_code, answer.headers.get("Retry-After")


@pytest.fixture(autouse=True)
def few(settings):
    settings.WAITS = 4


@pytest.fixture
def meanwhile(monkeypatch):
    """What is done between two reads of a request that waits."""

    def do(ask):
        found = []

        def once(_seconds):
            monkeypatch.setattr(
                "core.lib.polling.draining.sleep", lambda _s: Pool.objects.update(state=PoolState.APPLIED)
            )
            found.extend(ask())

        monkeypatch.setattr("core.lib.polling.draining.sleep", once)
        return found

    return do


def test_one_user_gets_half_of_the_places(pool, meanwhile):
    Pool.objects.update(state=PoolState.PENDING)
    user, url = person(), f"{url_of(pool)}?wait=30"
    wait_param._waiting["another request"] = user.pk
    found = meanwhile(lambda: [bearer("read", user=user).get(url), bearer("read").get(url)])
    try:
        assert bearer("read", user=user).get(url).status_code == 200
    finally:
        wait_param._waiting.pop("another request")
    assert [answer_of(answer) for answer in found] == [FULL, (200, None)]
    assert bearer("read", user=user).get(url).status_code == 200
    assert wait_param._waiting == {}


def test_no_place_is_left_when_all_are_taken_and_nothing_is_done(admin, values, monkeypatch):  # noqa: F811 (a fixture)
    monkeypatch.setattr(wait_param, "_waiting", {number: f"user {number}" for number in range(4)})
    assert answer_of(admin.post(f"{URL}?wait=1", values)) == FULL
    assert not Pool.objects.exists()
    assert admin.post(URL, values).status_code == 201
    pool = Pool.objects.get()
    assert answer_of(admin.patch(f"{url_of(pool)}?wait=1", {"size": 3})) == FULL
    assert answer_of(admin.post(f"/api/v1/poolers/{pool.pooler_id}/apply/?wait=1", {})) == FULL
    refused = admin.put(f"/v2/databases/{pool.cluster_id}/pools/{pool.name}", {"mode": "session"})
    assert (*answer_of(refused), refused.json()["id"]) == (*FULL, "server_error")
    pool.refresh_from_db()
    assert (pool.size, pool.mode) == (values["size"], values["mode"])


@pytest.mark.django_db
def test_every_operation_that_waits_says_so():
    found = {
        f"{method} {path.removeprefix('/api/v1/')}"
        for path, operations in openapi.description()["paths"].items()
        for method, operation in operations.items()
        if any(one["name"] == "wait" for one in operation.get("parameters", []))
    }
    made = {f"post {name}/" for name in ("pools", "runs", "experiments")}
    read = {f"get {name}/{{id}}/" for name in ("pools", "runs", "experiments")}
    changed = {"put pools/{id}/", "patch pools/{id}/"}
    applied = {f"post poolers/{{id}}/{verb}/" for verb in ("apply", "take-over", "let-go")}
    assert found == made | read | changed | applied
