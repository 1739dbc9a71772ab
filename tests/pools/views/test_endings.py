"""The pages that ask before a session or a client is ended; real ones are ended in tests/live/pools/diagnosis."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import cast

import pytest
from django.db import transaction
from django.test import Client
from django.urls import reverse

from core.audit.connections import RecordingConnection
from pools.console import client_end
from pools.diagnosis import diagnosis, ending
from pools.diagnosis.ending import EndedSession, NotEnded, SessionGone
from pools.models import PoolerState
from pools.poolers.pgbouncer.driver import PgBouncer
from pools.views import endings
from tests.pages import page_of
from tests.pools.consoles import CLIENT, FakeControls
from tests.pools.diagnosis.test_causes import LEFT_OPEN
from tests.pools.records import a_cluster, a_pool, a_pooler, an_entry

STARTED = datetime(2026, 11, 20, 14, 0, 0, 123456, tzinfo=UTC)
BEGAN = datetime(2026, 11, 20, 14, 1, 0, 654321, tzinfo=UTC)
BLOCKER = replace(LEFT_OPEN, pid=4242, application="batch", backend_start=STARTED, transaction_start=BEGAN)
QUERY = f"started={STARTED.isoformat().replace('+', '%2B')}&next=/pools/"
KILL = "?connected=2026-11-20%2014:00:00%20UTC"


@pytest.fixture
def sent(monkeypatch):
    """What was asked of the server, where the session is the blocker."""
    found = []

    def end(place, confirmed):
        found.append(confirmed)
        return EndedSession(confirmed.pid, True, "Process 4242 is gone, and its transaction is rolled back.")

    monkeypatch.setattr(ending, "find", lambda place, pid, started: BLOCKER)
    monkeypatch.setitem(endings.ENDINGS, "terminate", replace(endings.ENDINGS["terminate"], act=end))
    return found


def url_of(cluster, word="terminate", query=QUERY):
    return f"{reverse('session-end', args=[cluster.pk, 4242, word])}?{query}"


def test_a_look_names_the_session_and_what_will_happen_and_ends_nothing(staff, sent):
    page = page_of(staff.get(url_of(a_cluster())))
    for told in ("4242", "batch", "app", "open for", "its transaction is rolled back"):
        assert told in page, told
    assert sent == []


def test_what_was_confirmed_is_sent_and_told_where_one_came_from(staff, sent):
    answer = staff.post(url_of(a_cluster()), {"start": BEGAN.isoformat()}, follow=True)
    assert answer.redirect_chain == [("/pools/", 302)]
    assert [str(one) for one in answer.context["messages"]] == [
        "Process 4242 is gone, and its transaction is rolled back."
    ]
    assert sent == [ending.ConfirmedSession(4242, STARTED, BEGAN, checks_start=True)]


@pytest.mark.parametrize(("error", "status"), [(NotEnded("it is another"), 409), (SessionGone("it has ended"), 404)])
def test_a_refusal_is_told_on_the_page(staff, sent, monkeypatch, error, status):
    def refuse(place, confirmed):
        raise error

    monkeypatch.setitem(endings.ENDINGS, "terminate", replace(endings.ENDINGS["terminate"], act=refuse))
    answer = staff.post(url_of(a_cluster()), {"start": ""})
    assert (answer.status_code, str(error) in page_of(answer)) == (status, True)


@pytest.mark.parametrize("kept", ["superuser", "other_role", "own", "no_client"])
def test_one_that_is_kept_has_no_button_and_says_why(staff, sent, monkeypatch, kept):
    monkeypatch.setattr(ending, "find", lambda place, pid, started: replace(BLOCKER, kept=kept))
    page = staff.get(url_of(a_cluster())).content.decode()
    assert "Terminate the session</button>" not in page
    assert "process 4242" in page


def test_what_no_session_is_named_by_is_not_there(staff, sent):
    cluster = a_cluster()
    assert staff.get(url_of(cluster, query="started=now")).status_code == 404
    assert staff.get(url_of(cluster, "murder")).status_code == 404
    assert staff.get(url_of(cluster, query=f"started={STARTED.isoformat()[:19]}Z&node=99")).status_code == 404


def test_it_leads_back_to_no_other_site(staff, sent):
    cluster = a_cluster()
    for address in ("https://example.org/pools/", "//example.org/pools/", "/logout/"):
        answer = staff.post(url_of(cluster, query=f"started={STARTED.isoformat()[:19]}Z&next={address}"))
        assert answer.url == reverse("cluster-insights", args=[cluster.pk])


def test_readers_and_strangers_end_nothing(reader, sent):
    address = url_of(a_cluster())
    assert [reader.get(address).status_code, reader.post(address).status_code] == [403, 403]
    assert Client().post(address).url.startswith("/login/?next=")
    assert sent == []


@pytest.fixture
def console(monkeypatch):
    fake = FakeControls()
    monkeypatch.setattr(PgBouncer, "controls", lambda self, pooler: fake.opened())
    monkeypatch.setattr(
        diagnosis, "of", lambda target: diagnosis.Diagnosis(target.name, STARTED, "", diagnosis.Finding("", ""))
    )
    return fake


@pytest.fixture(params=["pool", "entry"])
def orders(request, db):
    online = {"state": PoolerState.ONLINE, "port": 1}
    if request.param == "pool":
        return a_pool(name="orders", pooler=a_pooler(**online))
    return an_entry(name="orders", pooler=a_pooler(config_dir="", **online))


def kill_of(target, number=17):
    noun = "pool" if target._meta.model_name == "pool" else "entry"
    return reverse(f"{noun}-client-kill", args=[target.pk, number]) + KILL


def test_a_client_is_named_and_disconnected(staff, console, orders):
    page = page_of(staff.get(kill_of(orders)))
    assert "batch" in page
    assert "holds its locks until then" in page
    assert console.done == []
    answer = staff.post(kill_of(orders), {}, follow=True)
    assert "Client 17 is disconnected from pool orders." in page_of(answer)
    assert console.done == ["kill_client"]
    kept = [one.entry for one in cast("RecordingConnection", transaction.get_connection()).kept]
    assert [one.outcome for one in kept if one.action == "pool.kill_client"] == ["asked for", "done"]


def test_a_console_that_does_nothing_is_told(staff, console, orders, monkeypatch):
    monkeypatch.setattr(client_end, "READ_BACK_S", 0.0)
    console.deaf = True
    answer = staff.post(kill_of(orders), {})
    assert (answer.status_code, "is still connected" in page_of(answer)) == (409, True)


def test_a_number_of_another_client_is_not_there(staff, console, orders):
    answer = staff.post(kill_of(orders, 18), {})
    assert (answer.status_code, console.done) == (404, [])
    later = kill_of(orders).replace("14:00:00", "15:00:00")
    assert staff.post(later, {}).status_code == 404
    assert console.done == []
    assert CLIENT.number == "17"
