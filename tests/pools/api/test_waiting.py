"""How many requests may be held open at once, by one caller and by all."""

import pytest
from django.utils import timezone

from core.accounts import held_requests, waits
from core.accounts.credentials import Credential
from core.accounts.held_requests import OpenRequest
from core.accounts.models import ApiToken
from pools.models import Pool, PoolState
from tests import openapi
from tests.callers import bearer, person
from tests.pools.api.test_pools import URL, url_of, values  # noqa: F401 (a fixture)
from tests.waiting import meanwhile as act_meanwhile

FULL = SHARE_TAKEN = (503, "5")


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

        def once():
            act_meanwhile(monkeypatch, lambda: Pool.objects.update(state=PoolState.APPLIED))
            found.extend(ask())

        act_meanwhile(monkeypatch, once)
        return found

    return do


def test_one_user_gets_half_of_the_places(pool, meanwhile):
    Pool.objects.update(state=PoolState.PENDING)
    user, url = person(), f"{url_of(pool)}?wait=30"
    key = held_requests.enter(OpenRequest(Credential(user.pk), is_wait=True))
    found = meanwhile(lambda: [bearer("read", user=user).get(url), bearer("read").get(url)])
    try:
        assert bearer("read", user=user).get(url).status_code == 200
    finally:
        held_requests.leave(key)
    assert [answer_of(answer) for answer in found] == [SHARE_TAKEN, (200, None)]
    assert bearer("read", user=user).get(url).status_code == 200
    assert held_requests._held == {}


def test_no_place_is_left_when_all_are_taken_and_nothing_is_done(admin, values, monkeypatch):  # noqa: F811 (a fixture)
    others = {number: OpenRequest(Credential(-number), is_wait=True) for number in range(4)}
    monkeypatch.setattr(held_requests, "_held", others)
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


def test_a_token_has_a_share_of_its_users(pool, settings):
    settings.WAITS, settings.STREAMS_PER_TOKEN = 40, 2
    Pool.objects.update(state=PoolState.PENDING)
    user, url = person(), f"{url_of(pool)}?wait=0.1"
    client, other = bearer("read", user=user), bearer("read", user=user)
    token = ApiToken.objects.filter(user=user).earliest("created_at")
    keys = [
        held_requests.enter(OpenRequest(Credential(user.pk, token_id=token.pk))) for _ in range(2)
    ]  # streams count too
    try:
        assert (answer_of(client.get(url)), answer_of(other.get(url))) == (SHARE_TAKEN, (200, None))
        assert client.get(url_of(pool)).status_code == 200  # without waiting
    finally:
        for key in keys:
            held_requests.leave(key)


def test_a_place_whose_client_went_away_too_early_is_free_after_its_time(pool, settings):
    settings.WAITS = 1
    held_requests.enter(OpenRequest(Credential(-1), is_wait=True, counts_until=0.0))
    assert bearer("read").get(f"{url_of(pool)}?wait=1").status_code == 200


@pytest.mark.parametrize("ending", ["revoked_at", "expires_at"])
def test_a_token_that_ends_is_told_so_while_it_waits(pool, monkeypatch, ending):
    Pool.objects.update(state=PoolState.PENDING)
    monkeypatch.setattr(waits, "REVIEW_EVERY_S", 0.0)
    act_meanwhile(monkeypatch, lambda: ApiToken.objects.update(**{ending: timezone.now()}))
    answer = bearer("read").get(f"{url_of(pool)}?wait=30")
    refused = {"detail": "the token is unknown, expired or revoked"}
    assert (answer.status_code, answer.json()) == (401, refused)
    assert held_requests._held == {}


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
