"""The pages of what pools and poolers do."""

import json
import re
import uuid
from datetime import datetime
from zoneinfo import ZoneInfo

import pytest
from django.urls import reverse

from pools.models import Revision, RevisionState
from pools.monitoring import recorder
from pools.monitoring.rollup import Snapshot
from pools.poolers.console_sample import Counters, PoolFigures
from tests.callers import queries_of
from tests.pages import page_of
from tests.pools.monitoring.records import a_minute, an_event
from tests.pools.records import a_pool, a_pooler, an_entry


def course_of(page: str) -> dict[str, object]:
    found = re.search(r'<script id="course" type="application/json">(.*?)</script>', page, re.DOTALL)
    assert found
    course: dict[str, object] = json.loads(found[1])
    return course


@pytest.mark.parametrize("range_", ["live", "quarter_hour", "hour", "six_hours", "day", "week"])
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


def at_minute(minute: int, zone: str = "UTC") -> str:
    return datetime.fromtimestamp(minute * 60, ZoneInfo(zone)).strftime("%Y-%m-%dT%H:%M")


def test_an_address_with_both_ends_shows_these_hours_in_its_zone(staff):
    pool = a_pool()
    minute = a_minute(pool, 200, cl_active=4).minute
    ends = {"since": at_minute(minute - 5, "Asia/Tokyo"), "until": at_minute(minute + 5, "Asia/Tokyo")}
    page = page_of(staff.get(f"/pools/{pool.pk}/monitoring/", {**ends, "zone": "Asia/Tokyo"}))
    course = course_of(page)
    assert (course["range"], course["zone"], len(course["rows"])) == ("window", "Asia/Tokyo", 1)
    assert (course["begins"], course["ends"]) == ((minute - 5) * 60, (minute + 5) * 60)
    shown = at_minute(minute, "Asia/Tokyo").replace("T", " ")
    assert re.search(rf'<th scope="row">\s*{shown}\s*</th>', page)


def test_the_link_of_a_range_shows_the_same_hours_later(staff):
    pool = a_pool()
    a_minute(pool, 3, cl_active=4)
    url = f"/pools/{pool.pk}/monitoring/"
    answer = staff.get(f"{url}?range=six_hours&zone=Europe/Berlin")
    again = staff.get(f"{url}?{answer.context['choice'].fixed_query}")
    first, second = course_of(page_of(answer)), course_of(page_of(again))
    assert {name: first[name] for name in ("begins", "ends", "zone", "step", "rows", "compared")} == {
        name: second[name] for name in ("begins", "ends", "zone", "step", "rows", "compared")
    }


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("since=2026-03-05T16:00&until=2026-03-05T15:00", "it has to be later than the beginning"),
        ("since=2026-03-05T16:00", "This field is required."),
        ("since=2020-03-05T16:00&until=2026-03-05T15:00", "a window may last 366 days at most"),
        ("since=2026-03-29T02:30&until=2026-03-29T05:00&zone=Europe/Berlin", "couldn’t be interpreted"),
        ("since=2026-03-05T15:00&until=2026-03-05T16:00&zone=Mars/Olympus", "unknown time zone Mars/Olympus"),
        ("since=2026-03-05T15:00&until=2026-03-05T16:00&zone=../../etc/passwd", "unknown time zone"),
        ("since=soon&until=2026-03-05T16:00", "Enter a valid date/time."),
    ],
)
def test_a_window_that_can_not_be_read_says_why_beside_its_field(staff, query, text):
    answer = staff.get(f"/pools/{a_pool().pk}/monitoring/?{query}")
    assert answer.status_code == 422
    assert text in page_of(answer)


def test_the_same_hours_of_days_before_stand_beside_a_day_and_beside_longer_ones_those_of_a_week_before(staff):
    pool = a_pool()
    for days in (0, 1, 7):
        a_minute(pool, 10 + days * 24 * 60, cl_active=days, sv_idle=5)
    url = f"/pools/{pool.pk}/monitoring/"
    course = course_of(page_of(staff.get(f"{url}?range=hour")))
    day, week = course["compared"]
    assert (day["name"], day["label"]) == ("day", "the day before")
    assert (week["name"], week["label"]) == ("week", "the week before")
    rows = [dict(zip(one["columns"], one["rows"][0], strict=True)) for one in (day, week)]
    assert [row["cl_active"] for row in rows] == [1, 7]
    assert {row["t"] for row in rows} == {course["rows"][0][0]}, "they stand at the time of the window that is shown"
    assert "sv_idle" not in day["columns"]
    for query, names in (("range=week", ["week"]), ("range=hour&compare=week", ["week"]), ("range=hour&compare=", [])):
        compared = course_of(page_of(staff.get(f"{url}?{query}")))["compared"]
        assert [one["name"] for one in compared] == names, query


def test_days_before_that_have_no_figures_say_whether_they_are_kept(staff, settings):
    settings.HISTORY_DAYS = 3
    pool = a_pool()
    a_minute(pool, 1)
    page = page_of(staff.get(f"/pools/{pool.pk}/monitoring/?range=hour"))
    assert "Nothing was recorded in the same hours of the day before." in page
    assert "The same hours of the week before are no longer kept" in page


def test_what_happened_is_marked_in_the_charts_and_listed_below(staff):
    pool = a_pool(name="orders")
    a_minute(pool, 1)
    an_event(pool)
    Revision.objects.draft(pool.pooler, {}, summary="orders: size 3 → 7").finish(RevisionState.APPLIED)
    page = page_of(staff.get(f"/pools/{pool.pk}/monitoring/?range=hour"))
    found = re.search(r'<script id="marks" type="application/json">(.*?)</script>', page, re.DOTALL)
    assert found
    assert [(mark["kind"], mark["label"]) for mark in json.loads(found[1])] == [
        ("event", "clients waiting for a connection"),
        ("size", "size 3 → 7"),
    ]
    assert f'href="/poolers/{pool.pooler_id}/revisions/1/"' in page
    assert re.findall(r'data-mark-kind="(\w+)"', page) == ["event", "size"]
    live = page_of(staff.get(f"/pools/{pool.pk}/monitoring/"))
    buttons = re.findall(r'data-mark-kind="(\w+)"\s*(hidden)?', live)
    assert [kind for kind, hidden in buttons if not hidden] == ["event", "size"]
    assert [kind for kind, hidden in buttons if hidden] == ["normal", "restart", "revision", "run"]


def test_each_chart_has_a_table_and_its_csv(staff):
    pool = a_pool(name="web")
    a_minute(pool, 2, cl_active=4, queries_per_s=1.5, query_ms=None)
    url = f"/pools/{pool.pk}/monitoring/?range=hour"
    page = page_of(staff.get(url))
    assert re.findall(r'data-table="(\w+)"', page) == ["connections", "rates", "times", "maxwait", "bytes"]
    answer = staff.get(f"{url}&as=csv&chart=rates")
    assert answer["Content-Type"] == "text/csv; charset=utf-8"
    assert answer["Content-Disposition"] == 'attachment; filename="pooldeck-web-rates.csv"'
    head, row = answer.content.decode().splitlines()
    assert head == "from,queries_per_s,queries_per_s_max,transactions_per_s,transactions_per_s_max"
    assert row.split(",")[1:] == ["1.5", "1.5", "0.0", "0.0"]
    unknown = staff.get(f"{url}&as=csv&chart=x%0Ay")
    assert unknown["Content-Disposition"] == 'attachment; filename="pooldeck-web-all.csv"'
    assert len(unknown.content.decode().splitlines()[0].split(",")) == 27


def test_an_entry_has_the_same_choices(staff):
    entry = an_entry(pooler=a_pooler())
    page = page_of(staff.get(f"/entries/{entry.pk}/monitoring/?range=day"))
    assert course_of(page)["range"] == "day"
    assert "15 min" in page


@pytest.mark.parametrize("noun", ["pool", "pooler", "entry"])
def test_the_charts_of_an_overview_have_their_tables_too(staff, monkeypatch, noun):
    pool = a_pool(name="web")
    subject = {"pool": pool, "pooler": pool.pooler, "entry": an_entry(name="web", pooler=pool.pooler)}[noun]
    counted = [{"web": Counters(queries=queries)} for queries in (0, 1200)]
    snapshots = [Snapshot(10.0 * at, {"web": PoolFigures(cl_active=17)}, one) for at, one in enumerate(counted)]
    monkeypatch.setattr(recorder, "recent", lambda _pooler: snapshots)
    page = page_of(staff.get(reverse(f"{noun}-detail", args=[subject.pk])))
    assert re.findall(r'data-table="(\w+)"', page) == ["connections", "rates"]
    assert re.findall(r'<td class="pd-number">\s*(17|120)\s*</td>', page) == ["17", "120"]
    (csv,) = re.findall(r'href="([^"]*as=csv&amp;chart=rates)"', page)
    answer = staff.get(csv.replace("&amp;", "&"))
    assert "queries_per_s" in answer.text
    assert "120.0" in answer.text
