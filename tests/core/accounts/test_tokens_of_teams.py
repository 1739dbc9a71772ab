"""Tokens of teams: what they may do, who makes and revokes them, and that they outlast whoever made them."""

import re

import pytest
from django.contrib.auth.models import User
from django.test import Client
from rest_framework.test import APIClient

from core.accounts.models import FIRST_TEAM, ApiToken, Membership, Role, Team
from core.audit.models import Entry
from pools.models import Pool
from tests.callers import anonymous, bearer, person
from tests.pages import page_of
from tests.pools.records import a_cluster, a_pool, a_pooler

pytestmark = pytest.mark.django_db
URL = "/api/v1/tokens/"


@pytest.fixture
def team() -> Team:
    return Team.objects.create(name="Payments")


def member(team: Team, role: Role) -> User:
    user = person(staff=False)
    Membership.objects.filter(user=user).delete()
    Membership.objects.create(team=team, user=user, role=role)
    return user


def in_browser(user: User) -> Client:
    client = Client()
    client.force_login(user)
    return client


def of_team(team: Team, role: Role, *scopes: str) -> APIClient:
    """A client with a token of the team."""
    text = ApiToken.objects.issue_for_team(team, role, person(), "deployer", list(scopes or ["admin"]))
    client = APIClient()
    client.credentials(HTTP_AUTHORIZATION=f"Bearer {text}")
    return client


def test_it_sees_and_does_what_its_role_allows_in_its_team_only(team):
    own, other = a_cluster(name="own", team=team), a_cluster(name="other", team_id=FIRST_TEAM)
    operator, viewer = of_team(team, Role.OPERATOR), of_team(team, Role.VIEWER)
    assert [one["name"] for one in operator.get("/api/v1/clusters/").json()["results"]] == ["own"]
    assert operator.get(f"/api/v1/clusters/{other.pk}/").status_code == 404
    assert operator.patch(f"/api/v1/clusters/{own.pk}/", {"memory_mb": 64}).status_code == 403
    assert viewer.get(f"/api/v1/clusters/{own.pk}/").status_code == 200
    assert of_team(team, Role.OWNER).patch(f"/api/v1/clusters/{own.pk}/", {"memory_mb": 64}).status_code == 200
    assert of_team(team, Role.OWNER, "read").patch(f"/api/v1/clusters/{own.pk}/", {}).status_code == 403


@pytest.mark.django_db(transaction=True)
def test_it_acts_in_the_trail_as_that_token(team):
    own = a_cluster(name="own", team=team)
    of_team(team, Role.OWNER).patch(f"/api/v1/clusters/{own.pk}/", {"memory_mb": 64})
    entry = Entry.objects.filter(action="cluster.change").first()
    token = ApiToken.objects.get()
    assert (entry.actor_kind, entry.actor_name, entry.actor_id) == ("token", "Payments: deployer", str(token.pk))


def test_it_outlasts_the_person_who_made_it(team):
    maker = member(team, Role.OWNER)
    asked = {"name": "deployer", "scopes": ["read"], "team": str(team.pk), "role": "viewer"}
    made = bearer("admin", user=maker).post(URL, asked, format="json")
    assert made.status_code == 201, made.json()
    assert (made.json()["role"], made.json()["made_by"]) == ("viewer", maker.username)
    maker.delete()
    answer = anonymous().get("/api/v1/pools/", HTTP_AUTHORIZATION=f"Bearer {made.json()['token']}")
    assert answer.status_code == 200


def test_its_account_is_no_member_and_can_not_sign_in():
    made_by = person()
    ApiToken.objects.issue_for_team(Team.objects.get(), Role.VIEWER, made_by, "deployer", ["read"])
    account = ApiToken.objects.get().user
    assert not account.is_active
    assert not account.has_usable_password()
    assert not account.memberships.exists()


@pytest.mark.parametrize("role", [Role.VIEWER, Role.DEVELOPER, Role.OPERATOR])
def test_only_owners_make_see_and_revoke_them(team, role):
    of_team(team, Role.VIEWER)
    token = ApiToken.objects.get()
    client = in_browser(member(team, role))
    assert client.get(f"/teams/{team.pk}/tokens/").status_code == 403
    assert client.post(f"/teams/{team.pk}/tokens/", {"name": "x"}).status_code == 403
    assert client.post(f"/tokens/{token.pk}/revoke/").status_code == 404
    asked = {"name": "x", "scopes": ["read"], "team": str(team.pk), "role": "viewer"}
    assert bearer("admin", user=member(team, role)).post(URL, asked, format="json").status_code == 403


def test_owners_of_another_team_do_not_find_them(team):
    of_team(team, Role.VIEWER)
    token = ApiToken.objects.get()
    owner = member(Team.objects.get(pk=FIRST_TEAM), Role.OWNER)
    assert in_browser(owner).get(f"/teams/{team.pk}/tokens/").status_code == 404
    assert in_browser(owner).post(f"/tokens/{token.pk}/revoke/").status_code == 404
    client = bearer("admin", user=owner)
    assert client.delete(f"{URL}{token.pk}/").status_code == 404
    asked = {"name": "x", "scopes": ["read"], "team": str(team.pk), "role": "viewer"}
    assert client.post(URL, asked, format="json").status_code == 400


def test_an_owner_makes_one_on_its_page_and_another_owner_revokes_it(team):
    page = f"/teams/{team.pk}/tokens/"
    values = {"name": "deployer", "scopes": ["read", "apply"], "lifetime_days": "30", "role": "operator"}
    made = in_browser(member(team, Role.OWNER)).post(page, values)
    text = re.search(rb'value="(pd_[^"]+)"', made.content)[1].decode()
    assert "no-store" in made["Cache-Control"]
    token = ApiToken.objects.get()
    assert (token.team, token.role, token.scopes) == (team, "operator", ["read", "apply"])
    authorization = {"HTTP_AUTHORIZATION": f"Bearer {text}", "REMOTE_ADDR": "10.0.0.7"}
    assert anonymous().get("/api/v1/pools/", **authorization).status_code == 200
    other = in_browser(member(team, Role.OWNER))
    shown = page_of(other.get(page))
    assert "operator: read, apply" in shown
    assert "from 10.0.0.7" in shown
    assert other.post(f"/tokens/{token.pk}/revoke/").headers["Location"] == page
    assert anonymous().get("/api/v1/pools/", **authorization).status_code == 401


def test_it_makes_no_token_of_a_person_and_only_an_owner_makes_those_of_its_team(team):
    plain = {"name": "x", "scopes": ["read"]}
    for_team = plain | {"team": str(team.pk), "role": "owner"}
    assert of_team(team, Role.OWNER).post(URL, plain, format="json").status_code == 400
    assert of_team(team, Role.OPERATOR).post(URL, for_team, format="json").status_code == 403
    assert of_team(team, Role.OWNER).post(URL, for_team, format="json").status_code == 201


def test_a_role_and_a_team_come_together(team):
    for half in ({"team": str(team.pk)}, {"role": "viewer"}):
        answer = bearer().post(URL, {"name": "x", "scopes": ["read"]} | half, format="json")
        assert (answer.status_code, list(answer.json())) == (400, ["role"])


def test_a_token_of_a_team_is_limited_to_what_the_team_has(team):
    theirs, other = a_pool(cluster=a_cluster(team=team)), a_pool()
    asked = {"name": "x", "scopes": ["read"], "team": str(team.pk), "role": "viewer"}
    assert bearer().post(URL, asked | {"pool": str(other.pk)}, format="json").status_code == 400
    made = bearer().post(URL, asked | {"pool": str(theirs.pk)}, format="json").json()
    answer = anonymous().get("/api/v1/pools/", HTTP_AUTHORIZATION=f"Bearer {made['token']}")
    assert [one["id"] for one in answer.json()["results"]] == [str(theirs.pk)]


def test_a_developer_grants_admin_once_the_password_of_a_pool_is_for_developers(team):
    user = member(team, Role.DEVELOPER)
    pool = a_pool(cluster=a_cluster(team=team), pooler=a_pooler(team=team))
    offered, asked = r'name="scopes" value="(\w+)"', {"name": "x", "scopes": ["admin"]}
    assert re.findall(offered, page_of(in_browser(user).get("/tokens/"))) == ["read", "run"]
    refused = bearer("read", "admin", user=user).post(URL, asked, format="json")
    assert (refused.status_code, list(refused.json())) == (403, ["detail"])
    assert in_browser(user).post("/tokens/", asked | {"lifetime_days": "30"}).status_code == 422
    Pool.objects.update(password_for_developers=True)
    assert re.findall(offered, page_of(in_browser(user).get("/tokens/"))) == ["read", "run", "admin"]
    text = ApiToken.objects.issue(user, "reveals", ["admin"])
    asks = {"HTTP_AUTHORIZATION": f"Bearer {text}"}
    assert anonymous().get(f"/api/v1/pools/{pool.pk}/connection/?as=uri&reveal=1", **asks).status_code == 200
    Pool.objects.update(pooler=a_pooler(), cluster=a_cluster(team=Team.objects.create(name="others")))
    assert re.findall(offered, page_of(in_browser(user).get("/tokens/"))) == ["read", "run"]


@pytest.mark.parametrize(
    ("role", "scopes", "useless"),
    [
        ("viewer", ["read"], ""),
        ("viewer", ["read", "run"], "run"),
        ("developer", ["read", "run"], ""),
        ("developer", ["apply", "admin"], "admin, apply"),
        ("operator", ["read", "apply", "admin"], ""),
    ],
)
def test_a_token_of_a_team_has_only_scopes_that_its_role_makes_use_of(team, role, scopes, useless):
    page, text = f"/teams/{team.pk}/tokens/", f"the role makes no use of the scopes {useless}"
    asked = {"name": "x", "scopes": scopes, "role": role}
    answer = bearer().post(URL, asked | {"team": str(team.pk)}, format="json")
    shown = in_browser(member(team, Role.OWNER)).post(page, asked | {"lifetime_days": "30"})
    assert (answer.status_code, shown.status_code) == ((400, 422) if useless else (201, 200))
    assert (text in page_of(shown), text in str(answer.json())) == (bool(useless), bool(useless))
    assert ApiToken.objects.filter(team=team).count() == (0 if useless else 2)


def test_a_limit_is_chosen_on_the_page_of_the_record(team):
    user = member(team, Role.OPERATOR)
    pool, other = a_pool(cluster=a_cluster(team=team)), a_pool()
    client = in_browser(user)
    assert f"Good for the pool <strong>{pool}</strong>" in page_of(client.get(f"/tokens/?limit=pool:{pool.pk}"))
    values = {"name": "ci", "scopes": ["read"], "lifetime_days": "30"}
    assert client.post("/tokens/", values | {"limit": f"pool:{other.pk}"}).status_code == 422
    assert client.post("/tokens/", values | {"limit": "pool:x"}).status_code == 422
    assert client.post("/tokens/", values | {"limit": f"pool:{pool.pk}"}).status_code == 200
    token = ApiToken.objects.get()
    assert (token.limit_kind, token.limited_to) == ("pool", pool.pk)
    assert f'only on the pool <a href="/pools/{pool.pk}/">{pool}</a>' in page_of(client.get("/tokens/"))


def test_the_account_of_a_token_is_nobody_among_people_and_goes_with_the_team(team):
    of_team(team, Role.VIEWER)
    account, admin = ApiToken.objects.get().user, in_browser(person())
    assert account.username not in page_of(admin.get("/people/"))
    assert admin.post(f"/people/{account.pk}/reactivate/").status_code == 404
    answer = admin.post(f"/teams/{FIRST_TEAM}/members/add/", {"username": account.username, "role": "owner"})
    assert (answer.status_code, account.memberships.count()) == (422, 0)
    admin.post(f"/teams/{team.pk}/remove/", {"name": team.name})
    assert not Team.objects.filter(pk=team.pk).exists()
    assert not User.objects.filter(pk=account.pk).exists()
