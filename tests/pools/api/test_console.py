"""The console's verbs and words over the API; real consoles are in tests/live/pools/console."""

import uuid

import pytest
from rest_framework.test import APIClient

from pools.models import Pool
from pools.poolers.pgbouncer.driver import PgBouncer
from tests.callers import anonymous, bearer
from tests.pools.consoles import FakeControls

pytestmark = pytest.mark.django_db
VERBS = ("pause", "resume", "reconnect", "disable", "enable", "kill")
TYPED = {"kill": {"confirm": "app"}}


@pytest.fixture
def console(monkeypatch):
    fake = FakeControls()
    monkeypatch.setattr(PgBouncer, "controls", lambda self, pooler: fake.opened())
    return fake


def url_of(pool, verb):
    return f"/api/v1/pools/{pool.pk}/{verb}/"


@pytest.mark.parametrize("verb", VERBS)
def test_a_verb_answers_what_was_read_back(pool, console, verb):
    console.paused, console.disabled = verb == "resume", verb == "enable"
    answer = bearer("read", "apply").post(url_of(pool, verb), TYPED.get(verb))
    assert answer.status_code == 200, answer.json()
    read = answer.json()
    assert read.pop("detail")
    assert (read.pop("paused_until") is not None) is (verb == "pause")
    assert read == {"paused": verb == "pause", "disabled": verb == "disable"}
    assert console.done[0] == verb


def test_a_pause_takes_its_times_and_is_remembered(pool, console):
    answer = bearer().post(url_of(pool, "pause"), {"deadline_s": 2, "hold_s": 600})
    until = Pool.objects.get().paused_until
    assert answer.json()["paused_until"] == until.isoformat().replace("+00:00", "Z")
    assert bearer().get(f"/api/v1/pools/{pool.pk}/").json()["paused_until"] == answer.json()["paused_until"]


def test_a_blocked_pause_is_a_conflict_that_names_the_blockers(pool, console):
    console.busy = True
    answer = bearer().post(url_of(pool, "pause"), {"deadline_s": 2})
    assert answer.status_code == 409
    assert answer.json() == {
        "detail": "pool app could not be paused in 2 s and was resumed: 1 blocker",
        "blockers": [
            {
                "user": "app",
                "application": "batch",
                "address": "10.0.0.9:4711",
                "state": "active",
                "connected_at": "2026-11-20 14:00:00 UTC",
                "requested_at": "2026-11-20 14:01:00 UTC",
                "server_pid": 4242,
                "activity": "",
                "query": "",
                "transaction_s": None,
                "process": "",
            }
        ],
    }


@pytest.mark.parametrize(
    ("verb", "body", "field"),
    [
        ("pause", {"deadline_s": 0}, "deadline_s"),
        ("pause", {"hold_s": "long"}, "hold_s"),
        ("kill", {}, "confirm"),
        ("kill", {"confirm": "App"}, "confirm"),
        ("kill", {"confirm": "app", "hold_s": -1}, "hold_s"),
    ],
)
def test_bad_input_is_named_by_field_and_nothing_is_sent(pool, console, verb, body, field):
    answer = bearer().post(url_of(pool, verb), body)
    assert (answer.status_code, list(answer.json()), console.done) == (400, [field], [])


def test_a_pooler_that_is_down_is_a_bad_gateway_and_nothing_stays_written(pool):
    answer = bearer().post(url_of(pool, "pause"))
    assert answer.status_code == 502
    assert "refused" in answer.json()["detail"]
    assert Pool.objects.get().paused_until is None


@pytest.mark.parametrize("verb", VERBS)
def test_who_may_not_and_what_is_not_there(pool, console, verb):
    def status(client: APIClient, method: str = "post") -> int:
        return getattr(client, method)(url_of(pool, verb)).status_code

    assert (status(anonymous()), status(bearer("read", "run"))) == (401, 403)
    assert status(bearer(), "get") == 405
    assert bearer().post(f"/api/v1/pools/{uuid.uuid4()}/{verb}/", TYPED.get(verb)).status_code == 404
    assert console.done == []


def test_one_client_is_disconnected_by_what_identifies_it(pool, console):
    body = {"number": "17", "connected_at": "2026-11-20 14:00:00 UTC"}
    answer = bearer("apply").post(url_of(pool, "kill-client"), body)
    assert (answer.status_code, answer.json()) == (200, {"detail": "Client 17 is disconnected from pool app."})
    assert console.done == ["kill_client"]


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"number": "17", "connected_at": "2026-11-20 15:00:00 UTC"}, 404),  # a later one with the same number
        ({"number": "17; SHUTDOWN", "connected_at": "2026-11-20 14:00:00 UTC"}, 400),
        ({"number": "17"}, 400),
    ],
)
def test_a_client_that_is_not_named_exactly_stays(pool, console, body, status):
    assert bearer("apply").post(url_of(pool, "kill-client"), body).status_code == status
    assert console.done == []


def test_each_release_has_its_own_words(admin, pooler):
    unknown = admin.get(f"/api/v1/poolers/{pooler.pk}/show/peers/")
    assert unknown.status_code == 404
    assert "'peers' is not shown by PgBouncer: use one of pools, stats" in unknown.json()["detail"]
    assert admin.get(f"/api/v1/poolers/{pooler.pk}/show/fds/").status_code == 404
    assert admin.get(f"/api/v1/poolers/{pooler.pk}/show/mem/").status_code == 502
