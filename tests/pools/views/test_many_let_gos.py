"""The page on which many poolers are let go; with real ones: tests/live/pools/deployment/take_over/test_many.py."""

import pytest

from pools.models import Original, TakeOver, TakeOverState
from tests.callers import queries_of
from tests.pages import page_of
from tests.pools.records import a_pool, a_pooler

URL = "/poolers/let-go/"
ORIGINAL, APPENDED = "[databases]\napp = port=1\n", "%include pooldeck.ini\n"


def taken_over(name, folder, number=1):
    """A PgBouncer that is down; its folder has what the panel wrote, and its record the bytes before."""
    folder = folder / name
    folder.mkdir(mode=0o700)
    main = folder / "pgbouncer.ini"
    main.write_text(f"{ORIGINAL}{APPENDED}")
    main.chmod(0o600)
    pooler = a_pooler(name=name, config_dir=str(folder), config_file=str(main), file_paths={"x": "y"}, port=number)
    taken = TakeOver(pooler=pooler, config_file=str(main), state=TakeOverState.TAKEN, appended=APPENDED)
    taken.originals = {str(main): Original("main", ORIGINAL.encode())}
    taken.save()
    return pooler


@pytest.fixture
def taken(db, tmp_path):
    a_pooler(name="managed from the beginning")
    a_pooler(name="watched", config_dir="")
    return [taken_over(name, tmp_path) for name in ("edge1", "edge2")]


def test_only_those_that_were_taken_over_are_offered(staff, taken):
    a_pool(pooler=taken[0])
    assert [(one.name, one.total) for one in staff.get(URL).context["taken"]] == [("edge1", 1), ("edge2", 0)]
    assert f'href="{URL}"' in page_of(staff.get("/poolers/"))


def test_where_none_was_taken_over_that_is_told(staff, db):
    assert "No pooler was taken over" in page_of(staff.get(URL))
    assert f'href="{URL}"' not in page_of(staff.get("/poolers/"))


def test_each_chosen_one_asks_for_its_own_row(staff, taken):
    page = page_of(staff.get(URL, {"pooler": [one.pk for one in taken]}))
    assert all(f"/poolers/{one.pk}/let-go/row/" in page for one in taken)


def test_without_javascript_all_rows_come_at_once(staff, taken):
    page = page_of(staff.get(URL, {"pooler": [one.pk for one in taken], "whole": "1"}))
    assert page.count('type="checkbox" name="pooler"') == 2
    assert page.count(f"-{APPENDED.strip()}") == 2


def test_one_with_pools_of_its_own_stays_managed_with_the_reason(staff, taken):
    a_pool(pooler=taken[0], name="made-here")
    page = page_of(staff.get(f"/poolers/{taken[0].pk}/let-go/row/"))
    assert "remove made-here first" in page
    assert "stays managed" in page
    assert 'name="pooler"' not in page


def test_nothing_is_let_go_without_the_confirmation(staff, taken):
    sent = {"pooler": [taken[0].pk], "shown": [one.pk for one in taken]}
    answer = staff.post(URL, sent)
    assert answer.url == f"{URL}?pooler={taken[0].pk}&pooler={taken[1].pk}"
    assert "nothing was let go" in page_of(staff.get(answer.url))
    assert set(TakeOver.objects.values_list("state", flat=True)) == {TakeOverState.TAKEN}


def test_one_confirmation_lets_all_chosen_go_and_tells_of_the_others(staff, taken, tmp_path):
    third = taken_over("edge3", tmp_path)
    a_pool(pooler=third, name="made-here")
    sent = {"pooler": [taken[0].pk, taken[1].pk, third.pk], "confirm": "yes"}
    page = page_of(staff.post(URL, sent, follow=True))
    assert "Workers let 2 poolers go." in page
    assert "edge3: pools made since the take-over would be gone: remove made-here first" in page
    states = dict(TakeOver.objects.values_list("pooler__name", "state"))
    assert states == {"edge1": "leaving", "edge2": "leaving", "edge3": "taken"}
    assert "to be let go" in page_of(staff.get(f"/poolers/{taken[0].pk}/let-go/row/"))


def test_nothing_chosen_is_told(staff, taken):
    page = page_of(staff.post(URL, {"shown": [taken[0].pk], "confirm": "yes"}, follow=True))
    assert "Choose at least one pooler." in page


def test_what_is_no_id_is_left_out(staff, taken):
    assert staff.get(URL, {"pooler": "x"}).context["chosen"] == []


def test_readers_are_refused_and_see_no_link(reader, taken):
    for url in (URL, f"/poolers/{taken[0].pk}/let-go/row/"):
        assert reader.get(url).status_code == 403
    assert reader.post(URL, {"pooler": [taken[0].pk], "confirm": "yes"}).status_code == 403
    assert f'href="{URL}"' not in page_of(reader.get("/poolers/"))


def test_a_row_of_an_unknown_pooler_is_not_found(staff):
    assert staff.get("/poolers/5f0c1f0e-0000-4000-8000-000000000000/let-go/row/").status_code == 404


def test_the_choice_asks_as_much_for_many_poolers(staff, taken, tmp_path):
    before = queries_of(staff, URL)
    taken_over("edge3", tmp_path)
    assert queries_of(staff, URL) == before
