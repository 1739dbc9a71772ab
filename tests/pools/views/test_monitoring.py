"""The pages of what pools and poolers do."""

import json
import re
import uuid

import pytest

from tests.callers import queries_of
from tests.pages import page_of
from tests.pools.monitoring.records import a_minute, an_event
from tests.pools.records import a_pool, a_pooler


def course_of(page: str) -> dict[str, object]:
    found = re.search(r'<script id="course" type="application/json">(.*?)</script>', page, re.DOTALL)
    assert found
    course: dict[str, object] = json.loads(found[1])
    return course


@pytest.mark.parametrize("range_", ["live", "hour", "day", "week"])
def test_each_range_of_a_pool_and_of_its_pooler_can_be_looked_at(staff, range_):
    pool = a_pool(name="web")
    a_minute(pool, 1, cl_active=4)
    for noun, pk in (("pools", pool.pk), ("poolers", pool.pooler_id)):
        answer = staff.get(f"/{noun}/{pk}/monitoring/?range={range_}")
        assert answer.status_code == 200
        assert course_of(page_of(answer))["range"] == range_


def test_a_range_nobody_knows_is_the_live_one(staff):
    pool = a_pool()
    assert staff.get(f"/pools/{pool.pk}/monitoring/?range=century").context["chosen"] == "live"


def test_history_is_drawn_from_averages_and_maxima_and_stands_in_a_table_too(staff):
    pool = a_pool()
    a_minute(pool, 2, cl_active=4, queries_per_s=1234.5)
    page = page_of(staff.get(f"/pools/{pool.pk}/monitoring/?range=hour"))
    course = course_of(page)
    row = dict(zip(course["columns"], course["rows"][0], strict=True))
    assert (row["cl_active"], row["cl_active_max"], row["queries_per_s"]) == (4, 4, 1234.5)
    assert "1,234 / 1,234" in page or "1,235 / 1,235" in page


def test_an_empty_history_says_why(staff):
    page = page_of(staff.get(f"/pools/{a_pool().pk}/monitoring/?range=week"))
    assert "Nothing was recorded in this time." in page


def test_a_silent_console_is_said_and_shows_no_zeros(staff):
    pool = a_pool()
    pool.pooler.mark("unreachable", error="pooler edge can't be reached: refused")
    page = page_of(staff.get(f"/pools/{pool.pk}/monitoring/"))
    assert "No figures: pooler edge can&#x27;t be reached: refused" in page


def test_of_a_pgpool_only_what_it_counts_is_shown(staff):
    pool = a_pool(name="shop", pooler=a_pooler(kind="pgpool", port=1))
    for url in (f"/pools/{pool.pk}/", f"/poolers/{pool.pooler_id}/"):
        page = page_of(staff.get(url))
        assert re.findall(r'data-chart="(\w+)"', page) == ["sessions"]
    for url in (f"/pools/{pool.pk}/monitoring/", f"/poolers/{pool.pooler_id}/monitoring/"):
        page = page_of(staff.get(url))
        assert re.findall(r'data-chart="(\w+)"', page) == ["sessions"]
        assert re.findall(r'data-figure="(\w+)"', page) == ["cl_active", "sv_active", "sv_idle"]
        assert "SHOW POOLS" not in page
        assert "no waiting clients" in page


def test_events_stand_on_the_page_of_their_pool_and_its_pooler(staff):
    pool = a_pool()
    an_event(pool)
    an_event(a_pool(), message="of another")
    for url in (f"/pools/{pool.pk}/", f"/poolers/{pool.pooler_id}/", f"/pools/{pool.pk}/monitoring/"):
        page = page_of(staff.get(url))
        assert "7 clients wait for one of the 10 server connections" in page
        assert "of another" not in page


def test_what_is_not_there_is_not_found(staff):
    assert staff.get(f"/pools/{uuid.uuid4()}/monitoring/").status_code == 404
    assert staff.get(f"/poolers/{uuid.uuid4()}/monitoring/").status_code == 404


def test_a_page_costs_the_same_with_one_and_three_minutes_and_events(staff):
    pool = a_pool()
    url = f"/pools/{pool.pk}/monitoring/?range=hour"
    a_minute(pool, 1)
    an_event(pool)
    once = queries_of(staff, url)
    a_minute(pool, 2)
    a_minute(pool, 3)
    an_event(pool, kind="maxwait")
    assert queries_of(staff, url) == once


def test_a_reader_may_look(reader):
    assert reader.get(f"/pools/{a_pool().pk}/monitoring/").status_code == 200
