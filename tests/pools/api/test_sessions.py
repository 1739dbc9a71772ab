"""Ending sessions over the API; real ones are ended in tests/live/pools/diagnosis."""

import uuid
from datetime import UTC, datetime

import pytest

from pools.api import sessions
from pools.diagnosis.ending import ConfirmedSession, EndedSession, NotEnded, SessionGone
from tests.callers import anonymous, bearer
from tests.pools.records import a_cluster

pytestmark = pytest.mark.django_db
VERBS = {"cancel-statement": "cancel", "terminate-session": "terminate"}
STARTED = datetime(2026, 11, 20, 14, 0, 0, 123456, tzinfo=UTC)
BODY = {"pid": 4242, "backend_start": "2026-11-20T14:00:00.123456Z"}


@pytest.fixture
def sent(monkeypatch):
    """What was asked of the server."""
    found = []

    def end(place, confirmed):
        found.append((str(place), confirmed))
        return EndedSession(confirmed.pid, True, "Process 4242 is gone.")

    for name in VERBS.values():
        monkeypatch.setattr(sessions.ending, name, end)
    return found


def url_of(cluster, verb):
    return f"/api/v1/clusters/{cluster.pk}/{verb}/"


@pytest.mark.parametrize("verb", VERBS)
def test_it_answers_what_was_read_back(sent, verb):
    cluster = a_cluster()
    answer = bearer("apply").post(url_of(cluster, verb), BODY)
    assert (answer.status_code, answer.json()) == (200, {"pid": 4242, "gone": True, "detail": "Process 4242 is gone."})
    assert sent == [(f"{cluster.host}:{cluster.port}", ConfirmedSession(4242, STARTED))]


@pytest.mark.parametrize(
    ("verb", "field"), [("cancel-statement", "statement_start"), ("terminate-session", "transaction_start")]
)
@pytest.mark.parametrize(("given", "start"), [(BODY["backend_start"], STARTED), (None, None)])
def test_the_start_that_was_looked_at_is_compared(sent, verb, field, given, start):
    bearer("apply").post(url_of(a_cluster(), verb), BODY | {field: given})
    assert [confirmed for _place, confirmed in sent] == [ConfirmedSession(4242, STARTED, start, checks_start=True)]


@pytest.mark.parametrize(("error", "status"), [(NotEnded("another"), 409), (SessionGone("has ended"), 404)])
def test_why_nothing_was_ended_is_told(monkeypatch, error, status):
    def refuse(place, confirmed):
        raise error

    monkeypatch.setattr(sessions.ending, "terminate", refuse)
    answer = bearer("apply").post(url_of(a_cluster(), "terminate-session"), BODY)
    assert (answer.status_code, answer.json()["detail"]) == (status, str(error))


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"pid": 4242}, "backend_start"),
        (BODY | {"pid": 0}, "pid"),
        (BODY | {"backend_start": "now"}, "backend_start"),
        (BODY | {"force": True}, "force"),
    ],
)
def test_bad_input_is_named_by_field_and_nothing_is_sent(sent, body, field):
    answer = bearer("apply").post(url_of(a_cluster(), "terminate-session"), body)
    assert (answer.status_code, list(answer.json()), sent) == (400, [field], [])


@pytest.mark.parametrize("verb", VERBS)
def test_who_may_not_and_what_is_not_there(sent, verb):
    cluster = a_cluster()
    assert anonymous().post(url_of(cluster, verb), BODY).status_code == 401
    assert bearer("read", "run").post(url_of(cluster, verb), BODY).status_code == 403
    assert bearer().get(url_of(cluster, verb)).status_code == 405
    assert bearer().post(f"/api/v1/clusters/{uuid.uuid4()}/{verb}/", BODY).status_code == 404
    assert bearer().post(url_of(cluster, verb), BODY | {"node": "99"}).status_code == 404
    assert sent == []
