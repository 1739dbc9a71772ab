"""The pages of ceilings: everybody looks, superusers set."""

import pytest
from django.contrib.auth.models import User
from django.test import Client

from benchmarks.models import Ceiling, Holder
from tests.callers import queries_of
from tests.pages import page_of
from tests.pools.records import a_cluster

pytestmark = pytest.mark.django_db
NEW = {"cluster": "", "holder": "staff", "clients": "100", "threads": "", "duration": "600", "scale": ""}


@pytest.fixture
def superuser() -> Client:
    client = Client()
    client.force_login(User.objects.create(username="super", is_staff=True, is_superuser=True))
    return client


def a_ceiling(**fields: object) -> Ceiling:
    return Ceiling.objects.create(**({"holder": Holder.STAFF, "clients": 100} | fields))


def test_a_superuser_sets_changes_and_removes_one(superuser: Client):
    assert "Set the first run limit" in page_of(superuser.get("/ceilings/"))
    assert superuser.post("/ceilings/new/", NEW).headers["Location"] == "/ceilings/"
    made = Ceiling.objects.get()
    assert (made.cluster, made.holder, made.clients, made.threads, made.duration) == (None, "staff", 100, None, 600)
    page = page_of(superuser.get("/ceilings/"))
    assert "every cluster" in page
    assert "staff who are not superusers" in page
    superuser.post(f"/ceilings/{made.pk}/", NEW | {"clients": "50"})
    assert Ceiling.objects.get().clients == 50
    assert superuser.post(f"/ceilings/{made.pk}/delete/").headers["Location"] == "/ceilings/"
    assert not Ceiling.objects.exists()


def test_staff_look_and_change_nothing(staff: Client):
    made = a_ceiling(cluster=a_cluster(name="shop"))
    page = page_of(staff.get("/ceilings/"))
    assert "shop" in page
    assert "Remove" not in page
    for address in ("/ceilings/new/", f"/ceilings/{made.pk}/", f"/ceilings/{made.pk}/delete/"):
        assert staff.post(address, NEW).status_code == 403
    assert staff.get("/ceilings/new/").status_code == 403
    assert Ceiling.objects.get().clients == 100


def test_readers_look(reader: Client):
    assert "Superusers may set run limits." in page_of(reader.get("/ceilings/"))


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"clients": "0"}, "0 would allow no run: use 1 or more, or leave it empty"),
        ({"clients": "", "duration": ""}, "no limit is set: give at least one of clients, threads, duration and scale"),
        ({"clients": "many"}, "Enter a whole number."),
        ({"holder": "guests"}, "Select a valid choice."),
    ],
)
def test_what_can_not_be_a_ceiling_is_told_and_stays_typed(superuser: Client, changed: dict[str, str], message: str):
    page = page_of(superuser.post("/ceilings/new/", NEW | changed))
    assert message in page
    assert not Ceiling.objects.exists()


def test_a_second_one_of_the_same_cluster_and_holder_is_refused(superuser: Client):
    a_ceiling()
    page = page_of(superuser.post("/ceilings/new/", NEW))
    assert "there is a run limit for every cluster, staff who are not superusers already: change that one" in page


def test_wrong_methods_and_ids_and_strangers(superuser: Client):
    assert superuser.post("/ceilings/").status_code == 405
    assert superuser.get(f"/ceilings/{a_ceiling().pk}/delete/").status_code == 405
    assert superuser.get("/ceilings/999/").status_code == 404
    assert superuser.post("/ceilings/999/delete/").status_code == 404
    assert Client().get("/ceilings/").status_code == 302


def test_the_list_asks_as_often_for_three_as_for_one(superuser: Client):
    a_ceiling(cluster=a_cluster())
    one = queries_of(superuser, "/ceilings/")
    for _ in range(2):
        a_ceiling(cluster=a_cluster())
    assert queries_of(superuser, "/ceilings/") == one
