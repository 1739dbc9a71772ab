"""The API of channels."""

import pytest

from core.lib import chat_services
from core.lib.chat_services import SendFailed
from pools.models import Channel, NotificationChannel
from tests.callers import anonymous, bearer

pytestmark = pytest.mark.django_db
URL = "/api/v1/events/channels/"
ADDRESS = "slack://T1JJ3T3L2/A1BRTD4JD/TIiajkdnlazkcOXrIdevi7"


def test_a_channel_from_its_addition_to_its_removal(admin, monkeypatch):
    answer = admin.post(URL, {"name": "on-call", "url": ADDRESS, "quiet_from": "22:00", "quiet_until": "07:00"})
    made = answer.json()
    assert (answer.status_code, made["service"], made["configured"], made["version"]) == (201, "Slack", True, 1)
    assert "url" not in made
    assert NotificationChannel.objects.get().url == ADDRESS
    one = f"{URL}{made['id']}/"
    assert admin.get(one).json() == made
    changed = admin.patch(one, {"urgent_passes": False, "version": 1}).json()
    assert changed == made | {"urgent_passes": False, "version": 2}
    assert admin.patch(one, {"group_s": 1, "version": 1}).status_code == 409

    def refuse(*_words):
        raise SendFailed("403 invalid_token")

    monkeypatch.setattr(chat_services, "send", refuse)
    reason = "Slack did not take it: 403 invalid_token"
    assert admin.post(f"{one}test/").json() == {"accepted": False, "reason": reason}
    assert [row["name"] for row in admin.get(URL).json()["results"]] == ["webhook", "email", "on-call"]
    assert admin.delete(one).status_code == 204
    assert admin.get(one).status_code == 404


def test_wrong_values_are_said_by_field(admin):
    answer = admin.post(URL, {"name": "on-call", "url": "json://127.0.0.1/"})
    assert (answer.status_code, list(answer.json())) == (400, ["url"])
    assert admin.post(URL, {"name": "on-call", "adress": ADDRESS}).json().keys() == {"adress"}
    assert admin.post(URL, {"url": ADDRESS}).status_code == 400


def test_channels_of_the_environment_can_be_quiet_and_not_removed(admin):
    one = f"{URL}{Channel.EMAIL.pk}/"
    changed = admin.patch(one, {"quiet_from": "22:00", "quiet_until": "07:00", "time_zone": "Europe/Berlin"})
    assert (changed.status_code, changed.json()["quiet_from"]) == (200, "22:00:00")
    assert admin.delete(one).status_code == 409


def test_it_takes_the_scope_admin():
    assert anonymous().get(URL).status_code == 401
    assert bearer("apply").get(URL).status_code == 403
    assert bearer("apply").post(URL, {"name": "on-call", "url": ADDRESS}).status_code == 403
