"""Events told to a real web server: signed, once each, in one message, again when it fails."""

import hashlib
import hmac
import json
import socketserver
import threading
from collections.abc import Iterator
from datetime import timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from django.utils import timezone
from pytest_django import Settings

from pools.inventory import notification_channels
from pools.models import Channel, Event, Moment, Notice
from pools.monitoring import channels, notice_delivery, notifications
from tests.pools.monitoring.records import an_event
from tests.pools.records import a_pool

pytestmark = pytest.mark.django_db
SECRET = "webhook-secret"


class Receiver(ThreadingHTTPServer):
    """Keeps what it is sent, and answers with `status`; a redirect leads to `/elsewhere`."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Answer)
        self.status = 204
        self.got: list[tuple[str, dict[str, str], bytes]] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/hook"


class Answer(BaseHTTPRequestHandler):
    """Keeps what was posted."""

    server: Receiver

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.got.append((self.path, dict(self.headers), body))
        self.send_response(self.server.status)
        self.send_header("Location", "/elsewhere")
        self.end_headers()

    do_GET = do_POST

    def log_message(self, *words: Any) -> None: ...


@pytest.fixture
def receiver(settings: Settings) -> Iterator[Receiver]:
    with Receiver() as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        settings.WEBHOOK_URL, settings.WEBHOOK_SECRET = server.url, SECRET
        yield server
        server.shutdown()
        thread.join()


def opened(count: int) -> list[Event]:
    events = [an_event(a_pool(name=f"pool-of-{number}")) for number in range(count)]
    Notice.of(events, Moment.OPENED, channels.configured())
    return events


def bodies(receiver: Receiver) -> list[dict[str, Any]]:
    return [json.loads(body) for _, _, body in receiver.got]


def make_due() -> None:
    Notice.objects.filter(sent_at=None).update(due_at=timezone.now() - timedelta(seconds=1))


def test_many_events_are_one_message_sent_once_and_signed(receiver: Receiver) -> None:
    events = opened(3)
    Notice.of(events, Moment.OPENED, channels.configured())  # another judge, who came too late
    notifications.send_due()
    notifications.send_due()
    assert len(receiver.got) == 1
    _, headers, body = receiver.got[0]
    described = json.loads(body)
    assert [one["id"] for one in described["events"]] == [str(event.pk) for event in events]
    assert described["events"][0]["subject"]["name"] == "pool-of-0"
    assert described["events"][0]["url"].startswith("http://localhost:8000/pools/")
    stamped = headers["X-Pooldeck-Timestamp"].encode() + b"." + body
    expected = hmac.new(SECRET.encode(), stamped, hashlib.sha256).hexdigest()
    assert headers["X-Pooldeck-Signature"] == f"sha256={expected}"
    assert headers["X-Pooldeck-Delivery"] == described["id"]


def test_an_opening_and_its_closing_are_told_once_each(receiver: Receiver) -> None:
    (event,) = opened(1)
    notifications.send_due()
    event.closed_at = timezone.now()
    event.save(update_fields=["closed_at"])
    Notice.of([event], Moment.CLOSED, channels.configured())
    notifications.send_due()
    moments = [one["moment"] for body in bodies(receiver) for one in body["events"]]
    assert moments == ["opened", "closed"]


def test_what_failed_is_sent_again_later_under_the_same_id_and_apart_from_what_is_new(receiver: Receiver) -> None:
    opened(1)
    receiver.status = 500
    notifications.send_due()
    assert Notice.objects.get().error == "the webhook answered 500"
    notifications.send_due()
    assert len(receiver.got) == 1, "not before its time"
    receiver.status = 200
    Notice.of([an_event(a_pool(name="new"))], Moment.OPENED, channels.configured())
    make_due()
    notifications.send_due()
    notifications.send_due()
    first, *again = bodies(receiver)
    assert sorted(one["id"] == first["id"] for one in again) == [False, True]
    assert Notice.objects.filter(sent_at=None).count() == 0


def test_the_wait_doubles_and_ends(receiver: Receiver) -> None:
    receiver.status = 503
    opened(1)
    waits = []
    for _ in range(notice_delivery.ATTEMPTS + 2):
        make_due()
        notifications.send_due()
        waits.append(round((Notice.objects.get().due_at - timezone.now()).total_seconds()))
    assert waits[:4] == [15, 30, 60, 120]
    assert max(waits) == notice_delivery.LONGEST_WAIT_S
    assert len(receiver.got) == notice_delivery.ATTEMPTS


def test_no_answer_leads_the_panel_elsewhere(receiver: Receiver) -> None:
    receiver.status = 302
    opened(1)
    notifications.send_due()
    assert [path for path, _, _ in receiver.got] == ["/hook"]
    assert Notice.objects.get().error == "the webhook answered 302"


def test_an_address_where_nobody_listens_is_an_error_with_a_reason(settings: Settings) -> None:
    settings.WEBHOOK_URL = "http://127.0.0.1:1/"
    assert notifications.test(Channel.WEBHOOK).startswith("the webhook did not answer within 5 s: ")


def test_a_test_message_says_that_it_is_one(receiver: Receiver) -> None:
    assert notifications.test(Channel.WEBHOOK) == ""
    assert [(body["test"], body["events"]) for body in bodies(receiver)] == [(True, [])]


class MailHandler(socketserver.StreamRequestHandler):
    """As much of SMTP as it takes to be given a message."""

    def handle(self) -> None:
        self.report("220 here")
        inside = False
        for line in self.rfile:
            if inside:
                inside = line != b".\r\n"
                self.server.text += line  # type: ignore[attr-defined]
                if not inside:
                    self.report("250 taken")
            else:
                word = line[:4].upper()
                inside = word == b"DATA"
                self.report({b"DATA": "354 go on", b"QUIT": "221 bye"}.get(word, "250 fine"))
                if word == b"QUIT":
                    return

    def report(self, text: str) -> None:
        self.wfile.write(f"{text}\r\n".encode())


@pytest.fixture
def mail_server(settings: Settings) -> Iterator[Any]:
    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), MailHandler) as server:
        server.text = b""  # type: ignore[attr-defined]
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
        settings.EMAIL_HOST, settings.EMAIL_PORT = "127.0.0.1", server.server_address[1]
        settings.EMAIL_USE_TLS = False
        settings.EMAIL_TO = ["dba@example.org"]
        _webhook, email = notification_channels.everything()
        notification_channels.change(email, {"group_s": 0})
        yield server
        server.shutdown()
        thread.join()


def test_the_same_is_told_by_mail(mail_server: Any) -> None:
    assert [one.code for one in channels.configured()] == [Channel.EMAIL]
    opened(2)
    notifications.send_due()
    text = mail_server.text.decode()
    assert "Subject: Pooldeck: events opened: 2, closed: 0" in text
    assert "To: dba@example.org" in text
    assert "clients waiting for a connection: pool pool-of-1" in text
    assert text.count("7 clients wait for one of the 10 server connections") == 2


def test_a_mail_server_that_refuses_is_tried_again(mail_server: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(MailHandler, "handle", lambda self: self.report("421 go away"))
    opened(1)
    notifications.send_due()
    assert Notice.objects.get().error.startswith("the mail server did not accept it: ")
