"""Windows of time: how many points they have, and the same hours of days before."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from pools.monitoring import windows
from pools.monitoring.windows import RANGES

BERLIN = ZoneInfo("Europe/Berlin")


@pytest.mark.parametrize("days", [1, 2, 7, 30, 300, 366])
def test_no_window_has_more_than_about_three_hundred_points(days):
    since = datetime(2026, 1, 1, tzinfo=UTC)
    window = windows.between(since, since + timedelta(days=days))
    assert window.minutes / window.step <= 366
    assert window.begins % window.step == 0


def test_a_window_has_all_minutes_that_its_ends_touch():
    window = windows.between(datetime(2026, 3, 5, 16, 0, 30, tzinfo=UTC), datetime(2026, 3, 5, 16, 10, 1, tzinfo=UTC))
    assert (window.since, window.until) == (
        datetime(2026, 3, 5, 16, 0, tzinfo=UTC),
        datetime(2026, 3, 5, 16, 11, tzinfo=UTC),
    )


def test_a_window_of_seconds_has_a_minute():
    at = datetime(2026, 3, 5, 16, 0, tzinfo=UTC)
    assert windows.between(at, at + timedelta(seconds=1)).minutes == 1


@pytest.mark.parametrize("name", list(RANGES))
def test_every_step_is_a_part_of_a_day_so_that_days_before_have_the_same_steps(name):
    assert 24 * 60 % RANGES[name].step == 0
    assert RANGES[name].window().name == name


def test_the_day_before_has_the_same_hours_though_the_clocks_changed():
    since = datetime(2026, 3, 29, 9, 0, tzinfo=BERLIN)  # the night before had one hour less
    before = windows.between(since, since + timedelta(hours=1)).days_before(1, BERLIN)
    assert before.since.astimezone(BERLIN) == datetime(2026, 3, 28, 9, 0, tzinfo=BERLIN)
    assert before.minutes == 60


def test_a_window_that_no_chart_can_show_says_why():
    at = datetime(2026, 3, 5, tzinfo=UTC)
    assert windows.fault(at, at) == "it has to be later than the beginning"
    assert windows.fault(at, at + timedelta(days=367)) == "a window may last 366 days at most"
    assert windows.fault(at, at + timedelta(days=366)) == ""
