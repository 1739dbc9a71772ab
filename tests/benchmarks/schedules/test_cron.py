"""Times of cron lines: nights in which clocks change, and lines that are refused."""

from datetime import UTC, datetime, time
from itertools import islice

import pytest

from benchmarks.errors import InvalidFields
from benchmarks.schedules import cron
from benchmarks.schedules.cron import Rhythm

BERLIN = "Europe/Berlin"
WINTER = datetime(2026, 1, 10, 12, tzinfo=UTC)


def times(line: str, after: datetime, count: int = 3, zone: str = BERLIN) -> list[str]:
    return [f"{one.astimezone(UTC):%Y-%m-%d %H:%M}" for one in islice(cron.times(line, zone, after), count)]


def test_a_time_is_that_of_its_zone_in_summer_and_winter() -> None:
    assert times("15 2 * * *", datetime(2026, 6, 1, 12, tzinfo=UTC), 1) == ["2026-06-02 00:15"]
    assert times("15 2 * * *", WINTER, 1) == ["2026-01-11 01:15"]


def test_a_time_that_does_not_exist_starts_when_the_clock_has_gone_forward() -> None:
    evening = datetime(2026, 3, 28, 20, tzinfo=UTC)  # at 02:00 of the next day clocks go on to 03:00
    assert times("30 2 * * *", evening) == ["2026-03-29 01:00", "2026-03-30 00:30", "2026-03-31 00:30"]


def test_a_time_that_exists_twice_starts_once() -> None:
    evening = datetime(2026, 10, 24, 20, tzinfo=UTC)  # at 03:00 of the next day clocks go back to 02:00
    assert times("30 2 * * *", evening) == ["2026-10-25 00:30", "2026-10-26 01:30", "2026-10-27 01:30"]


def test_from_between_both_of_a_time_that_exists_twice_the_next_is_tomorrow_s() -> None:
    assert times("30 2 * * *", datetime(2026, 10, 25, 0, 30, tzinfo=UTC), 1) == ["2026-10-26 01:30"]
    assert times("30 2 * * *", datetime(2026, 10, 25, 0, 45, tzinfo=UTC), 1) == ["2026-10-26 01:30"]


def test_what_is_due_each_hour_is_due_in_each_hour_of_these_nights() -> None:
    hours = times("0 * * * *", datetime(2026, 10, 24, 23, 30, tzinfo=UTC), 4)
    assert hours == ["2026-10-25 00:00", "2026-10-25 01:00", "2026-10-25 02:00", "2026-10-25 03:00"]


@pytest.mark.parametrize(
    ("line", "rhythm", "words"),
    [
        (cron.daily(time(2, 15)), Rhythm.DAILY, "daily at 02:15"),
        (cron.weekly(0, time(23, 5)), Rhythm.WEEKLY, "each Sunday at 23:05"),
        ("15 2 * * 1-5", Rhythm.CRON, "15 2 * * 1-5"),
        ("99 2 * * *", Rhythm.CRON, "99 2 * * *"),
    ],
)
def test_a_line_is_read_as_what_made_it(line: str, rhythm: Rhythm, words: str) -> None:
    assert (cron.read(line)[0], cron.in_words(line)) == (rhythm, words)


def test_a_moment_is_shown_with_the_zone_of_its_day() -> None:
    assert cron.shown(datetime(2026, 3, 29, 0, 15, tzinfo=UTC), BERLIN) == "Sun 29 Mar 2026, 01:15 CET"
    assert cron.shown(datetime(2026, 3, 29, 1, 15, tzinfo=UTC), BERLIN) == "Sun 29 Mar 2026, 03:15 CEST"


def test_a_line_is_kept_with_single_blanks() -> None:
    assert cron.check(" 15  2 * * MON-FRI ", BERLIN, WINTER) == "15 2 * * MON-FRI"


@pytest.mark.parametrize(
    ("line", "zone", "field", "fault"),
    [
        ("15 2 * *", BERLIN, "cron", "a cron line has five fields"),
        ("0 15 2 * * *", BERLIN, "cron", "a cron line has five fields"),
        ("15 25 * * *", BERLIN, "cron", "15 25 * * * is not a cron line: Bad hour"),
        ("0 0 30 2 *", BERLIN, "cron", "0 0 30 2 * is not a cron line: Bad day-of-month"),
        ("* * * * *", BERLIN, "cron", "is due more often than every 5 minutes"),
        ("0,3 2 * * *", BERLIN, "cron", "is due more often than every 5 minutes"),
        ("15 2 * * *", "Europe/Atlantis", "time_zone", "'Europe/Atlantis' is not a time zone here"),
        ("15 2 * * *", "../etc/passwd", "time_zone", "'../etc/passwd' is not a time zone here"),
    ],
)
def test_what_is_no_schedule_is_refused_beside_its_field(line: str, zone: str, field: str, fault: str) -> None:
    with pytest.raises(InvalidFields) as refused:
        cron.check(line, zone, WINTER)
    assert list(refused.value.errors) == [field]
    assert fault in refused.value.errors[field][0]
