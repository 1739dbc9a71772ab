"""A signed message is carried out once, and not after an hour, whoever sends it again."""

from datetime import UTC, datetime, timedelta
from uuid import uuid4

import pytest
from django.utils import timezone

from core.installation import signed_messages
from core.installation.models import CarriedOut
from core.installation.pausing import PausableTask
from core.installation.signed_messages import LIFETIME
from panel import celery_app

pytestmark = pytest.mark.django_db


def seconds_left(expires: str) -> float:
    return (datetime.fromisoformat(expires) - datetime.now(UTC)).total_seconds()


def after(seconds: float) -> str:
    return (datetime.now(UTC) + timedelta(seconds=seconds)).isoformat()


@pytest.mark.parametrize(("given", "left"), [(None, 3600), (86_400, 3600), (30, 30)])
def test_every_message_expires_within_an_hour(given: float | None, left: float) -> None:
    body = {"task": "a", "expires": given and after(given)}
    signed_messages.give_expiry(body)
    assert seconds_left(str(body["expires"])) == pytest.approx(left, abs=25)


def test_a_message_is_carried_out_once_and_one_without_expiry_never() -> None:
    first, second = str(uuid4()), str(uuid4())
    assert [signed_messages.is_first(one, after(5)) for one in (first, first, second, first)] == [
        True,
        False,
        True,
        False,
    ]
    assert not signed_messages.is_first(str(uuid4()), None)


def test_what_no_worker_would_take_any_more_is_forgotten() -> None:
    CarriedOut.objects.create(message=uuid4(), until=timezone.now() - timedelta(seconds=1))
    kept = str(uuid4())
    signed_messages.is_first(kept, after(LIFETIME.total_seconds()))
    assert [str(one) for one in CarriedOut.objects.all()] == [kept]


@pytest.mark.parametrize(("key", "times"), [("", 2), ("/etc/pooldeck/message.key", 1)])
def test_a_task_asks_where_messages_are_signed(key: str, times: int, monkeypatch: pytest.MonkeyPatch) -> None:
    done = []

    @celery_app.task(base=PausableTask, bind=True, name=f"tests.signed{times}")
    def note(self: PausableTask) -> None:
        done.append(self.request.id)

    monkeypatch.setitem(celery_app.conf, "security_key", key)
    for _ in range(2):
        note.push_request(id="0b8e6d5e-3f43-4a6e-8d3c-0e1ef5b1a111", expires=after(5), called_directly=False)
        note()
        note.pop_request()
    assert len(done) == times
