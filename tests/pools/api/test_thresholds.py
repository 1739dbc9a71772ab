"""The API of the bounds of events."""

import pytest

from pools.models import EventKind, Threshold
from pools.monitoring import thresholds
from pools.monitoring.hysteresis import Rule
from tests.callers import anonymous, bearer, queries_of

pytestmark = pytest.mark.django_db
URL = "/api/v1/events/thresholds/"
WAITING = {
    "kind": "waiting",
    "title": "clients waiting for a connection",
    "severity": "warning",
    "measures": "clients of a pool that wait",
    "unit": "clients",
    "has_bounds": True,
    "falls": False,
    "enabled": True,
    "opens_at": 5.0,
    "closes_at": 1.0,
    "for_s": 30,
    "usual": {"opens_at": 5.0, "closes_at": 1.0, "for_s": 30},
}


def test_every_kind_is_listed_with_its_bounds(admin):
    described = admin.get(URL).json()
    assert described["results"][0] == WAITING
    assert [row["kind"] for row in described["results"]] == list(thresholds.WATCHES)
    assert described["count"] == len(EventKind)


def test_one_is_changed_and_the_rest_of_it_stays(admin):
    answer = admin.patch(f"{URL}waiting/", {"opens_at": 50, "enabled": False})
    changed = WAITING | {"opens_at": 50.0, "enabled": False}
    assert (answer.status_code, answer.json(), admin.get(f"{URL}waiting/").json()) == (200, changed, changed)
    assert thresholds.bounds()[EventKind.WAITING].rule == Rule(50, 1, 30)


def test_one_without_bounds_is_switched_off_and_delayed(admin):
    answer = admin.patch(f"{URL}drift/", {"enabled": False, "for_s": 120}).json()
    assert (answer["has_bounds"], answer["enabled"], answer["for_s"]) == (False, False, 120)


@pytest.mark.parametrize(
    ("kind", "asked", "field", "described"),
    [
        ("waiting", {"opens_at": 1, "closes_at": 5}, "waiting", "at most 1, where it opens"),
        ("waiting", {"opens_at": "inf"}, "opens_at", "A valid number is required"),
        ("waiting", {"for_s": -1}, "for_s", "greater than or equal to 0"),
        ("waiting", {"opens": 5}, "opens", "use enabled, opens_at, closes_at, for_s"),
        ("drift", {"opens_at": 2}, "opens_at", "this event has no thresholds"),
    ],
)
def test_what_can_not_hold_is_refused_by_name(admin, kind, asked, field, described):
    answer = admin.patch(f"{URL}{kind}/", asked)
    assert (answer.status_code, list(answer.json())) == (400, [field])
    assert described in answer.json()[field][0]
    assert Threshold.objects.count() == 0


def test_nobody_else_and_nothing_else_changes_them(admin):
    assert anonymous().get(URL).status_code == 401
    assert bearer("read").get(URL).status_code == 200
    assert bearer("read").patch(f"{URL}waiting/", {"for_s": 1}).status_code == 403
    assert admin.get(f"{URL}weather/").status_code == 404
    assert admin.patch(f"{URL}weather/", {}).status_code == 404
    assert (admin.post(URL, {}).status_code, admin.delete(f"{URL}waiting/").status_code) == (405, 405)


def test_they_cost_the_same_with_one_and_three_changed(admin):
    admin.patch(f"{URL}waiting/", {"for_s": 1})
    once = queries_of(admin, URL)
    for kind in ("drift", "lag"):
        admin.patch(f"{URL}{kind}/", {"for_s": 1})
    assert queries_of(admin, URL) == once
