"""Who may approve, and that what was asked for is done exactly so, once, in both names."""

import time
from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone
from rest_framework.test import APIClient

from core.accounts import confirmation
from core.accounts.models import FIRST_TEAM, ApiToken, Membership, Role, Team
from core.audit.actors import Actor, Origin, acting
from core.audit.models import ActorKind, Entry
from pools.approvals import rules
from pools.console import commands
from pools.errors import InvalidValues
from pools.inventory import pools
from pools.models import Act, ApprovalRequest, ApprovalRules, Cluster, Pool, PoolerState
from pools.poolers.pgbouncer.driver import PgBouncer
from tests.callers import bearer, person
from tests.pages import page_of
from tests.pools.consoles import FakeControls
from tests.pools.records import a_cluster, a_pool, a_pooler

pytestmark = pytest.mark.django_db


@pytest.fixture
def dana(db: None) -> User:
    return person("dana")


@pytest.fixture
def eve(db: None) -> User:
    return person("eve")


@pytest.fixture
def cluster(db: None) -> Cluster:
    found = a_cluster(name="orders")
    ApprovalRules.objects.create(cluster=found, acts=list(Act.values), pool_size=20)
    return found


@pytest.fixture
def pool(cluster: Cluster) -> Pool:
    return a_pool(name="shop", cluster=cluster, pooler=a_pooler(name="front", state=PoolerState.ONLINE, port=1))


@pytest.fixture
def console(monkeypatch: pytest.MonkeyPatch) -> FakeControls:
    fake = FakeControls()
    monkeypatch.setattr(PgBouncer, "controls", lambda self, pooler: fake.opened())
    return fake


def browser_of(user: User) -> Client:
    client = Client()
    client.force_login(user)
    session = client.session
    session[confirmation.CONFIRMED_AT] = time.time()
    session.save()
    return client


def kill(pool: Pool, user: User, **headers: str) -> ApprovalRequest:
    """Ask for a KILL as this person, with a token, and return the request that waits."""
    body = {"confirm": "shop", "hold_s": 7}
    answer = bearer(user=user).post(f"/api/v1/pools/{pool.pk}/kill/", body, format="json", headers=headers)
    assert answer.status_code == 202
    return ApprovalRequest.objects.get(pk=answer.json()["approval"]["id"])


@pytest.mark.django_db(transaction=True)  # the trail is written with the commit
def test_another_person_approves_and_it_is_done_as_asked(
    pool: Pool, dana: User, eve: User, console: FakeControls
) -> None:
    asked = kill(pool, dana, **{"X-Reason": "stuck clients"})
    assert (console.done, asked.text) == ([], "Kill pool shop on pooler front, and hold it for 7 s")
    assert (asked.requester_name, asked.reason) == ("dana: test", "stuck clients")
    answer = browser_of(eve).post(f"/approvals/{asked.pk}/approve/", follow=True)
    assert "approved and done" in page_of(answer)
    assert console.done == ["kill"]
    pool.refresh_from_db()
    assert pool.paused_until is not None
    assert 0 < (pool.paused_until - timezone.now()).total_seconds() <= 7
    done = Entry.objects.get(action="pool.kill", outcome="done")
    assert (done.actor_name, done.asked_by) == ("eve", "dana: test")


def test_it_is_done_once(pool: Pool, dana: User, eve: User, console: FakeControls) -> None:
    url = f"/api/v1/approvals/{kill(pool, dana).pk}/approve/"
    assert [bearer(user=eve).post(url).status_code for _ in range(3)] == [200, 409, 409]
    assert console.done == ["kill"]


def test_who_asked_can_not_approve_in_any_way(pool: Pool, dana: User, console: FakeControls) -> None:
    asked = kill(pool, dana)
    assert bearer(user=dana).post(f"/api/v1/approvals/{asked.pk}/approve/").status_code == 403
    assert browser_of(dana).post(f"/approvals/{asked.pk}/approve/").status_code == 403
    asked.refresh_from_db()
    assert (asked.state, console.done) == ("pending", [])


def test_a_token_of_a_team_is_no_second_person(pool: Pool, dana: User, eve: User, console: FakeControls) -> None:
    team = Team.objects.get(pk=FIRST_TEAM)
    text = ApiToken.objects.issue_for_team(team, Role.OWNER, dana, "deploy", ["read", "apply", "admin"])
    robot = APIClient()
    robot.credentials(HTTP_AUTHORIZATION=f"Bearer {text}")
    url = f"/api/v1/approvals/{kill(pool, eve).pk}/approve/"
    assert (robot.post(url).status_code, console.done) == (403, [])
    asked = robot.delete(f"/api/v1/pools/{pool.pk}/").json()["approval"]["url"]
    assert bearer(user=dana).post(f"{asked}approve/").status_code == 403  # who made the token
    assert bearer(user=eve).post(f"{asked}approve/").status_code == 200


def test_an_account_that_was_made_for_it_can_not_approve(pool: Pool, dana: User, console: FakeControls) -> None:
    asked = kill(pool, dana)
    made = person("puppet")
    answer = bearer(user=made).post(f"/api/v1/approvals/{asked.pk}/approve/")
    assert (answer.status_code, console.done) == (403, [])
    assert "younger than this request" in answer.json()["detail"]


@pytest.mark.parametrize(("role", "status"), [(Role.VIEWER, 403), (Role.DEVELOPER, 403), (Role.OPERATOR, 200)])
def test_it_takes_the_role_of_the_act(pool: Pool, dana: User, console: FakeControls, role: Role, status: int) -> None:
    other = person("other", staff=False)
    Membership.objects.update_or_create(team_id=FIRST_TEAM, user=other, defaults={"role": role})
    asked = kill(pool, dana)
    assert bearer(user=other).post(f"/api/v1/approvals/{asked.pk}/approve/").status_code == status
    assert console.done == ["kill"] * (status == 200)


def test_an_operator_does_not_approve_what_takes_an_owner(cluster: Cluster, dana: User) -> None:
    other = person("other", staff=False)
    Membership.objects.update_or_create(team_id=FIRST_TEAM, user=other, defaults={"role": Role.OPERATOR})
    bearer(user=dana).delete(f"/api/v1/clusters/{cluster.pk}/")
    asked = ApprovalRequest.objects.get()
    assert bearer(user=other).post(f"/api/v1/approvals/{asked.pk}/approve/").status_code == 403
    assert Cluster.objects.filter(pk=cluster.pk).exists()


def test_a_token_without_the_scope_of_the_act_does_not_approve(cluster: Cluster, dana: User, eve: User) -> None:
    bearer(user=dana).delete(f"/api/v1/clusters/{cluster.pk}/")
    url = f"/api/v1/approvals/{ApprovalRequest.objects.get().pk}/approve/"
    assert bearer("read", "apply", user=eve).post(url).status_code == 403
    assert bearer(user=eve).post(url).status_code == 200
    assert not Cluster.objects.filter(pk=cluster.pk).exists()
    gone = ApprovalRequest.objects.get()
    assert (gone.state, gone.cluster, gone.cluster_name, gone.decided_by) == ("done", None, "orders", "eve: test")


def test_the_same_act_is_asked_for_once(pool: Pool, dana: User, eve: User) -> None:
    assert {kill(pool, dana).pk, kill(pool, dana).pk, kill(pool, eve).pk} == {ApprovalRequest.objects.get().pk}


def test_what_changed_meanwhile_no_longer_fits(pool: Pool, dana: User, eve: User, console: FakeControls) -> None:
    asked = kill(pool, dana)
    pool.edit(None, database="elsewhere")
    answer = bearer(user=eve).post(f"/api/v1/approvals/{asked.pk}/approve/")
    asked.refresh_from_db()
    assert (answer.status_code, asked.state, console.done) == (409, "stale", [])


def test_nobody_approves_after_a_day(pool: Pool, dana: User, eve: User, console: FakeControls) -> None:
    asked = kill(pool, dana)
    assert asked.expires_at - asked.created_at == pytest.approx(timedelta(hours=24), abs=timedelta(seconds=5))
    ApprovalRequest.objects.update(expires_at=timezone.now())
    answer = bearer(user=eve).post(f"/api/v1/approvals/{asked.pk}/approve/")
    asked.refresh_from_db()
    assert (answer.status_code, asked.state, console.done) == (409, "expired", [])
    assert kill(pool, dana).pk != asked.pk


def test_it_is_rejected_by_another_and_withdrawn_by_who_asked(
    pool: Pool, dana: User, eve: User, console: FakeControls
) -> None:
    states = []
    for user in (eve, dana):
        asked = kill(pool, dana)
        browser_of(user).post(f"/approvals/{asked.pk}/reject/")
        asked.refresh_from_db()
        states.append((asked.state, asked.decided_by))
    assert states == [("rejected", "eve"), ("withdrawn", "dana")]
    assert console.done == []


def test_a_failure_is_said_and_uses_the_approval_up(pool: Pool, dana: User, eve: User) -> None:
    asked = kill(pool, dana)  # nothing listens at its console
    answer = bearer(user=eve).post(f"/api/v1/approvals/{asked.pk}/approve/")
    assert (answer.status_code, answer.json()["state"]) == (200, "failed")
    assert "onnection refused" in answer.json()["outcome"]


def test_a_size_beyond_the_limit_is_stored_with_all_that_was_typed(
    pool: Pool, dana: User, eve: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pools.pool_validation, "server_problems", lambda *_words: iter(()))
    url = f"/api/v1/pools/{pool.pk}/"
    assert bearer(user=dana).patch(url, {"size": 20, "version": 1}, format="json").status_code == 200
    body = {
        "size": 21,
        "mode": "session",
        "version": 2,
        "user_password": "s3cret-of-app",
        "over_budget_confirm": "orders",
    }
    assert bearer(user=dana).patch(url, body, format="json").status_code == 202
    asked = ApprovalRequest.objects.get()
    assert "size 20 → 21" in asked.text
    assert "mode transaction → session" in asked.text
    stored = [str(value) for value in ApprovalRequest.objects.values().get().values()]
    assert not [text for text in stored if "s3cret" in text]
    bearer(user=eve).post(f"/api/v1/approvals/{asked.pk}/approve/")
    pool.refresh_from_db()
    asked.refresh_from_db()
    assert (asked.state, asked.outcome, pool.size, pool.mode) == ("done", "", 21, "session")


def test_a_wrong_confirmation_asks_nobody(pool: Pool, dana: User) -> None:
    answer = bearer(user=dana).post(f"/api/v1/pools/{pool.pk}/kill/", {"confirm": "other"}, format="json")
    assert (answer.status_code, ApprovalRequest.objects.count()) == (400, 0)


def test_a_worker_asks_nobody(pool: Pool, console: FakeControls) -> None:
    with acting(Origin(Actor(ActorKind.WORKER, "worker"))):
        commands.kill(pool, "shop")
    assert console.done == ["kill", "resume"]


def test_more_is_asked_for_by_one_person_and_less_takes_two(cluster: Cluster, dana: User, eve: User) -> None:
    url = f"/api/v1/clusters/{cluster.pk}/approval-rules/"
    stricter = {"acts": list(Act.values), "pool_size": 10}
    assert bearer(user=dana).put(url, stricter, format="json").json() == stricter
    looser = {"acts": ["drop"], "pool_size": 10}
    assert bearer(user=dana).put(url, looser, format="json").status_code == 202
    assert bearer(user=dana).get(url).json() == stricter
    asked = ApprovalRequest.objects.get()
    assert bearer(user=eve).post(f"/api/v1/approvals/{asked.pk}/approve/").status_code == 200
    assert bearer(user=dana).get(url).json() == looser


def test_unknown_acts_and_sizes_are_refused(cluster: Cluster) -> None:
    with pytest.raises(InvalidValues):
        rules.change(cluster, ["nonsense"], None)
    with pytest.raises(InvalidValues):
        rules.change(cluster, [], 0)


def test_the_navigation_counts_what_waits_for_this_person_alone(pool: Pool, dana: User, eve: User) -> None:
    kill(pool, dana)
    count = 'class="pd-nav-count"'
    assert [count in page_of(browser_of(user).get("/approvals/")).replace("\n", " ") for user in (dana, eve)] == [
        False,
        True,
    ]


def test_another_team_sees_nothing_of_it(pool: Pool, dana: User) -> None:
    asked = kill(pool, dana)
    stranger = person("stranger", staff=False)
    Membership.objects.filter(user=stranger).delete()
    Membership.objects.create(team=Team.objects.create(name="others"), user=stranger, role=Role.OWNER)
    answers = [
        bearer(user=stranger).get(f"/api/v1/approvals/{asked.pk}/").status_code,
        bearer(user=stranger).post(f"/api/v1/approvals/{asked.pk}/approve/").status_code,
        browser_of(stranger).get(f"/approvals/{asked.pk}/").status_code,
        bearer(user=stranger).get("/api/v1/approvals/").json()["count"],
    ]
    assert answers == [404, 404, 404, 0]


def test_the_rules_stand_on_the_page_of_the_cluster(cluster: Cluster, eve: User) -> None:
    page = page_of(browser_of(eve).get(f"/clusters/{cluster.pk}/"))
    assert "drop a database or a role" in page
    assert "have a pool larger than" in page
    assert browser_of(eve).get(f"/clusters/{cluster.pk}/approvals/").status_code == 200
