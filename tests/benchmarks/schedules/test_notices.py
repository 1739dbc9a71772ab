"""Messages of schedules: a change for the worse once, with link, size and interval; the week each Monday."""

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.utils import timezone

from benchmarks.models import NoticeKind, Schedule, ScheduledStart, ScheduleNotice, Status
from benchmarks.schedules import notices, regressions, weekly
from pools.inventory import notification_channels
from pools.monitoring import channels
from pools.monitoring.channels import DeliveryFailed, Letter
from tests.benchmarks.schedules.records import DUE, a_schedule
from tests.benchmarks.schedules.test_trends import a_night
from tests.pools.monitoring.test_notifications import a_channel

pytestmark = pytest.mark.django_db
STEADY = (100, 101, 99, 100, 102, 98, 100, 101)
DAY = timedelta(days=1)
MONDAY = datetime(2026, 11, 30, tzinfo=UTC)  # two nights after the first


@pytest.fixture(autouse=True)
def mailed(settings: Any, mailoutbox: list[Any]) -> list[Any]:
    settings.EMAIL_HOST, settings.WEBHOOK_URL, settings.PUBLIC_URL = "mail.invalid", "", "https://panel.example"
    settings.EMAIL_TO, settings.TIME_ZONE = ["dba@example.org"], "UTC"
    return mailoutbox


def measure(schedule: Schedule, *figures: float, first: int = 0) -> None:
    """Nights of these throughputs, each looked at when it has ended, as beat does."""
    for at, tps in enumerate(figures, first):
        a_night(schedule, at, tps, 10 + at % 2 / 10)
        regressions.judge_ended_nights()


def titles() -> list[str]:
    return [one.title for one in ScheduleNotice.objects.all()]


def test_a_fall_is_told_once_with_link_size_interval_and_surroundings(mailed: list[Any]) -> None:
    schedule = a_schedule(name="orders")
    measure(schedule, *STEADY)
    assert titles() == []
    measure(schedule, 80, 81, 79, 80, 82, 78, first=len(STEADY))
    assert titles() == ["orders: the throughput is ×0.80"]
    notices.send_due()
    notices.send_due()
    (message,) = mailed
    assert (message.subject, message.to) == ("Pooldeck: orders: the throughput is ×0.80", ["dba@example.org"])
    assert "Since Sun 6 Dec 2026, 02:15 UTC the throughput is ×0.80 (×0.7" in message.body
    assert f"https://panel.example/schedules/{schedule.pk}/trend/" in message.body


def test_the_night_that_shows_it_tells_it_and_no_earlier_one() -> None:
    schedule = a_schedule()
    measure(schedule, *STEADY, 50, 51)
    assert titles() == []
    measure(schedule, 49, first=len(STEADY) + 2)
    assert len(titles()) == 1


def test_a_rise_is_not_told() -> None:
    schedule = a_schedule()
    measure(schedule, *STEADY, *(one * 2 for one in STEADY))
    assert titles() == []


def test_a_fall_after_another_is_told_too() -> None:
    schedule = a_schedule(name="orders")
    measure(schedule, *STEADY, *(one * 0.8 for one in STEADY), *(one * 0.6 for one in STEADY))
    assert titles() == ["orders: the throughput is ×0.80", "orders: the throughput is ×0.75"]


def test_a_change_that_is_found_lost_and_found_again_is_told_once() -> None:
    schedule = a_schedule()
    measure(schedule, *STEADY, 80, 81, 79, 80)
    assert len(titles()) == 1
    measure(schedule, 140, 60, 130, 70, first=len(STEADY) + 4)
    measure(schedule, *[80, 81, 79, 80] * 3, first=len(STEADY) + 8)
    of_throughput = ScheduleNotice.objects.filter(metric="tps", since__lte=DUE + (len(STEADY) + 4) * DAY)
    assert of_throughput.count() == 1


def test_a_night_that_goes_on_is_looked_at_when_it_has_ended() -> None:
    schedule = a_schedule()
    a_night(schedule, 0, 100, 10, status="running", validity="", finished_at=None)
    regressions.judge_ended_nights()
    start = ScheduledStart.objects.get()
    assert (start.run is not None, start.judged_at) == (True, None)
    assert start.run is not None
    start.run.finish(Status.SUCCEEDED)
    regressions.judge_ended_nights()
    start.refresh_from_db()
    assert start.judged_at is not None


def test_who_opted_out_is_told_nothing() -> None:
    schedule = a_schedule(notify_on_change=False, weekly_summary=False)
    measure(schedule, *STEADY, 50, 51, 49, 50)
    Schedule.objects.update(created_at=DUE - DAY)
    weekly.queue_due(MONDAY + timedelta(hours=9))
    assert titles() == []


def test_without_a_channel_nothing_is_queued(settings: Any) -> None:
    settings.EMAIL_HOST = ""
    measure(a_schedule(), *STEADY, 50, 51, 49, 50)
    Schedule.objects.update(created_at=DUE - DAY)
    weekly.queue_due(MONDAY + timedelta(hours=9))
    assert titles() == []


def test_a_removed_channel_leaves_no_message_to_send() -> None:
    channel, schedule = a_channel(), a_schedule()
    notices.queue(schedule, NoticeKind.WEEK, MONDAY, "nightly: the week", "Nothing was due.")
    assert ScheduleNotice.objects.count() == 2
    notification_channels.remove(channel)
    assert [one.channel for one in ScheduleNotice.objects.all()] == ["email"]


def test_a_message_that_fails_is_sent_later_under_its_id(monkeypatch: pytest.MonkeyPatch) -> None:
    schedule, sent = a_schedule(), list[Letter]()

    def refuse(channel: str, letter: Letter) -> None:
        sent.append(letter)
        if len(sent) == 1:
            raise DeliveryFailed("the mail server did not accept it: full")

    monkeypatch.setattr(channels, "send", refuse)
    measure(schedule, *STEADY, 50, 51, 49, 50)
    notices.send_due()
    notice = ScheduleNotice.objects.get()
    assert (notice.sent_at, notice.attempts, "full" in notice.error) == (None, 1, True)
    notices.send_due()  # not due yet
    ScheduleNotice.objects.update(due_at=timezone.now())
    notices.send_due()
    notice.refresh_from_db()
    assert notice.sent_at is not None
    assert [letter.id for letter in sent] == [sent[0].id] * 2


def test_a_webhook_gets_it_in_the_shape_of_an_event() -> None:
    schedule = a_schedule(name="orders")
    measure(schedule, *STEADY, 50, 51, 49, 50)
    (message,) = notices.letter(NoticeKind.WORSE, list(ScheduleNotice.objects.all())).events
    assert message["subject"] == {"type": "schedule", "id": str(schedule.pk), "name": "orders"}
    assert (message["kind"], message["moment"], message["severity"]) == ("trend", "worse", "warning")
    assert message["value"] == pytest.approx(0.5, abs=0.01)
    assert json.loads(json.dumps(message)) == message


def test_the_week_of_all_schedules_is_one_message_on_monday_morning(mailed: list[Any]) -> None:
    first, second = a_schedule(name="orders"), a_schedule(name="billing")
    measure(first, 100, 101)
    missed_at = DUE + timedelta(hours=1)
    second.starts.create(due_at=missed_at, claimed_at=missed_at, state="missed", due_times=3, reason="no generator.")
    Schedule.objects.update(created_at=DUE - 30 * DAY)
    weekly.queue_due(MONDAY - timedelta(minutes=1))
    assert {one.since for one in ScheduleNotice.objects.all()} == {MONDAY - 7 * DAY}
    ScheduleNotice.objects.all().delete()
    Schedule.objects.update(created_at=MONDAY - 7 * DAY)
    weekly.queue_due(MONDAY + timedelta(hours=7))
    assert titles() == []
    for hour in (8, 9, 50):
        weekly.queue_due(MONDAY + timedelta(hours=hour))
    notices.send_due()
    (message,) = mailed
    assert message.subject == "Pooldeck: the week of 2 schedules"
    assert "orders: the week until 2026-11-30\nStarted: 2; missed: 0. Throughput: 100 tps, unchanged." in message.body
    assert "Started: 0; missed: 3. The latest was missed: no generator." in message.body
    assert f"https://panel.example/schedules/{first.pk}/" in message.body


def test_the_week_tells_what_changed_in_it_and_what_has_no_figure() -> None:
    schedule = a_schedule()
    measure(schedule, *STEADY, 80, 81, 79, 80, 82)  # up to 10 December
    a_night(schedule, len(STEADY) + 5, 1, 1, validity="suspect", reasons=["1 of 2 clients were busy"])
    (started, without, throughput, change, *_p95) = weekly.summary(schedule, datetime(2026, 12, 14, tzinfo=UTC))
    assert (started, without) == ("Started: 5; missed: 0.", "1 night has no valid figure.")
    assert throughput == "Throughput: 80 tps, unchanged."
    assert change.startswith("p95 latency: ")


def test_a_schedule_of_this_week_is_in_no_summary_of_the_last_one() -> None:
    a_schedule()
    Schedule.objects.update(created_at=MONDAY + timedelta(hours=1))
    weekly.queue_due(MONDAY + timedelta(hours=9))
    assert titles() == []
