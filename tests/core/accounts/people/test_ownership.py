"""The team of what belongs to one: chosen where it is made, named on pages, and changed by who owns both."""

import re
from typing import Any, cast

import pytest
from django.contrib.auth.models import User
from django.urls import reverse

from benchmarks.experiments import library
from benchmarks.library.scripts import library as scripts
from benchmarks.models import ExternalEndpoint, Playbook, Run, Script, SettingsProfile
from core.accounts.access import Access
from core.accounts.models import FIRST_TEAM, Role, Team
from core.accounts.people import ownership
from core.accounts.people.ownership import WITH_PAGE, model_of
from core.audit.models import Entry
from pools.inventory import poolers
from pools.inventory.poolers import PoolerCheck
from pools.models import Cluster, Host, Pool, Pooler
from tests.benchmarks.results.test_import_output import SUMMARY as PRINTED
from tests.callers import bearer, person
from tests.core.accounts.people.records import a_member, a_team, browser_of
from tests.pools.records import a_cluster, a_pool, a_pooler

pytestmark = pytest.mark.django_db
CLUSTER = {"name": "shop", "host": "127.0.0.1", "port": 1, "admin_user": "postgres", "admin_password": "x"}
CLUSTER |= {"maintenance_database": "postgres", "sslmode": "prefer", "set_aside_connections": 3, "save_anyway": "1"}


@pytest.fixture
def team() -> Team:
    return a_team()


def of_team(team: Team, **values: Any) -> Cluster:
    cluster = a_cluster(**values)
    ownership.place(cluster, team, [])
    return cluster


def test_with_one_team_no_page_names_it() -> None:
    admin, cluster = browser_of(person("boss")), a_cluster(name="main")
    pages = "/clusters/", f"/clusters/{cluster.pk}/", "/clusters/new/", "/poolers/new/", "/hosts/new/"
    assert [b"Team" in admin.get(page).content.partition(b"<main")[2] for page in pages] == [False] * 5


def test_a_cluster_belongs_to_its_makers_only_team(team: Team) -> None:
    ann = browser_of(a_member(team, "ann", Role.OWNER))
    page = ann.get("/clusters/new/").content.decode()
    assert f'<input type="hidden" name="team" value="{team.pk}"' in page
    assert ("Payments</option>" in page, "Default</option>" in page, "Choose a team" in page) == (False, False, False)
    assert ann.post("/clusters/new/", {**CLUSTER, "team": team.pk}).status_code == 302
    assert Cluster.objects.get().team == team
    assert ann.get("/clusters/").content.decode().count("Payments") == 1


@pytest.mark.parametrize("chosen", ["", str(FIRST_TEAM)])
def test_a_team_that_is_not_ones_own_is_refused(team: Team, chosen: str) -> None:
    ann = browser_of(a_member(team, "ann", Role.OWNER))
    page = ann.post("/clusters/new/", {**CLUSTER, "team": chosen})
    assert (page.status_code, "id_team" in page.content.decode()) == (200, True)
    assert not Cluster.objects.exists()


def test_an_administrator_chooses_where_there_are_several(team: Team) -> None:
    admin = browser_of(person("boss"))
    assert "Choose a team" in admin.get("/clusters/new/").content.decode()
    admin.post("/clusters/new/", {**CLUSTER, "team": team.pk})
    assert Cluster.objects.get().team == team


def test_poolers_and_hosts_too(team: Team) -> None:
    ann = browser_of(a_member(team, "ann", Role.OWNER))
    pooler = {"name": "edge", "kind": "pgbouncer", "host": "127.0.0.1", "port": 1, "admin_user": "a"}
    ann.post("/poolers/new/", {**pooler, "admin_password": "x", "team": team.pk})
    ann.post("/hosts/new/", {"name": "db", "address": "127.0.0.1", "port": 1, "user": "x", "team": team.pk})
    assert (Pooler.objects.get().team, Host.objects.get().team) == (team, team)


FORMS: dict[str, tuple[str, dict[str, object], Any]] = {
    "script": ("/scripts/new/", {"name": "look", "text": "SELECT 1;"}, Script),
    "profile": ("/settings-profiles/new/", {"name": "wide", "values": "work_mem = 16MB"}, SettingsProfile),
    "playbook": ("/playbooks/new/", {}, Playbook),
    "run": ("/runs/import/", {"name": "old"}, Run),
}


@pytest.mark.parametrize("kind", FORMS)
def test_what_is_written_for_runs_begins_with_ones_first_team(kind: str, team: Team) -> None:
    address, values, model = FORMS[kind]
    if kind == "playbook":
        values = {"toml": library.built_in()["burst"].text.replace('name = "burst"', 'name = "mine"', 1)}
    if kind == "run":
        values = {**values, "text": PRINTED}
    user = a_member(team, "ann", Role.OWNER)
    assert f'<input type="hidden" name="team" value="{team.pk}"' in browser_of(user).get(address).content.decode()
    second = a_team("Second")
    second.memberships.create(user=user, role=Role.OWNER)
    ann = browser_of(user)
    page = ann.get(address).content.decode()
    assert re.findall(r'<option value="([^"]*)"( selected)?>(?:Payments|Second)<', page) == [
        (str(team.pk), " selected"),
        (str(second.pk), ""),
    ]
    assert ann.post(address, {**values, "team": second.pk}).status_code == 302
    assert model.objects.get().team == second


def test_pasted_poolers_belong_to_the_chosen_team(team: Team, monkeypatch: pytest.MonkeyPatch) -> None:
    user = a_member(team, "ann", Role.OWNER)
    second = a_team("Second")
    second.memberships.create(user=user, role=Role.OWNER)
    monkeypatch.setattr(poolers, "inspect_all", lambda drafts: [PoolerCheck("PgBouncer 1.24.1") for _ in drafts])
    ann, values = browser_of(user), {"lines": "127.0.0.1:1", "kind": "pgbouncer", "admin_user": "a", "line": "1"}
    assert "Choose a team" in ann.get("/poolers/paste/").content.decode()
    assert "id_team" in ann.post("/poolers/paste/", {**values, "admin_password": "x"}).content.decode()
    assert not Pooler.objects.exists()
    ann.post("/poolers/paste/line/", {**values, "admin_password": "x", "team": second.pk})
    assert Pooler.objects.get().team == second


def test_an_external_endpoint_is_moved_on_its_page(team: Team) -> None:
    endpoint = ExternalEndpoint.objects.create(name="proxy", host="127.0.0.1", database="a", user="b", team=team)
    user = a_member(team, "ann", Role.OWNER)
    second = a_team("Second")
    second.memberships.create(user=user, role=Role.OWNER)
    ann, address = browser_of(user), f"/teams/of/external_endpoint/{endpoint.pk}/"
    page = f"/external-endpoints/{endpoint.pk}/edit/"
    assert address in ann.get(page).content.decode()
    assert ann.post(address, {"team": second.pk, "confirm": "1"}).headers["Location"] == page
    endpoint.refresh_from_db()
    assert endpoint.team == second


def test_a_playbook_is_moved_and_shared_on_its_page(team: Team) -> None:
    library.add(
        library.built_in()["burst"].text.replace('name = "burst"', 'name = "mine"', 1), is_admin=True, team=team
    )
    user = a_member(team, "ann", Role.OWNER)
    second, third = a_team("Second"), a_team("Third")
    second.memberships.create(user=user, role=Role.OWNER)
    ann, bo, address = browser_of(user), browser_of(a_member(third, "bo", Role.VIEWER)), "/teams/of/playbook/mine/"
    assert address in ann.get("/playbooks/mine/").content.decode()
    assert bo.get("/playbooks/mine/").status_code == 404
    third.memberships.create(user=user, role=Role.VIEWER)
    assert ann.post(address, {"team": team.pk, "shared_with": [third.pk]}).headers["Location"] == "/playbooks/mine/"
    assert "shared with" in ann.get("/playbooks/mine/").content.decode()
    shared = bo.get("/playbooks/mine/")
    assert (shared.status_code, address in shared.content.decode(), bo.get(address).status_code) == (200, False, 403)
    asked = ann.post(address, {"team": second.pk, "shared_with": [third.pk]}).content.decode()
    assert "mine moves from Payments to Second." in asked
    assert "What belongs to it" not in asked
    ann.post(address, {"team": second.pk, "confirm": "1"})
    assert Playbook.objects.get().team == second
    assert bo.get("/playbooks/mine/").status_code == 404


@pytest.mark.parametrize("kind", sorted(WITH_PAGE))
def test_each_kind_has_the_page_and_leads_to_it(kind: str, team: Team) -> None:
    a_cluster(), a_pooler()
    Host.objects.create(name="db", address="db.example.org")
    ExternalEndpoint.objects.create(name="proxy", host="127.0.0.1", database="a", user="b")
    SettingsProfile.objects.create(name="wide", values={"work_mem": "16MB"})
    scripts.create(name="look", text="SELECT 1;")
    library.add(library.built_in()["burst"].text.replace('name = "burst"', 'name = "mine"', 1), is_admin=True)
    record, admin = cast("Any", model_of(kind))._default_manager.get(), browser_of(person("boss"))
    address = f"/teams/of/{kind}/{record.address_key}/"
    own_page = reverse(WITH_PAGE[kind], args=[record.address_key])
    assert f'href="{own_page}"' in admin.get(address).content.decode()
    assert address in admin.get(own_page).content.decode()
    assert admin.post(address, {"team": team.pk, "confirm": "1"}).headers["Location"] == own_page
    record.refresh_from_db()
    assert record.team == team


def test_over_the_api_too(team: Team) -> None:
    ann = bearer(user=a_member(team, "ann", Role.OWNER))
    body = {name: value for name, value in CLUSTER.items() if name != "save_anyway"}
    assert ann.post("/api/v1/clusters/", body).status_code == 201
    assert Cluster.objects.get().team == team
    assert bearer().post("/api/v1/clusters/", {**body, "name": "other"}).status_code == 201
    assert Cluster.objects.get(name="other").team_id == FIRST_TEAM


def boxes_of(answer: Any) -> set[str]:
    """Return the ids of the teams that the page offers to share with."""
    return set(re.findall(r'name="shared_with" value="([^"]+)"', answer.content.decode()))


@pytest.mark.django_db(transaction=True)  # entries are written with the commit
def test_an_owner_of_both_moves_and_shares_a_record() -> None:
    first, second, third = a_team("First"), a_team("Second"), a_team("Third")
    user = a_member(first, "ann", Role.OWNER)
    second.memberships.create(user=user, role=Role.OWNER)
    third.memberships.create(user=user, role=Role.VIEWER)
    a_member(first, "bo", Role.VIEWER)
    cluster, ann = of_team(first, name="main"), browser_of(user)
    address = f"/teams/of/cluster/{cluster.pk}/"
    assert address in ann.get(f"/clusters/{cluster.pk}/").content.decode()
    assert boxes_of(ann.get(address)) == {str(second.pk), str(third.pk)}
    asked = ann.post(address, {"team": second.pk, "shared_with": [third.pk]})
    assert boxes_of(asked) == {str(first.pk), str(third.pk)}
    assert (asked.status_code, "1 person sees it no more" in asked.content.decode()) == (422, True)
    assert "Move it to Second" in asked.content.decode()
    cluster.refresh_from_db()
    assert cluster.team == first
    done = ann.post(address, {"team": second.pk, "shared_with": [first.pk, third.pk], "confirm": "1"})
    assert done.headers["Location"] == f"/clusters/{cluster.pk}/"
    cluster.refresh_from_db()
    assert (cluster.team, set(cluster.shared_with.all())) == (second, {first, third})
    assert "shared with" in ann.get(f"/clusters/{cluster.pk}/").content.decode()
    assert ann.post(address, {"team": third.pk}).status_code == 422
    acts = Entry.objects.filter(object_id=str(cluster.pk), actor_name="ann").order_by("number")
    assert [(one.action, one.fields.get("after")) for one in acts] == [
        ("cluster.change", {"team_id": str(second.pk)}),
        ("cluster.share", {"shared_with": ["First", "Third"]}),
    ]


def test_a_share_with_a_team_that_the_owner_does_not_see_stays(team: Team) -> None:
    hidden = a_team("Hidden")
    cluster = of_team(team)
    cluster.shared_with.add(hidden)
    ann = browser_of(a_member(team, "ann", Role.OWNER))
    ann.post(f"/teams/of/cluster/{cluster.pk}/", {"team": team.pk})
    assert list(cluster.shared_with.all()) == [hidden]


@pytest.mark.parametrize("role", [Role.VIEWER, Role.DEVELOPER, Role.OPERATOR])
def test_who_does_not_own_the_record_moves_it_nowhere(team: Team, role: Role) -> None:
    cluster = of_team(team)
    user = a_member(team, "ann", role)
    a_team("Own").memberships.create(user=user, role=Role.OWNER)
    ann, address = browser_of(user), f"/teams/of/cluster/{cluster.pk}/"
    assert (ann.get(address).status_code, ann.post(address, {"team": team.pk}).status_code) == (403, 403)
    assert address not in ann.get(f"/clusters/{cluster.pk}/").content.decode()


def test_owners_of_a_team_that_it_is_shared_with_do_not_move_it(team: Team) -> None:
    cluster, other = of_team(team), a_team("Other")
    cluster.shared_with.add(other)
    bo = browser_of(a_member(other, "bo", Role.OWNER))
    assert bo.post(f"/teams/of/cluster/{cluster.pk}/", {"team": other.pk}).status_code == 403


def test_an_unknown_kind_and_a_record_of_others_are_not_found(team: Team) -> None:
    cluster = of_team(team)
    ann = browser_of(a_member(a_team("Own"), "ann", Role.OWNER))
    assert [ann.get(f"/teams/of/{kind}/{cluster.pk}/").status_code for kind in ("pool", "cluster")] == [404, 404]
    assert [ann.get(f"/teams/of/{kind}/no-id/").status_code for kind in ("cluster", "playbook")] == [404, 404]


def test_a_pool_lets_developers_reveal_its_password_by_the_form_and_the_api(team: Team) -> None:
    admin = bearer()
    pool = a_pool(name="shop")
    address = f"/api/v1/pools/{pool.pk}/"
    assert admin.get(address).json()["password_for_developers"] is False
    Pool.objects.filter(pk=pool.pk).update(password_for_developers=True)
    page = browser_of(person("boss")).get(f"/pools/{pool.pk}/edit/").content.decode()
    (box,) = re.findall(r'<input type="checkbox" name="password_for_developers"[^>]*>', page)
    assert "checked" in box
    assert Access(a_member(team, "ann", Role.DEVELOPER)).may("pool.reveal", pool) is False
    shared = Pool.objects.get(pk=pool.pk)
    ownership.place(shared.cluster, team, [])
    ownership.place(shared.pooler, team, [])
    shared.refresh_from_db()
    assert Access(User.objects.get(username="ann")).may("pool.reveal", shared) is True


def test_a_page_names_no_record_of_another_team_at_the_same_address(team: Team) -> None:
    own, _twin = of_team(team, name="own", port=7), a_cluster(name="orders-twin", port=7)
    page = f"/clusters/{own.pk}/"
    assert "orders-twin" in browser_of(person("boss")).get(page).content.decode()
    assert "orders-twin" not in browser_of(a_member(team, "ann", Role.VIEWER)).get(page).content.decode()
