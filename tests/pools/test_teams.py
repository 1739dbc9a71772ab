"""What people of one team see of another: nothing in lists and counts, 404 at addresses, no choice in forms."""

import pytest
from django.test import Client

from core.accounts.models import Membership, Role, Team
from pools.models import Cluster, Pool, Pooler
from tests.callers import bearer, person
from tests.pools import records

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("nothing_leaves")]
LISTS = ("clusters", "poolers", "pools")


@pytest.fixture
def others() -> Pool:
    return records.a_pool(name="others-pool")


@pytest.fixture
def own(others: Pool) -> Pool:
    team = Team.objects.create(name="Payments")
    cluster = records.a_cluster(name="own-cluster", host="own", team=team)
    pooler = records.a_pooler(name="own-pooler", host="own", team=team)
    return records.a_pool(name="own-pool", cluster=cluster, pooler=pooler)


def operator(team: Team, role: Role = Role.OPERATOR) -> Client:
    user = person(staff=False)
    Membership.objects.create(team=team, user=user, role=role)
    client = Client()
    client.force_login(user)
    return client


@pytest.mark.parametrize("noun", LISTS)
def test_lists_of_the_api_hold_what_is_the_teams(own, others, noun):
    client = operator(own.cluster.team)
    assert [row["name"] for row in client.get(f"/api/v1/{noun}/").json()["results"]] == [f"own-{noun[:-1]}"]


@pytest.mark.parametrize("noun", LISTS)
def test_pages_list_what_is_the_teams(own, others, noun):
    page = operator(own.cluster.team).get(f"/{noun}/").text
    assert "own-" in page
    assert not [one.name for one in (others, others.cluster, others.pooler) if f">{one.name}<" in page]


def test_records_of_others_are_not_found(own, others):
    client = operator(own.cluster.team)
    addresses = [
        f"{prefix}{noun}/{record.pk}/"
        for prefix in ("/", "/api/v1/")
        for noun, record in (("clusters", others.cluster), ("poolers", others.pooler), ("pools", others))
    ]
    assert {address: client.get(address).status_code for address in addresses} == dict.fromkeys(addresses, 404)
    assert client.post(f"/pools/{others.pk}/delete/").status_code == 404
    kill = f"/api/v1/pools/{others.pk}/kill/"
    assert client.post(kill, {"confirm": others.name}, content_type="application/json").status_code == 404


def test_the_dashboard_counts_what_is_the_teams(own, others):
    totals = operator(own.cluster.team).get("/").context["totals"]
    assert [totals[noun]["all"] for noun in LISTS] == [1, 1, 1]


def test_a_form_offers_what_is_the_teams(own, others):
    form = operator(own.cluster.team).get("/pools/new/").context["form"]
    assert list(form.fields["cluster"].queryset) == [own.cluster]
    assert list(form.fields["pooler"].queryset) == [own.pooler]


def test_a_form_does_not_open_the_cluster_of_others(own, others):
    assert operator(own.cluster.team).get(f"/pools/new/?cluster={others.cluster.pk}").status_code == 404


@pytest.mark.parametrize("page", ["choices", "further", "mode-check"])
def test_no_part_of_a_form_reads_the_cluster_of_others(own, others, page):
    client, asked = operator(own.cluster.team), {"cluster": str(others.cluster.pk), "database": "shop"}
    assert client.post(f"/pools/{page}/", asked).status_code == 404
    assert client.post(f"/pools/{page}/").status_code == 200


def test_a_form_begins_with_what_is_the_teams(own, others):
    form = operator(own.cluster.team).get("/pools/new/").context["form"]
    assert (form.chosen_cluster, form.chosen_pooler) == (own.cluster, own.pooler)


def test_a_form_opens_where_others_alone_have_something(others):
    client = operator(Team.objects.create(name="Payments"))
    form = client.get("/pools/new/").context["form"]
    assert (form.chosen_cluster, form.chosen_pooler) == (None, None)


def test_an_operator_changes_no_cluster(own):
    answer = operator(own.cluster.team).get(f"/clusters/{own.cluster.pk}/edit/")
    assert answer.status_code == 403


def test_a_token_of_an_operator_makes_no_pool_on_the_cluster_of_others(own, others):
    user = person(staff=False)
    Membership.objects.create(team=own.cluster.team, user=user, role=Role.OPERATOR)
    wanted = {
        "name": "new",
        "cluster": str(others.cluster.pk),
        "pooler": str(own.pooler.pk),
        "database": "d",
        "size": 1,
    }
    assert bearer("read", "apply", user=user).post("/api/v1/pools/", wanted).status_code == 404
    assert not Pool.objects.filter(name="new").exists()


@pytest.mark.parametrize(
    ("marked", "roles"),
    [(False, [Role.OPERATOR, Role.OWNER]), (True, [Role.DEVELOPER, Role.OPERATOR, Role.OWNER])],
)
def test_a_box_offers_the_password_to_whom_the_table_says(own, marked, roles):
    records.know_password(own.cluster, own.user, "role-secret")
    Pool.objects.filter(pk=own.pk).update(password_for_developers=marked)
    pages = {role: operator(own.cluster.team, role).get(f"/pools/{own.pk}/").text for role in Role}
    assert [role for role, page in pages.items() if "Show password" in page] == roles
    assert [role for role, page in pages.items() if "Copy with password" in page] == roles


def test_the_box_of_a_cluster_offers_its_login_to_owners(own):
    pages = {role: operator(own.cluster.team, role).get(f"/clusters/{own.cluster.pk}/").text for role in Role}
    assert [role for role, page in pages.items() if "Show password" in page] == [Role.OWNER]


@pytest.mark.parametrize("role", Role)
def test_who_may_check_a_mode_is_led_there(own, role):
    page = operator(own.cluster.team, role).get(f"/pools/{own.pk}/clients/").text
    assert (f"/pools/{own.pk}/mode/" in page) is role.includes(Role.OPERATOR)


def test_administrators_see_all(own, others):
    client = Client()
    client.force_login(person())
    assert Cluster.objects.count() == client.get("/api/v1/clusters/").json()["count"] == 2
    assert Pooler.objects.count() == client.get("/api/v1/poolers/").json()["count"] == 2
