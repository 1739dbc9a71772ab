"""The page of the poolers of a cluster beside each other."""

import json
import re
import uuid
from typing import Any

import pytest

from pools.models import Revision, RevisionState
from tests.callers import queries_of
from tests.pages import page_of
from tests.pools.monitoring.records import a_minute, an_event
from tests.pools.records import a_cluster, a_pool, a_pooler


def course_of(page: str) -> dict[str, Any]:
    found = re.search(r'<script id="course" type="application/json">(.*?)</script>', page, re.DOTALL)
    assert found
    course: dict[str, Any] = json.loads(found[1])
    return course


def test_each_pooler_has_a_chart_and_all_have_one_scale(staff):
    cluster = a_cluster()
    pools = [a_pool(cluster=cluster, pooler=a_pooler(name=name)) for name in ("edge-a", "edge-b")]
    for pool, busy in zip(pools, (3, 8), strict=True):
        a_minute(pool, 5, sv_active=busy)
    page = page_of(staff.get(f"/clusters/{cluster.pk}/monitoring/"))
    course = course_of(page)
    assert [[row[1] for row in chart["rows"]] for chart in course["charts"].values()] == [[3], [8]]
    assert (course["most"], course["label"]) == (8, "Servers active")
    assert re.findall(r'data-chart="([\w-]+)"', page) == [str(pool.pooler_id) for pool in pools]


def test_another_figure_is_chosen_and_stays_with_another_window(staff):
    pool = a_pool()
    a_minute(pool, 5, queries_per_s=12)
    page = page_of(staff.get(f"/clusters/{pool.cluster_id}/monitoring/?figure=queries_per_s&range=day"))
    assert (course_of(page)["label"], course_of(page)["most"]) == ("Queries", 12)
    assert "?range=week&amp;figure=queries_per_s" in page
    unknown = page_of(staff.get(f"/clusters/{pool.cluster_id}/monitoring/?figure=password"))
    assert course_of(unknown)["label"] == "Servers active"


def test_the_same_stands_in_a_table_and_a_csv(staff):
    cluster = a_cluster(name="shop")
    for name, busy in (("edge-a", 3), ("edge-b", None)):
        pool = a_pool(cluster=cluster, pooler=a_pooler(name=name))
        if busy:
            a_minute(pool, 5, sv_active=busy)
    url = f"/clusters/{cluster.pk}/monitoring/?range=hour"
    assert "Servers active as a table" in page_of(staff.get(url))
    answer = staff.get(f"{url}&as=csv")
    assert answer["Content-Disposition"] == 'attachment; filename="pooldeck-shop-sv_active.csv"'
    head, row = answer.content.decode().splitlines()
    assert (head, row.split(",")[1:]) == ("from,edge-a,edge-b", ["3.0", ""])


def test_each_chart_has_the_revisions_of_its_pooler_and_all_have_the_events_of_the_cluster(staff):
    cluster = a_cluster()
    pools = [a_pool(cluster=cluster, pooler=a_pooler(name=name)) for name in ("edge-a", "edge-b")]
    for pool in pools:
        a_minute(pool, 5)
    Revision.objects.draft(pools[0].pooler, {}, summary="orders: size 3 → 7").finish(RevisionState.APPLIED)
    an_event(pools[1])
    page = page_of(staff.get(f"/clusters/{cluster.pk}/monitoring/"))
    marked = [[mark["kind"] for mark in chart["marks"]] for chart in course_of(page)["charts"].values()]
    assert marked == [["event", "size"], ["event"]]
    assert "edge-a: Revision 1 applied: orders: size 3 → 7" in page


def test_a_cluster_without_poolers_says_so(staff):
    page = page_of(staff.get(f"/clusters/{a_cluster().pk}/monitoring/"))
    assert "No pooler has a pool or an entry that leads to this cluster." in page


def test_a_window_that_can_not_be_read_says_why(staff):
    answer = staff.get(f"/clusters/{a_pool().cluster_id}/monitoring/?since=2026-03-05T16:00")
    assert answer.status_code == 422
    assert "This field is required." in page_of(answer)


def test_a_missing_cluster_is_not_found_and_a_reader_may_look(staff, reader):
    assert staff.get(f"/clusters/{uuid.uuid4()}/monitoring/").status_code == 404
    assert reader.get(f"/clusters/{a_cluster().pk}/monitoring/").status_code == 200


def test_the_page_costs_the_same_with_one_and_three_poolers(staff):
    cluster = a_cluster()
    url = f"/clusters/{cluster.pk}/monitoring/"
    a_minute(a_pool(cluster=cluster), 5)
    once = queries_of(staff, url)
    for _ in range(2):
        a_minute(a_pool(cluster=cluster), 5)
    assert queries_of(staff, url) == once


@pytest.mark.parametrize("method", ["post", "put", "delete"])
def test_it_is_only_read(staff, method):
    assert getattr(staff, method)(f"/clusters/{a_cluster().pk}/monitoring/").status_code == 405
