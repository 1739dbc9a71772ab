"""The mode check on its page and in the pool form, without a server; with one in tests/live/pools."""

import pytest
from django.template.loader import render_to_string
from django.urls import reverse

from pools.advice.mode_linter import Report
from pools.models import Mode
from tests.pages import Page, flat, page_of
from tests.pools.records import a_pool, a_pooler, checked

pytestmark = pytest.mark.django_db


@pytest.fixture
def pool():
    pool = a_pool(mode=Mode.SESSION)
    checked(pool.cluster)
    return pool


def test_session_mode_breaks_nothing(staff, pool):
    page = page_of(staff.get(reverse("pool-mode-check", args=[pool.pk])))
    assert "Session mode breaks nothing" in page


def test_another_mode_is_judged_and_nothing_is_changed(staff, pool):
    page = page_of(staff.get(reverse("pool-mode-check", args=[pool.pk]), {"mode": "transaction"}))
    assert "What would transaction mode break?" in page
    assert "The cluster could not be asked what runs there" in page
    pool.refresh_from_db()
    assert pool.mode == Mode.SESSION


def test_the_form_asks_once_it_knows_where_the_pool_leads(staff, pool):
    url = reverse("wish-mode-check")
    spec = {"pooler": pool.pooler_id, "cluster": pool.cluster_id, "mode": "transaction", "user": "app"}
    assert staff.post(url, spec).content.strip() == b""
    assert "could not be asked" in page_of(staff.post(url, spec | {"database": "shop"}))
    assert staff.post(url, spec | {"database": "shop", "mode": "session"}).content.strip() == b""


def test_the_report_names_what_was_checked():
    report = Report(examined=["3 statements counted", "the last statement of 2 sessions"])
    found = Page(flat(render_to_string("pools/includes/mode_report.html", {"report": report, "mode": "transaction"})))
    assert "Nothing found that transaction mode breaks" in found
    assert "Sources checked: 3 statements counted, the last statement of 2 sessions." in found


def test_without_javascript_the_form_is_shown_again_with_the_answer(staff, pool):
    spec = {"name": "typed", "pooler": pool.pooler_id, "cluster": pool.cluster_id, "database": "shop", "user": "app"}
    page = page_of(staff.post(reverse("pool-create"), spec | {"mode": "statement", "size": 7, "refill": "mode"}))
    assert "could not be asked" in page
    assert 'value="typed"' in page


def test_only_staff_may_look_into_statements(reader, pool):
    assert reader.get(reverse("pool-mode-check", args=[pool.pk])).status_code == 403
    assert reader.post(reverse("wish-mode-check"), {}).status_code == 403


def test_the_form_of_a_standing_pool_asks_too_though_its_place_can_not_be_changed(staff, pool):
    spec = {"pool": pool.pk, "database": "shop", "user": "app", "mode": "transaction"}
    assert "could not be asked" in page_of(staff.post(reverse("wish-mode-check"), spec))


def test_a_pool_on_a_pgpool_is_told_that_it_has_no_other_mode(staff):
    pool = a_pool(pooler=a_pooler(kind="pgpool"), mode="session")
    url = reverse("pool-mode-check", args=[pool.pk])
    refusal = "transaction mode needs a PgBouncer"
    assert refusal in page_of(staff.get(url, {"mode": "transaction"}))
    assert refusal not in page_of(staff.get(url))
