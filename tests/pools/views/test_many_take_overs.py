"""The page on which many poolers are taken over; with real ones: tests/live/pools/deployment/take_over/test_many.py."""

import pytest

from pools.models import TakeOver, TakeOverState
from tests.callers import queries_of
from tests.pages import page_of
from tests.pools.records import a_pooler, an_entry

URL = "/poolers/take-over/"


@pytest.fixture
def watched(db):
    """Two watched PgBouncers that are down, besides a managed one."""
    a_pooler(name="managed")
    return [a_pooler(name=name, config_dir="", port=1) for name in ("edge1", "edge2")]


def test_the_watched_poolers_are_offered_alone(staff, watched):
    an_entry(pooler=watched[0])
    a_pooler(name="balancer", config_dir="", kind="haproxy", port=2)
    offered = [(one.name, one.total) for one in staff.get(URL).context["watched"]]
    assert offered == [("balancer", 0), ("edge1", 1), ("edge2", 0)]


def test_where_none_is_watched_the_next_step_is_a_list(staff):
    assert "Paste a list" in page_of(staff.get(URL))


def test_each_chosen_one_asks_for_its_own_row(staff, watched):
    page = page_of(staff.get(URL, {"pooler": [one.pk for one in watched]}))
    assert all(f"/poolers/{one.pk}/take-over/row/" in page for one in watched)


def test_one_that_does_not_answer_stays_watched_with_the_reason(staff, watched):
    page = page_of(staff.get(f"/poolers/{watched[0].pk}/take-over/row/"))
    assert "Connection refused" in page
    assert "stays watched" in page
    assert 'name="pooler"' not in page


def test_the_consent_holds_for_the_files_and_entries_that_were_shown(staff, watched):
    first, second = watched
    sent = {
        "pooler": [first.pk, second.pk],
        "shown": [first.pk, second.pk],
        f"file-{first.pk}": "/etc/a.ini",
        f"file-{second.pk}": "/etc/b.ini",
        f"entries-{first.pk}": ["orders", "app"],
    }
    answer = staff.post(URL, sent)
    assert answer.url == f"{URL}?pooler={first.pk}&pooler={second.pk}"
    found = TakeOver.objects.order_by("config_file").values_list("pooler", "config_file", "names", "state")
    assert list(found) == [
        (first.pk, "/etc/a.ini", ["app", "orders"], TakeOverState.ASKED),
        (second.pk, "/etc/b.ini", [], TakeOverState.ASKED),
    ]
    assert "asked for" in page_of(staff.get(f"/poolers/{first.pk}/take-over/row/"))


def test_one_that_waits_already_is_told_and_the_others_are_asked_for(staff, watched):
    TakeOver.objects.create(pooler=watched[0], config_file="/etc/a.ini")
    page = page_of(staff.post(URL, {"pooler": [one.pk for one in watched]}, follow=True))
    assert "a take-over of pooler edge1 is already queued" in page
    assert "Workers take 1 pooler over" in page


def test_nothing_chosen_is_told(staff, watched):
    page = page_of(staff.post(URL, {"shown": [watched[0].pk]}, follow=True))
    assert "Choose at least one pooler." in page
    assert not TakeOver.objects.exists()


def test_what_is_no_id_is_left_out(staff, watched):
    assert staff.get(URL, {"pooler": "x"}).context["chosen"] == []


def test_readers_are_refused(reader, watched):
    for url in (URL, f"/poolers/{watched[0].pk}/take-over/row/"):
        assert reader.get(url).status_code == 403


def test_a_row_of_an_unknown_pooler_is_not_found(staff):
    assert staff.get("/poolers/5f0c1f0e-0000-4000-8000-000000000000/take-over/row/").status_code == 404


def test_the_choice_asks_as_much_for_many_poolers(staff, watched):
    before = queries_of(staff, URL)
    a_pooler(name="edge3", config_dir="", port=1)
    assert queries_of(staff, URL) == before
