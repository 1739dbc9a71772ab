"""The pages of events and thresholds."""

import uuid

import pytest
from django.utils import timezone

from pools.models import EventKind, Threshold
from pools.monitoring import thresholds
from tests.callers import queries_of
from tests.pages import page_of
from tests.pools.monitoring.records import an_event
from tests.pools.records import a_pool


def names(answer) -> list[str]:
    return [event.subject_name for event in answer.context["page"]]


def typed(**changes: str) -> dict[str, str]:
    """Return the current values of the thresholds form, changed by the arguments."""
    values = {}
    for kind, bound in thresholds.bounds().items():
        values[f"{kind}_enabled"] = "on"
        values[f"{kind}_for_s"] = str(int(bound.rule.for_s))
        if bound.watch.counts:
            values |= {f"{kind}_opens_at": str(bound.rule.opens_at), f"{kind}_closes_at": str(bound.rule.closes_at)}
    return values | changes


def test_events_are_found_by_state_kind_and_words(staff):
    an_event(a_pool(name="a"))
    an_event(a_pool(name="b"), closed_at=timezone.now())
    an_event(a_pool(name="c"), kind=EventKind.MAXWAIT)
    an_event(a_pool(name="brews"), opened_at=None)
    assert sorted(names(staff.get("/events/"))) == ["a", "b", "c"]
    assert sorted(names(staff.get("/events/?state=open"))) == ["a", "c"]
    assert names(staff.get("/events/?state=closed")) == ["b"]
    assert names(staff.get("/events/?kind=maxwait")) == ["c"]
    assert names(staff.get("/events/?q=b")) == ["b"]


def test_no_event_yet_and_none_that_matches_say_so(staff):
    assert "No events yet" in page_of(staff.get("/events/"))
    an_event(a_pool())
    assert "No event matches" in page_of(staff.get("/events/?q=nobody"))


def test_it_costs_the_same_with_one_and_three(staff):
    an_event(a_pool())
    once = queries_of(staff, "/events/")
    an_event(a_pool())
    an_event(a_pool())
    assert queries_of(staff, "/events/") == once


def test_who_has_seen_it_first_is_noted(staff, admin_user):
    event = an_event(a_pool())
    answer = staff.post(f"/events/{event.pk}/acknowledge/", {"next": "/events/?state=open"})
    assert answer.url == "/events/?state=open"
    event.refresh_from_db()
    first = event.acknowledged_by
    assert first.startswith("user-")
    staff.force_login(admin_user)
    staff.post(f"/events/{event.pk}/acknowledge/", {"next": "https://elsewhere.example"})
    event.refresh_from_db()
    assert event.acknowledged_by == first


def test_acknowledging_leads_nowhere_else(staff):
    event = an_event(a_pool())
    answer = staff.post(f"/events/{event.pk}/acknowledge/", {"next": "//elsewhere.example/events/"})
    assert answer.url == "/events/"
    assert staff.post(f"/events/{uuid.uuid4()}/acknowledge/").status_code == 404


def test_thresholds_are_saved_and_hold(staff):
    answer = staff.post("/events/thresholds/", typed(waiting_opens_at="20", waiting_for_s="60"), follow=True)
    assert "The thresholds are saved" in page_of(answer)
    rule = thresholds.bounds()[EventKind.WAITING].rule
    assert (rule.opens_at, rule.closes_at, rule.for_s) == (20, 1, 60)


def test_what_is_not_ticked_is_not_looked_after(staff):
    values = typed()
    del values["budget_enabled"]
    staff.post("/events/thresholds/", values)
    assert thresholds.bounds()[EventKind.BUDGET].enabled is False


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"waiting_closes_at": "9"}, "an event may not close below 9: use more than 0 and at most 5, where it opens"),
        ({"waiting_opens_at": "many"}, "Enter a number."),
        ({"drift_for_s": "-1"}, "Ensure this value is greater than or equal to 0."),
    ],
)
def test_a_wrong_threshold_is_said_beside_it_and_nothing_typed_is_lost(staff, changes, message):
    answer = staff.post("/events/thresholds/", typed(**changes, lag_opens_at="77"))
    page = page_of(answer)
    assert message in page
    assert 'value="77"' in page
    assert Threshold.objects.count() == 0


def test_a_test_says_what_became_of_it(staff, settings):
    assert "No channel is configured" in page_of(staff.post("/events/test/", follow=True))
    settings.WEBHOOK_URL = "http://127.0.0.1:1/"
    page = page_of(staff.post("/events/test/", follow=True))
    assert "The test by webhook did not arrive: the webhook did not answer within 5 s: " in page


def test_a_reader_sees_events_but_sets_no_thresholds(reader):
    an_event(a_pool())
    assert reader.get("/events/").status_code == 200
    assert reader.get("/events/thresholds/").status_code == 403
    assert reader.post("/events/test/").status_code == 403
