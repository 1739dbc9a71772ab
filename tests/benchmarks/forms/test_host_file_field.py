"""The form offers the plans that generators have, and tells what is missing only once it was sent."""

from typing import Any

import pytest
from django.test import Client

from tests.callers import person
from tests.pages import page_of
from tests.pools.records import a_cluster

pytestmark = pytest.mark.django_db
CREATE, PREVIEW = "/runs/new/", "/runs/new/preview/"
ENGINES = {"jmeter": "5.6"}


@pytest.fixture
def staff(client: Client) -> Client:
    client.force_login(person())
    return client


@pytest.fixture
def two(seen) -> None:
    seen("east", engines=ENGINES, files={"jmeter": {"both.jmx": "", "east.jmx": ""}})
    seen("west", engines=ENGINES, files={"jmeter": {"both.jmx": "", "bad.jmx": "a listener"}})


def typed(**more: Any) -> dict[str, Any]:
    cluster = a_cluster()
    return {"engine": "jmeter", "route": "direct", "cluster": cluster.pk, "database": "shop", "clients": "1", **more}


def choices(form: Any) -> list[str]:
    return [label for _, label in form.fields["plan"].choices]


def test_any_may_choose_what_one_has_and_several_what_all_have(two: None, staff: Client) -> None:
    page = staff.get(CREATE, {"engine": "jmeter"})
    form = page.context["form"]
    assert '<option value="east.jmx">east.jmx (on east)</option>' in page_of(page)
    assert choices(form) == ["Choose…", "bad.jmx (can't be used)", "both.jmx", "east.jmx (on east)"]
    form = staff.post(CREATE, typed(generators=["east", "west"], plan="east.jmx")).context["form"]
    assert choices(form) == ["Choose…", "both.jmx", "east.jmx"]
    assert form["plan"].value() == "east.jmx"


def test_where_no_generator_has_any_the_form_says_what_to_do(seen, staff: Client) -> None:
    seen("east", engines=ENGINES, files={"jmeter": {}})
    page = staff.get(CREATE, {"engine": "jmeter"})
    assert choices(page.context["form"]) == ["Choose…"]
    assert "No file found yet: put one into the folder of a generator" in page_of(page)


def test_what_the_ticked_generator_can_not_use_stands_beside_the_plan(two: None, staff: Client) -> None:
    for generator, plan, reported in (
        ("west", "east.jmx", "generator 'west' has no east.jmx: use both.jmx, or put it there"),
        ("west", "bad.jmx", "bad.jmx of generator 'west' can't be used: a listener"),
        ("east", "bad.jmx", "generator 'east' has no bad.jmx: use both.jmx, east.jmx, or put it there"),
    ):
        form = staff.post(CREATE, typed(generators=[generator], plan=plan)).context["form"]
        assert form.errors["plan"][0].startswith(reported)


def test_a_plan_that_was_not_chosen_yet_is_no_error_before_the_form_is_sent(two: None, staff: Client) -> None:
    page = page_of(staff.get(CREATE, {"engine": "jmeter"}))
    assert "choose a plan" not in page
    preview = page_of(staff.post(PREVIEW, typed()))
    assert "Not filled in yet: Plan<" in preview
    assert "errorlist" not in preview
    assert "choose a plan" in page_of(staff.post(CREATE, typed()))


def test_the_preview_still_names_what_was_typed_wrong(two: None, staff: Client) -> None:
    preview = page_of(staff.post(PREVIEW, typed(memory_mb="1")))
    assert "Memory of Java: 1 is out of range" in preview
    assert "Not filled in yet: Plan<" in preview
    assert "jmeter -n -t plan.jmx" in page_of(staff.post(PREVIEW, typed(plan="both.jmx")))
