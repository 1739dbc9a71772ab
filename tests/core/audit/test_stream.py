"""The trail is sent to each target in order and at least once, and what waits is counted."""

import json
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from core.audit import retention
from core.audit.models import Entry, StreamPosition, StreamTarget
from core.audit.recording import Subject, record
from core.audit.stream import sending, state, targets
from core.audit.stream.targets import StreamFailed
from core.lib import syslog

pytestmark = pytest.mark.django_db(transaction=True)
SYSLOG, WEBHOOK = StreamTarget.SYSLOG, StreamTarget.WEBHOOK


class Receiver:
    """Takes the numbers of entries, or says why not."""

    def __init__(self) -> None:
        self.got: list[list[int]] = []
        self.fault = ""
        self.meanwhile = lambda: None

    def take(self, entries: Sequence[Entry]) -> None:
        self.meanwhile()
        if self.fault:
            raise StreamFailed(self.fault)
        self.got.append([entry.number for entry in entries])


@pytest.fixture
def receiver(settings: Any, monkeypatch: pytest.MonkeyPatch) -> Receiver:
    settings.AUDIT_SYSLOG = syslog.parse("tcp://logs.example.org:514")
    receiver = Receiver()
    monkeypatch.setitem(targets.SENDERS, SYSLOG, receiver.take)
    monkeypatch.setattr(sending, "AT_MOST", 4)
    return receiver


def entries(count: int) -> None:
    for number in range(count):
        record("pool.change", Subject("pool", str(number)))


def make_due() -> None:
    StreamPosition.objects.update(due_at=timezone.now())


def position() -> StreamPosition:
    return StreamPosition.objects.get(target=SYSLOG)


def test_nothing_is_sent_without_a_target() -> None:
    entries(1)
    sending.send_due()
    assert (StreamPosition.objects.count(), state.states(), state.least_sent()) == (0, [], None)


def test_all_is_sent_once_from_the_oldest_entry_on(receiver: Receiver) -> None:
    entries(6)
    sending.send_due()
    sending.send_due()
    entries(1)
    sending.send_due()
    assert receiver.got == [[1, 2, 3, 4], [5, 6], [7]]
    assert Entry.objects.count() == 7  # the stream leaves no entries itself
    (found,) = state.states()
    assert (found.waiting, found.sentence) == (
        0,
        "syslog tcp://logs.example.org:514: all entries were sent, up to 7",
    )


def test_what_is_refused_waits_and_is_sent_in_order_later(receiver: Receiver) -> None:
    entries(2)
    sending.send_due()
    entries(3)
    receiver.fault = "Connection refused"
    sending.send_due()
    sending.send_due()  # it is not due yet
    first = Entry.objects.get(number=3)
    (found,) = state.states()
    since = timezone.localtime(first.at).strftime("%Y-%m-%d %H:%M:%S")
    name = "syslog tcp://logs.example.org:514"
    assert found.sentence == f"{name}: 3 entries have waited since {since}: Connection refused"
    assert (position().failures, position().sent, found.failing_s < 60) == (1, 2, True)
    receiver.fault = ""
    sending.send_due()
    assert receiver.got == [[1, 2]]
    make_due()
    sending.send_due()
    assert receiver.got == [[1, 2], [3, 4], [5]]  # half as many after a failure, then as before
    assert (position().failures, position().error, position().failing_since) == (0, "", None)


def test_each_failure_waits_longer_and_keeps_fewer_back(receiver: Receiver) -> None:
    entries(9)
    receiver.fault = "no"
    waits = []
    for _attempt in range(9):
        make_due()
        sending.send_due()
        waits.append(round((position().due_at - timezone.now()).total_seconds()))
    assert waits == [5, 10, 20, 40, 80, 160, 300, 300, 300]
    receiver.fault = ""
    make_due()
    sending.send_due()
    assert receiver.got == [[1], [2, 3, 4, 5], [6, 7, 8, 9]]


def test_one_worker_sends_at_a_time_and_a_dead_one_is_followed(receiver: Receiver) -> None:
    entries(1)
    held = StreamPosition.claim(SYSLOG, sending.LEASE)
    assert held is not None
    sending.send_due()
    assert receiver.got == []
    StreamPosition.objects.update(held_until=timezone.now() - timedelta(seconds=1))
    sending.send_due()
    assert receiver.got == [[1]]
    assert not held.advance(1, sending.LEASE)  # the first one was not dead: it notes nothing any more
    held.fail("late", timedelta(hours=1))
    assert (position().sent, position().error) == (1, "")


def test_a_worker_that_was_overtaken_stops(receiver: Receiver) -> None:
    entries(8)
    receiver.meanwhile = lambda: StreamPosition.objects.update(holder=None)
    sending.send_due()
    assert (receiver.got, position().sent) == ([[1, 2, 3, 4]], 0)


def test_large_entries_go_by_themselves(receiver: Receiver, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sending, "AT_MOST_BYTES", 1000)
    record("pool.change", Subject("pool", "1"), after={"note": "x" * 3000})
    entries(2)
    sending.send_due()
    assert receiver.got == [[1], [2, 3]]


def test_the_retention_keeps_what_waits(receiver: Receiver, settings: Any) -> None:
    settings.AUDIT_KEEP_DAYS = 1
    entries(6)
    Entry.objects.update(at=timezone.now() - timedelta(days=9))
    entries(1)
    assert retention.prune() is None
    StreamPosition.objects.create(target=SYSLOG, sent=3)
    assert retention.prune() == retention.Removal(through=3, entries=3)
    sending.send_due()
    assert receiver.got == [[4, 5, 6, 7], [8]]


def test_syslog_gets_the_lines_of_the_download(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    settings.AUDIT_SYSLOG = syslog.parse("udp://127.0.0.1:5514")
    sent: list[syslog.Message] = []
    monkeypatch.setattr(syslog, "send", lambda _to, _found, messages, _files: sent.extend(messages))
    record("pool.change", Subject("pool", "1", "Größe"), after={"password": "hidden", "note": "x" * 3000})
    record("pool.change", Subject("pool", "2"), after={f"note {number}": "x" * 3900 for number in range(20)})
    sending.send_due()
    first, second = Entry.objects.order_by("number")
    assert json.loads(sent[0].text) == first.as_json()
    assert sent[0].text.isascii()
    assert "hidden" not in sent[0].text
    found = json.loads(sent[1].text)
    assert (found["hash"], list(found["change"])) == (second.hash, ["left_out"])
    assert "too long for a datagram: see entry 2" in found["change"]["left_out"]
    assert len(sent[1].text) < syslog.DATAGRAM_BYTES
    assert [message.kind for message in sent] == ["pool.change", "pool.change"]


@pytest.mark.parametrize("url", ["http://169.254.169.254/latest", "http://[::ffff:169.254.169.254]/"])
def test_a_metadata_service_gets_nothing(settings: Any, url: str) -> None:
    settings.AUDIT_WEBHOOK_URL = url
    settings.AUDIT_SYSLOG = syslog.parse("udp://169.254.169.254:514")
    entries(1)
    sending.send_due()
    assert {one.target: one.sent for one in StreamPosition.objects.all()} == {"syslog": 0, "webhook": 0}
    assert all("metadata service" in one.error for one in StreamPosition.objects.all())
