"""The pages of channels: an address is typed once and never shown, and a test tells the answer."""

import uuid

import pytest
from django.utils import timezone

from core.audit.models import Entry
from core.lib import chat_services
from core.lib.chat_services import SendFailed
from pools.inventory import notification_channels
from pools.models import Channel, Moment, Notice, NotificationChannel
from tests.pages import page_of
from tests.pools.monitoring.records import an_event
from tests.pools.records import a_pool

URL = "slack://T1JJ3T3L2/A1BRTD4JD/TIiajkdnlazkcOXrIdevi7"
TYPED = {"name": "on-call", "url": URL, "enabled": "on", "group_s": "60", "time_zone": "Europe/Berlin"}
QUIET = {"quiet_from": "22:00", "quiet_until": "07:00", "urgent_passes": "on"}
LIST = "/events/thresholds/"


def test_a_channel_is_added_changed_and_removed(staff):
    page = page_of(staff.post("/events/channels/new/", TYPED | QUIET, follow=True))
    assert "Channel on-call is saved" in page
    channel = NotificationChannel.objects.get()
    assert (channel.url, channel.service, channel.urgent_passes) == (URL, "Slack", True)
    assert all(text in page for text in ("on-call", "Slack", "22:00–07:00", "Europe/Berlin"))
    address = f"/events/channels/{channel.pk}"
    form = page_of(staff.get(f"{address}/edit/"))
    assert "Leave it empty to keep the stored one." in form
    assert "TIiajkdnlazkcOXrIdevi7" not in page + form
    changed = TYPED | {"url": "", "group_s": "0", "version": "1"}
    staff.post(f"{address}/edit/", changed)
    channel.refresh_from_db()
    assert (channel.url, channel.group_s, channel.quiet_from) == (URL, 0, None)
    assert staff.post(f"{address}/edit/", changed).status_code == 409
    assert staff.post(f"{address}/delete/", {"name": "another"}).status_code == 422
    assert "Channel on-call was removed." in page_of(staff.post(f"{address}/delete/", {"name": "on-call"}, follow=True))
    assert NotificationChannel.objects.count() == 0


def test_a_new_channel_is_first_in_the_panels_time_zone(staff, settings):
    settings.TIME_ZONE = "Europe/Berlin"
    assert 'value="Europe/Berlin" selected' in staff.get("/events/channels/new/").content.decode()


@pytest.mark.django_db(transaction=True)
def test_each_change_is_in_the_trail_without_the_address(staff):
    staff.post("/events/channels/new/", TYPED)
    channel = NotificationChannel.objects.get()
    staff.post(f"/events/channels/{channel.pk}/edit/", TYPED | {"group_s": "5", "version": "1"})
    staff.post(f"/events/channels/{channel.pk}/delete/", {"name": "on-call"})
    entries = list(Entry.objects.filter(object_kind="channel").order_by("number"))
    assert [one.action for one in entries] == ["channel.create", "channel.change", "channel.delete"]
    assert not any("TIiajkdnlazkcOXrIdevi7" in one.change for one in entries)


def test_a_wrong_address_is_said_beside_it(staff):
    answer = staff.post("/events/channels/new/", TYPED | {"url": "json://127.0.0.1/"})
    assert "use an address of apprise that begins with one of these" in page_of(answer)
    assert NotificationChannel.objects.count() == 0


def test_quiet_hours_of_the_environments_channels(staff):
    address = f"/events/channels/{Channel.EMAIL.pk}/edit/"
    page = page_of(staff.get(address))
    assert 'name="url"' not in page
    assert 'name="quiet_from"' in page
    staff.post(address, {"enabled": "on", "group_s": "30", "time_zone": "UTC", "version": "1"} | QUIET, follow=True)
    assert [one.group_s for one in notification_channels.everything()] == [0, 30]
    refused = staff.post(f"/events/channels/{Channel.EMAIL.pk}/delete/", {"name": "email"})
    assert refused.status_code == 409


@pytest.mark.parametrize("reason", ["", "403 invalid_token"])
def test_a_test_tells_the_answer(staff, monkeypatch, reason):
    channel = notification_channels.register({"name": "on-call", "url": URL})

    def send(url, message):
        assert (url, message.title) == (URL, "Pooldeck: a test message")
        if reason:
            raise SendFailed(reason)

    monkeypatch.setattr(chat_services, "send", send)
    page = page_of(staff.post(f"/events/channels/{channel.pk}/test/", follow=True))
    failed = f"The test by on-call did not arrive: Slack did not take it: {reason}"
    assert (failed if reason else "The test by on-call was accepted.") in page


def test_its_state_says_that_the_last_message_was_delivered_in_part(staff):
    channel = notification_channels.register({"name": "on-call", "url": URL})
    Notice.of([an_event(a_pool())], Moment.OPENED, [channel])
    Notice.objects.update(sent_at=timezone.now(), error="Slack did not take it: not all of its 3 recipients took it")
    assert "not all of its 3 recipients took it" in page_of(staff.get(LIST))


def test_nobody_else_sees_or_changes_them(reader):
    channel = notification_channels.register({"name": "on-call", "url": URL})
    for address in ("new/", f"{channel.pk}/edit/", f"{channel.pk}/delete/"):
        assert reader.get(f"/events/channels/{address}").status_code == 403
    assert reader.post(f"/events/channels/{channel.pk}/test/").status_code == 403


def test_one_that_is_not_there(staff):
    assert staff.get(f"/events/channels/{uuid.uuid4()}/edit/").status_code == 404
