"""What waits for a lock goes on once its blocker is ended, from the page and the API, on real servers."""

import re
from collections.abc import Callable, Iterator
from datetime import datetime
from urllib.parse import unquote

import psycopg
import pytest
from django.test import Client as Browser

from core.audit.models import Entry
from panel.quickstart.servers import PostgresServer
from pools.clusters.topology import Place
from pools.console import client_end
from pools.diagnosis import ending
from pools.diagnosis.ending import ConfirmedSession, NotEnded, SessionGone
from pools.errors import ConsoleRefused, NotThere
from pools.models import Cluster, Pool
from tests.live.conftest import APP_DATABASE, APP_PASSWORD, APP_ROLE
from tests.live.pools.diagnosis.conftest import SIZE, Clients, Session
from tests.live.pools.diagnosis.test_causes import UPDATE

pytestmark = pytest.mark.django_db(transaction=True)
LINK = re.compile(r'href="(/clusters/[^"]+/sessions/\d+/(\w+)/\?[^"]+)"')
START = re.compile(r'name="start" value="([^"]*)"')
SERVICE = "ending_service"


@pytest.fixture
def blocker(clients: Clients, prepared: PostgresServer) -> Session:
    """A client of another pool whose open transaction has a lock."""
    session = clients.connect("other", "batch")
    session.execute(UPDATE)
    return session


@pytest.fixture
def waiting(clients: Clients, blocker: Session, registered: Callable[[str], Pool]) -> Pool:
    """A pool whose connections wait for that lock, and three clients for these."""
    clients.sending("locked", UPDATE, count=SIZE + 3)
    clients.wait_for(lambda: clients.waiting("locked") == 3)
    return registered("locked")


def acts(action: str) -> list[tuple[str, str]]:
    """The outcomes in the trail, each with the change."""
    return [(one.outcome, one.change) for one in Entry.objects.filter(action=action).order_by("number")]


def links_to(word: str, page: str) -> list[str]:
    return [address.replace("&amp;", "&") for address, found in LINK.findall(page) if found == word]


def test_the_blocker_is_ended_from_the_page_and_the_queue_is_gone(
    waiting: Pool, clients: Clients, blocker: Session, admin_client: Browser
) -> None:
    page = admin_client.get(f"/pools/{waiting.pk}/waiting/").content.decode()
    address = links_to("terminate", page)[0]  # that of the warning, which leads to the blocker
    question = admin_client.get(address).content.decode()
    for told in ("batch", APP_ROLE, APP_DATABASE, "UPDATE accounts", "its transaction is rolled back"):
        assert told in question
    start = START.findall(question)[0]
    answer = admin_client.post(address, {"start": start, "audit_reason": "blocks the shop"}, follow=True)
    assert answer.redirect_chain == [(f"/pools/{waiting.pk}/waiting/", 302)]
    assert "is gone, and its transaction is rolled back." in answer.content.decode()
    clients.wait_for(lambda: clients.waiting("locked") == 0)
    with pytest.raises(psycopg.OperationalError):
        blocker.execute("SELECT 1")
    asked, done = acts("cluster.terminate_session")
    assert (asked[0], done[0]) == ("asked for", "done")
    assert '"application": "batch"' in asked[1]
    assert "WHERE id = $" in asked[1]  # literals are data
    again = admin_client.get(address).content.decode()
    assert "has ended already: nothing was sent" in again


def test_a_transaction_that_is_another_by_now_is_left_alone(
    waiting: Pool, clients: Clients, blocker: Session, admin_client: Browser
) -> None:
    address = links_to("terminate", admin_client.get(f"/pools/{waiting.pk}/waiting/").content.decode())[0]
    start = START.findall(admin_client.get(address).content.decode())[0]
    blocker_pid = address.split("/sessions/")[1].split("/")[0]
    blocker.commit()
    clients.wait_for(lambda: clients.waiting("locked") == 0)
    blocker.execute("SELECT 'another transaction'")
    answer = admin_client.post(address, {"start": start})
    assert answer.status_code == 409
    outcomes = [outcome for outcome, _change in acts("cluster.terminate_session")]
    assert outcomes == [
        "asked for",
        f"failed: process {blocker_pid} does something else by now: nothing was sent, look at it again",
    ]
    assert "does something else by now: nothing was sent" in answer.content.decode()
    assert blocker.execute("SELECT 1").fetchone() == (1,)


def test_the_api_cancels_a_statement_and_the_session_stays(
    clients: Clients, registered: Callable[[str], Pool], prepared: PostgresServer, admin_client: Browser
) -> None:
    (client,) = clients.sending("slow", "SELECT pg_sleep(600)")
    pool = registered("slow")
    clients.wait_for(lambda: _held(admin_client, pool))
    found = admin_client.get(f"/api/v1/pools/{pool.pk}/waiting/").json()
    session = _held(admin_client, pool)[0]
    body = {name: session[name] for name in ("pid", "backend_start", "statement_start")} | {"node": found["node"]}
    address = f"/api/v1/clusters/{found['cluster']}/cancel-statement/"
    answer = admin_client.post(address, body, "application/json")
    assert (answer.status_code, answer.json()["gone"]) == (200, False)
    assert "the session is still there" in answer.json()["detail"]
    result = client.pgconn.get_result()
    assert result is not None
    assert b"canceling statement due to user request" in (result.error_message or b"")
    again = admin_client.post(address, body, "application/json")
    assert again.status_code == 409


def _held(browser: Browser, pool: Pool) -> list[dict[str, str]]:
    holders = browser.get(f"/api/v1/pools/{pool.pk}/waiting/").json()["holders"]
    return [one["session"] for one in holders if one["session"] and "pg_sleep" in one["session"]["query"]]


@pytest.fixture
def service(cluster: Cluster, prepared: PostgresServer) -> Iterator[Cluster]:
    """The cluster with a login that may signal others and see them, and is no superuser."""
    with prepared.connect() as session:
        session.execute(f"DROP ROLE IF EXISTS {SERVICE}")
        session.execute(f"CREATE ROLE {SERVICE} LOGIN PASSWORD 'service' IN ROLE pg_monitor, pg_signal_backend")
    cluster.admin_user, cluster.admin_password = SERVICE, "service"
    cluster.save(update_fields=["admin_user", "sealed_admin_password"])
    yield cluster
    with prepared.connect() as session:
        session.execute(f"DROP ROLE {SERVICE}")


def confirmed(session: "psycopg.Connection[tuple[object, ...]]") -> ConfirmedSession:
    query = "SELECT backend_start FROM pg_stat_activity WHERE pid = pg_backend_pid()"
    row = session.execute(query).fetchone()
    assert row
    assert isinstance(row[0], datetime)
    return ConfirmedSession(session.info.backend_pid, row[0])


def test_superusers_and_others_than_clients_are_refused(service: Cluster, prepared: PostgresServer) -> None:
    place = Place(service)
    login = {"host": prepared.host, "port": prepared.port, "dbname": APP_DATABASE, "user": APP_ROLE}
    login |= {"password": APP_PASSWORD}
    with prepared.connect() as superuser:
        with pytest.raises(NotEnded, match="belongs to the superuser"):
            ending.terminate(place, confirmed(superuser))
        kinds = superuser.execute("SELECT pid, backend_start FROM pg_stat_activity WHERE backend_type = 'checkpointer'")
        pid, started = kinds.fetchone() or (0, None)
        assert isinstance(started, datetime)
        with pytest.raises(NotEnded, match="is a checkpointer of the server"):
            ending.terminate(place, ConfirmedSession(pid, started))
        superuser.execute(f"REVOKE pg_signal_backend FROM {SERVICE}")
        with (
            psycopg.connect(**login, autocommit=True) as client,
            pytest.raises(NotEnded, match="GRANT pg_signal_backend"),
        ):
            ending.terminate(place, confirmed(client))
        superuser.execute(f"REVOKE pg_monitor FROM {SERVICE}")
        with pytest.raises(SessionGone):  # it sees no start, so that it can't tell the pid from a later one
            ending.terminate(place, confirmed(superuser))


def test_a_pid_alone_and_the_panels_own_session_are_refused(cluster: Cluster, prepared: PostgresServer) -> None:
    with prepared.connect() as session:
        known = confirmed(session)
        with pytest.raises(SessionGone):
            ending.terminate(Place(cluster), ConfirmedSession(known.pid, known.backend_start.replace(year=2001)))
        session.execute("SET application_name = 'pooldeck-reaper'")
        with pytest.raises(NotEnded, match="is a session of the panel itself"):
            ending.terminate(Place(cluster), known)
        assert session.execute("SELECT 1").fetchone() == (1,)


def test_one_client_is_disconnected_where_the_release_can(
    waiting: Pool, clients: Clients, blocker: Session, admin_client: Browser
) -> None:
    page = admin_client.get(f"/pools/{waiting.pk}/waiting/").content.decode()
    links = re.findall(r'href="(/pools/[^"]+/clients/(\d+)/kill/\?[^"]+)"', page)
    if not links:  # before 1.24
        with pytest.raises(ConsoleRefused, match=r"from release 1\.24 on"):
            client_end.kill_client(waiting, "1", "2026-01-01 00:00:00 UTC")
        return
    address, number = links[-1][0].replace("&amp;", "&"), links[-1][1]  # the last of the queue
    assert "nothing is rolled back" in admin_client.get(address).content.decode()
    answer = admin_client.post(address, {}, follow=True)
    assert f"Client {number} is disconnected from pool locked." in answer.content.decode()
    clients.wait_for(lambda: clients.waiting("locked") == 2)
    assert [outcome for outcome, _change in acts("pool.kill_client")] == ["asked for", "done"]
    since = unquote(address.split("connected=")[1].split("&")[0])
    with pytest.raises(NotThere):
        client_end.kill_client(waiting, number, since)
    with pytest.raises(NotThere):  # a number of before a restart
        client_end.kill_client(waiting, links[0][1], "2001-01-01 00:00:00 UTC")
