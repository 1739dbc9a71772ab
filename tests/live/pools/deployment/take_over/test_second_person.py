"""Four-eyes on real servers: what one person asks for happens when another approves it, and not before or otherwise."""

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import psycopg
import pytest
from django.conf import settings
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone
from playwright.sync_api import expect, sync_playwright

from core.accounts import confirmation
from core.audit.models import Entry
from pools import deployment
from pools.deployment import take_overs
from pools.models import Act, ApprovalRequest, ApprovalRules, Cluster, Pool, Pooler, PoolState
from tests.callers import bearer, person
from tests.chromium import launch
from tests.live.conftest import APP_PASSWORD, APP_ROLE
from tests.live.pools.deployment.take_over.conftest import OperatorsPgBouncer, Start
from tests.live.pools.deployment.take_over.layouts import FORCED, POOL, SCRAM, USERS, Layout, main

pytestmark = pytest.mark.django_db(transaction=True)
Watch = Callable[[OperatorsPgBouncer], Pooler]
LIMIT = 5
ONE = Layout("one", {"pgbouncer.ini": main(f"app = {FORCED} pool_size=3", SCRAM), "userlist.txt": USERS}, {"app": POOL})


@pytest.fixture
def dana(db: None) -> User:
    return person("dana")


@pytest.fixture
def eve(db: None) -> User:
    return person("eve")


@pytest.fixture
def protected(cluster: Cluster) -> Cluster:
    ApprovalRules.objects.create(cluster=cluster, acts=list(Act.values), pool_size=LIMIT)
    return cluster


def browser_of(user: User) -> Client:
    client = Client()
    client.force_login(user)
    session = client.session
    session[confirmation.CONFIRMED_AT] = time.time()
    session.save()
    return client


def waiting(verb: str) -> ApprovalRequest:
    return ApprovalRequest.objects.pending().get(verb=verb)


def decide(request: ApprovalRequest, user: User) -> int:
    """Approve it as this person with a token; the status of the answer."""
    return bearer(user=user).post(f"/api/v1/approvals/{request.pk}/approve/").status_code


def approve_in_chromium(url: str, user: User, request: ApprovalRequest) -> str:
    """Approve it on its page in Chromium as this person; what the page says then."""
    cookie = browser_of(user).cookies[settings.SESSION_COOKIE_NAME].value

    def walk() -> str:
        with sync_playwright() as playwright:
            context = launch(playwright).new_context()
            context.add_cookies([{"name": settings.SESSION_COOKIE_NAME, "value": cookie, "url": url}])
            page = context.new_page()
            page.goto(f"{url}/approvals/")
            page.get_by_role("link", name=request.text).click()
            page.get_by_role("button", name="Approve and do it").click()
            expect(page.get_by_text("approved and done").first).to_be_visible(timeout=60_000)
            return page.inner_text("main")

    with ThreadPoolExecutor(1) as thread:  # Playwright's event loop keeps Django from its database
        return thread.submit(walk).result()


def shown(pgbouncer: OperatorsPgBouncer) -> dict[str, int]:
    """Name → size of each entry, as SHOW DATABASES has it."""
    with pgbouncer.connect() as console:
        cursor = console.execute(b"SHOW DATABASES")
        names = [column.name for column in cursor.description]
        rows = [dict(zip(names, row, strict=True)) for row in cursor]
    return {str(row["name"]): int(str(row["pool_size"])) for row in rows if row["name"] != "pgbouncer"}


def client_of(pgbouncer: OperatorsPgBouncer) -> "psycopg.Connection[Any]":
    words = {"dbname": "app", "user": APP_ROLE, "password": APP_PASSWORD, "connect_timeout": 5}
    return psycopg.connect(host=pgbouncer.host, port=pgbouncer.port, autocommit=True, **words)


def taken_over(pgbouncer: OperatorsPgBouncer, pooler: Pooler, dana: User, eve: User) -> Pool:
    """Have it taken over by both, and return its pool."""
    before = pgbouncer.bytes_of_all()
    sent = {"config_file": str(pgbouncer.main), "entries": ["app"], "audit_reason": "one panel for all poolers"}
    answer = browser_of(dana).post(f"/poolers/{pooler.pk}/take-over/", sent)
    request = waiting("pooler.take_over")
    assert answer["Location"] == f"/approvals/{request.pk}/"
    assert (request.reason, pgbouncer.bytes_of_all()) == ("one panel for all poolers", before)
    assert decide(request, dana) == 403
    assert decide(request, eve) == 200
    take_overs.resume(pooler)
    pooler.refresh_from_db()
    assert not pooler.is_watched
    assert shown(pgbouncer) == {"app": 3}
    return Pool.objects.get(pooler=pooler, name="app")


@pytest.mark.slow
def test_what_another_approves_really_happens(
    protected: Cluster, start: Start, watch: Watch, dana: User, eve: User, live_server: Any
) -> None:
    pgbouncer = start(ONE)
    pooler = watch(pgbouncer)
    pool = taken_over(pgbouncer, pooler, dana, eve)
    url = f"/api/v1/pools/{pool.pk}/"

    # A size beyond the limit; one within it needs nobody.
    assert bearer(user=dana).patch(url, {"size": LIMIT + 3}, format="json").status_code == 202
    deployment.apply_pooler(pooler)
    assert shown(pgbouncer) == {"app": 3}
    assert decide(waiting("pool.change"), eve) == 200
    deployment.apply_pooler(pooler)
    pool.refresh_from_db()
    assert (shown(pgbouncer), pool.state) == ({"app": LIMIT + 3}, PoolState.APPLIED)

    # KILL, approved on the page in Chromium.
    with client_of(pgbouncer) as client:
        sent = {"confirm": "app", "hold_s": "0", "audit_reason": "stuck since noon"}
        browser_of(dana).post(f"/pools/{pool.pk}/console/kill/", sent)
        assert client.execute("SELECT 1").fetchone() == (1,)
        page = approve_in_chromium(live_server.url, eve, waiting("pool.kill"))
        assert "stuck since noon" in page
        with pytest.raises(psycopg.OperationalError):
            client.execute("SELECT 1")
    killed = Entry.objects.get(action="pool.kill", outcome="done")
    assert (killed.actor_name, killed.asked_by, killed.reason) == ("eve", "dana", "stuck since noon")

    # The pool goes.
    headers = {"X-Reason": "moved to the warehouse"}
    assert bearer(user=dana).delete(url, headers=headers).status_code == 202
    assert "app" in shown(pgbouncer)
    assert decide(waiting("pool.remove"), dana) == 403
    assert decide(waiting("pool.remove"), eve) == 200
    deployment.apply_pooler(pooler)
    assert shown(pgbouncer) == {}
    assert not Pool.objects.filter(pk=pool.pk).exists()


def test_what_changed_meanwhile_or_took_too_long_does_not_happen(
    protected: Cluster, start: Start, watch: Watch, dana: User, eve: User
) -> None:
    pgbouncer = start(ONE)
    pooler = watch(pgbouncer)
    pool = taken_over(pgbouncer, pooler, dana, eve)
    url = f"/api/v1/pools/{pool.pk}/"

    bearer(user=dana).patch(url, {"size": LIMIT + 3}, format="json")
    stale = waiting("pool.change")
    assert bearer(user=eve).patch(url, {"size": 4}, format="json").status_code == 200
    assert decide(stale, eve) == 409
    stale.refresh_from_db()
    assert stale.state == "stale"

    bearer(user=dana).post(f"{url}kill/", {"confirm": "app", "hold_s": 0}, format="json")
    late = waiting("pool.kill")
    ApprovalRequest.objects.filter(pk=late.pk).update(expires_at=timezone.now() - timedelta(seconds=1))
    with client_of(pgbouncer) as client:
        assert decide(late, eve) == 409
        assert client.execute("SELECT 1").fetchone() == (1,)
    deployment.apply_pooler(pooler)
    assert shown(pgbouncer) == {"app": 4}
