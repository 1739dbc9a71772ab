"""The pages of ceilings: everybody looks, administrators set."""

import pytest
from django.test import Client

from benchmarks.models import Ceiling, Holder
from core.accounts.models import Role
from tests.callers import person, queries_of
from tests.pages import page_of
from tests.pools.records import a_cluster

pytestmark = pytest.mark.django_db
NEW = {"cluster": "", "holder": "staff", "clients": "100", "threads": "", "duration": "600", "scale": ""}


def a_ceiling(**fields: object) -> Ceiling:
    return Ceiling.objects.create(**({"holder": Holder.STAFF, "clients": 100} | fields))


def test_an_administrator_sets_changes_and_removes_one(staff: Client):
    assert "Set the first run limit" in page_of(staff.get("/ceilings/"))
    assert staff.post("/ceilings/new/", NEW).headers["Location"] == "/ceilings/"
    made = Ceiling.objects.get()
    assert (made.cluster, made.holder, made.clients, made.threads, made.duration) == (None, "staff", 100, None, 600)
    page = page_of(staff.get("/ceilings/"))
    assert "every cluster" in page
    assert "everyone but administrators" in page
    staff.post(f"/ceilings/{made.pk}/", NEW | {"clients": "50"})
    assert Ceiling.objects.get().clients == 50
    assert staff.post(f"/ceilings/{made.pk}/delete/").headers["Location"] == "/ceilings/"
    assert not Ceiling.objects.exists()


@pytest.mark.parametrize("role", Role)
def test_no_role_in_a_team_changes_what_limits_it(client: Client, role: Role):
    made, user = a_ceiling(cluster=a_cluster(name="shop")), person(staff=False)
    user.memberships.update(role=role)
    client.force_login(user)
    page = page_of(client.get("/ceilings/"))
    assert "shop" in page
    assert "Remove" not in page
    for address in ("/ceilings/new/", f"/ceilings/{made.pk}/", f"/ceilings/{made.pk}/delete/"):
        assert client.post(address, NEW).status_code == 403
    assert client.get("/ceilings/new/").status_code == 403
    assert Ceiling.objects.get().clients == 100


def test_readers_look(reader: Client):
    assert "Administrators may set run limits." in page_of(reader.get("/ceilings/"))


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"clients": "0"}, "0 would allow no run: use 1 or more, or leave it empty"),
        ({"clients": "", "duration": ""}, "no limit is set: give at least one of clients, threads, duration and scale"),
        ({"clients": "many"}, "Enter a whole number."),
        ({"holder": "guests"}, "Select a valid choice."),
    ],
)
def test_what_can_not_be_a_ceiling_is_told_and_stays_typed(staff: Client, changed: dict[str, str], message: str):
    page = page_of(staff.post("/ceilings/new/", NEW | changed))
    assert message in page
    assert not Ceiling.objects.exists()


def test_a_second_one_of_the_same_cluster_and_holder_is_refused(staff: Client):
    a_ceiling()
    page = page_of(staff.post("/ceilings/new/", NEW))
    assert "there is a run limit for every cluster, everyone but administrators already: change that one" in page


def test_wrong_methods_and_ids_and_strangers(staff: Client):
    assert staff.post("/ceilings/").status_code == 405
    assert staff.get(f"/ceilings/{a_ceiling().pk}/delete/").status_code == 405
    assert staff.get("/ceilings/999/").status_code == 404
    assert staff.post("/ceilings/999/delete/").status_code == 404
    assert Client().get("/ceilings/").status_code == 302


def test_the_list_asks_as_often_for_three_as_for_one(staff: Client):
    a_ceiling(cluster=a_cluster())
    one = queries_of(staff, "/ceilings/")
    for _ in range(2):
        a_ceiling(cluster=a_cluster())
    assert queries_of(staff, "/ceilings/") == one
