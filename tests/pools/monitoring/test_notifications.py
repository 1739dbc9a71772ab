"""When notices become messages: one for each cause, none in quiet hours, and none lost."""

import uuid
from datetime import UTC, datetime, time, timedelta
from typing import Any

import pytest
from django.utils import timezone
from pytest_django import Settings

from core.lib import chat_services
from core.lib.chat_services import Message, SentInPart
from pools.inventory import notification_channels
from pools.models import Event, EventKind, Moment, Notice, NotificationChannel, Severity
from pools.monitoring import channels, notice_delivery, notifications
from pools.monitoring.channels import DeliveryFailed
from pools.monitoring.letters import Letter
from tests.pools.monitoring.records import an_event
from tests.pools.records import a_pool, a_pooler

pytestmark = pytest.mark.django_db
NOON = datetime(2026, 3, 4, 12, 0, tzinfo=UTC)
MIDNIGHT = datetime(2026, 3, 5, 0, 0, tzinfo=UTC)


class Clock:
    """The time that the panel sees."""

    def __init__(self, now: datetime) -> None:
        self.now = now

    def __call__(self) -> datetime:
        return self.now

    def pass_s(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock(NOON)
    monkeypatch.setattr(timezone, "now", clock)
    return clock


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[Letter]:
    """What was sent to services."""
    letters: list[Letter] = []
    monkeypatch.setattr(channels, "_send_to_service", lambda _code, letter: letters.append(letter))
    return letters


def a_channel(**values: Any) -> NotificationChannel:
    return notification_channels.register(
        {"name": "on-call", "url": "ntfys://ntfy.example/dba", "time_zone": "UTC"} | values
    )


def opened(*events: Event) -> None:
    Notice.of(list(events), Moment.OPENED, channels.configured())


def closed(event: Event) -> None:
    event.closed_at = timezone.now()
    event.save(update_fields=["closed_at"])
    Notice.of([event], Moment.CLOSED, channels.configured())


def names(letter: Letter) -> list[tuple[str, str]]:
    return [(one["subject"]["name"], one["moment"]) for one in letter.events]


def test_events_of_one_pooler_within_a_minute_are_one_message(clock: Clock, sent: list[Letter]) -> None:
    a_channel()
    pooler, other = a_pooler(), a_pooler()
    opened(an_event(a_pool(name="a", pooler=pooler)))
    clock.pass_s(30)
    opened(an_event(a_pool(name="b", pooler=pooler), severity=Severity.CRITICAL, kind=EventKind.FAILING))
    opened(an_event(a_pool(name="c", pooler=other)))
    notifications.send_due()
    assert sent == []
    clock.pass_s(30)
    notifications.send_due()
    (first,) = sent
    assert names(first) == [("a", "opened"), ("b", "opened")]
    assert first.subject == "Pooldeck: opened: pool failing (pool b), and 1 more"
    assert first.urgency == "failure"
    clock.pass_s(30)
    notifications.send_due()
    assert [names(letter) for letter in sent[1:]] == [[("c", "opened")]]
    notifications.send_due()
    assert len(sent) == 2


def test_an_end_closes_it(clock: Clock, sent: list[Letter]) -> None:
    a_channel(group_s=0)
    event = an_event(a_pool(name="a"))
    opened(event)
    notifications.send_due()
    clock.pass_s(90)
    closed(event)
    notifications.send_due()
    assert [letter.urgency for letter in sent] == ["warning", "success"]
    assert sent[1].subject == "Pooldeck: closed: clients waiting for a connection (pool a)"


def test_a_repeated_event_says_how_often_and_since_when(clock: Clock, sent: list[Letter]) -> None:
    a_channel(group_s=0)
    pool = a_pool(name="a")
    for _time in range(3):
        event = an_event(pool, opened_at=timezone.now())
        opened(event)
        notifications.send_due()
        closed(event)
        notifications.send_due()
        clock.pass_s(600)
    last = sent[-2]
    assert "It has opened 3 times since 2026-03-04T12:00:00+00:00." in last.text()
    assert "It has opened" not in sent[0].text()


def test_what_comes_in_quiet_hours_is_one_digest_at_their_end(clock: Clock, sent: list[Letter]) -> None:
    a_channel(quiet_from=datetime(1, 1, 1, 22).time(), quiet_until=datetime(1, 1, 1, 7).time(), urgent_passes=False)
    clock.now = MIDNIGHT
    pool = a_pool()
    events = [an_event(pool, subject_id=uuid.uuid4(), severity=Severity.CRITICAL) for _number in range(250)]
    opened(*events)
    closed(events[0])
    for _hour in range(7):
        notifications.send_due()
        clock.pass_s(3600)
    assert sent == []
    notifications.send_due()
    (digest,) = sent
    assert len(digest.events) == 251
    assert digest.subject == "Pooldeck: 251 messages were held back in quiet hours"
    assert "241 more events are on the events page." in digest.text(10)
    notifications.send_due()
    assert (len(sent), Notice.objects.filter(sent_at=None).count()) == (1, 0)


def test_critical_events_pass_where_that_was_chosen(clock: Clock, sent: list[Letter]) -> None:
    a_channel(quiet_from=datetime(1, 1, 1, 22).time(), quiet_until=datetime(1, 1, 1, 7).time(), group_s=0)
    clock.now = MIDNIGHT
    opened(an_event(a_pool(name="minor")), an_event(a_pool(name="major"), severity=Severity.CRITICAL))
    notifications.send_due()
    assert [names(letter) for letter in sent] == [[("major", "opened")]]
    clock.now = MIDNIGHT + timedelta(hours=7)
    notifications.send_due()
    assert [names(letter) for letter in sent[1:]] == [[("minor", "opened")]]
    assert sent[1].is_digest


def test_what_was_held_back_is_sent_once_the_quiet_hours_are_taken_away(clock: Clock, sent: list[Letter]) -> None:
    channel = a_channel(quiet_from=datetime(1, 1, 1, 22).time(), quiet_until=datetime(1, 1, 1, 7).time())
    clock.now = MIDNIGHT
    opened(an_event(a_pool()))
    notifications.send_due()
    notification_channels.change(channel, {"quiet_from": None, "quiet_until": None})
    notifications.send_due()
    assert len(sent) == 1


def test_a_digest_that_fails_is_sent_again(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    a_channel(quiet_from=datetime(1, 1, 1, 22).time(), quiet_until=datetime(1, 1, 1, 7).time())
    tried: list[Letter] = []

    def refuse(_code: str, letter: Letter) -> None:
        tried.append(letter)
        if len(tried) == 1:
            raise DeliveryFailed("no")

    monkeypatch.setattr(channels, "_send_to_service", refuse)
    clock.now = MIDNIGHT
    opened(an_event(a_pool()), an_event(a_pool()))
    notifications.send_due()
    clock.now = MIDNIGHT + timedelta(hours=7)
    notifications.send_due()
    clock.pass_s(notice_delivery.FIRST_WAIT_S)
    notifications.send_due()
    assert [len(letter.events) for letter in tried] == [2, 2]
    assert len({letter.id for letter in tried}) == 1


def test_a_message_that_began_to_be_sent_is_sent_on_in_quiet_hours(
    clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    a_channel(quiet_from=datetime(1, 1, 1, 22).time(), quiet_until=datetime(1, 1, 1, 7).time(), group_s=0)
    tried: list[uuid.UUID] = []

    def refuse(_code: str, letter: Letter) -> None:
        tried.append(letter.id)
        raise DeliveryFailed("no")

    monkeypatch.setattr(channels, "_send_to_service", refuse)
    clock.now = datetime(2026, 3, 4, 21, 59, 55, tzinfo=UTC)
    opened(an_event(a_pool()))
    notifications.send_due()
    clock.pass_s(20)
    notifications.send_due()
    assert len(tried) == 2


def test_channels_know_nothing_of_each_other(clock: Clock, sent: list[Letter], settings: Settings) -> None:
    a_channel(quiet_from=datetime(1, 1, 1, 22).time(), quiet_until=datetime(1, 1, 1, 7).time())
    a_channel(name="chat", group_s=0)
    clock.now = MIDNIGHT
    opened(an_event(a_pool()))
    notifications.send_due()
    assert len(sent) == 1
    assert Notice.objects.filter(sent_at=None, is_held=True).count() == 1


@pytest.mark.parametrize(
    ("zone", "now", "ends"),
    [
        ("UTC", "2026-03-04T22:00:00+00:00", "2026-03-05T07:00:00+00:00"),
        ("UTC", "2026-03-04T21:59:59+00:00", None),
        ("UTC", "2026-03-05T06:59:59+00:00", "2026-03-05T07:00:00+00:00"),
        ("UTC", "2026-03-05T07:00:00+00:00", None),
        ("Asia/Tokyo", "2026-03-04T13:00:00+00:00", "2026-03-04T22:00:00+00:00"),
        ("Europe/Berlin", "2026-03-28T21:30:00+00:00", "2026-03-29T05:00:00+00:00"),  # clocks go forward that night
        ("Europe/Berlin", "2026-10-24T20:30:00+00:00", "2026-10-25T06:00:00+00:00"),  # and back
        ("Europe/Berlin", "2026-10-25T05:30:00+00:00", "2026-10-25T06:00:00+00:00"),
    ],
)
def test_quiet_hours_are_those_of_their_zone(zone: str, now: str, ends: str | None) -> None:
    times = {"quiet_from": datetime(1, 1, 1, 22).time(), "quiet_until": datetime(1, 1, 1, 7).time()}
    channel = NotificationChannel(**times, time_zone=zone)
    found = channel.quiet_until_after(datetime.fromisoformat(now))
    assert found == (datetime.fromisoformat(ends) if ends else None)


def test_quiet_hours_of_one_day() -> None:
    channel = NotificationChannel(
        quiet_from=datetime(1, 1, 1, 12).time(), quiet_until=datetime(1, 1, 1, 13).time(), time_zone="UTC"
    )
    assert channel.quiet_until_after(NOON) == NOON + timedelta(hours=1)
    assert channel.quiet_until_after(NOON - timedelta(seconds=1)) is None
    assert channel.quiet_until_after(MIDNIGHT) is None


def test_a_message_that_fails_unexpectedly_keeps_no_other_channel_from_its_own(
    clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    a_channel(name="broken", group_s=0)
    healthy, sent = a_channel(name="working", group_s=0), list[Letter]()

    def send(code: str, letter: Letter) -> None:
        if code != healthy.code:
            raise ValueError("Header values can't contain newlines")
        sent.append(letter)

    monkeypatch.setattr(channels, "_send_to_service", send)
    opened(an_event(a_pool(name="a")))
    notifications.send_due()
    assert [names(letter) for letter in sent] == [[("a", "opened")]]
    failed = Notice.objects.get(sent_at=None)
    assert failed.error == "the panel failed (ValueError); the log of the worker has more"
    assert failed.due_at == clock() + timedelta(seconds=notice_delivery.FIRST_WAIT_S)


def test_what_some_recipients_of_a_channel_have_is_not_sent_to_them_again(
    clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    channel, tried = a_channel(group_s=0), list[Message]()

    def refuse(_url: str, message: Message) -> None:
        tried.append(message)
        if len(tried) == 1:
            raise SentInPart("not all of its 3 recipients took it")

    monkeypatch.setattr(chat_services, "send", refuse)
    opened(an_event(a_pool(name="a")))
    for _attempt in range(3):
        notifications.send_due()
        clock.pass_s(notice_delivery.LONGEST_WAIT_S)
    reason = "ntfy did not take it: not all of its 3 recipients took it"
    assert (len(tried), notice_delivery.faults()) == (1, {channel.code: reason})
    opened(an_event(a_pool(name="b")))
    notifications.send_due()
    assert (len(tried), notice_delivery.faults()) == (2, {})


def test_a_channel_removed_while_its_message_is_claimed_is_no_failure(
    clock: Clock, sent: list[Letter], monkeypatch: pytest.MonkeyPatch
) -> None:
    channel = a_channel(group_s=0)
    opened(an_event(a_pool(name="a")))
    batch = notifications._claim(channel)
    assert batch is not None
    notification_channels.remove(channel)
    notifications._send(channel, batch)
    assert sent == []


def test_a_change_of_its_channel_sends_no_message_again_that_a_worker_sends_now(
    clock: Clock, sent: list[Letter]
) -> None:
    channel = a_channel(quiet_from=time(22), quiet_until=time(6))
    clock.now = MIDNIGHT
    opened(an_event(a_pool(name="a"), severity=Severity.WARNING))
    notifications.send_due()
    clock.now = MIDNIGHT + timedelta(hours=6)
    assert notifications._claim(channel) is not None  # another worker sends it now
    notification_channels.change(channel, {"name": "renamed"})
    notifications.send_due()
    assert sent == []
