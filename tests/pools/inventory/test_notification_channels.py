"""Channels of notices: what is saved, what is refused, and that an address is a secret."""

from datetime import time
from typing import Any

import pytest
from pytest_django import Settings

from core.lib.crypto import SealBroken
from pools.errors import IllegalTransition, Stale
from pools.inventory import notification_channels
from pools.inventory.notification_channels import InvalidChannel
from pools.models import Channel, Moment, Notice, NotificationChannel
from pools.monitoring import channels
from tests.pools.monitoring.records import an_event
from tests.pools.records import a_pool

pytestmark = pytest.mark.django_db
URL = "slack://T1JJ3T3L2/A1BRTD4JD/TIiajkdnlazkcOXrIdevi7"


def a_channel(**values: Any) -> NotificationChannel:
    return notification_channels.register({"name": "on-call", "url": URL} | values)


def test_an_address_is_sealed_for_its_channel_alone() -> None:
    channel, other = a_channel(), a_channel(name="other")
    assert (channel.url, channel.service) == (URL, "Slack")
    assert "TIiajkdnlazkcOXrIdevi7" not in channel.sealed_url
    other.sealed_url = channel.sealed_url
    with pytest.raises(SealBroken):
        _read = other.url


@pytest.mark.parametrize(
    ("values", "field"),
    [
        ({"url": ""}, "url"),
        ({"url": "json://127.0.0.1/"}, "url"),
        ({"url": f"{URL}/#dba/#ops"}, "url"),
        ({"name": " "}, "name"),
        ({"name": "E-mail".replace("-", "")}, "name"),
        ({"name": "taken"}, "name"),
        ({"group_s": 601}, "group_s"),
        ({"quiet_from": time(22)}, "quiet_until"),
        ({"quiet_from": time(22), "quiet_until": time(22)}, "quiet_until"),
        ({"time_zone": "Europe/Atlantis"}, "time_zone"),
    ],
)
def test_wrong_values_are_refused(values: dict[str, Any], field: str) -> None:
    a_channel(name="taken")
    with pytest.raises(InvalidChannel) as refused:
        a_channel(**values)
    assert list(refused.value.errors) == [field]
    assert NotificationChannel.objects.count() == 1


def test_an_address_that_is_left_out_stays() -> None:
    channel = a_channel()
    notification_channels.change(channel, {"group_s": 5, "url": ""}, 1)
    channel.refresh_from_db()
    assert (channel.url, channel.group_s, channel.version) == (URL, 5, 2)
    with pytest.raises(Stale):
        notification_channels.change(channel, {"group_s": 6}, 1)


def test_channels_of_the_environment_have_settings_and_no_address(settings: Settings) -> None:
    webhook, email = notification_channels.everything()
    assert [(one.name, one.group_s, channels.has_address(one)) for one in (webhook, email)] == [
        ("webhook", 0, False),
        ("email", 60, False),
    ]
    assert NotificationChannel.objects.count() == 0
    settings.WEBHOOK_URL = "http://127.0.0.1:1/"
    notification_channels.change(webhook, {"quiet_from": time(1), "quiet_until": time(2)})
    (found,) = channels.configured()
    assert (found.code, found.quiet_from, found.pk) == (Channel.WEBHOOK, time(1), Channel.WEBHOOK.pk)
    with pytest.raises(InvalidChannel):
        notification_channels.change(found, {"url": URL})
    with pytest.raises(IllegalTransition):
        notification_channels.remove(found)
    notification_channels.change(found, {"enabled": False})
    assert channels.configured() == []


def test_a_removed_channel_leaves_nothing_to_send() -> None:
    channel, other = a_channel(), a_channel(name="other")
    Notice.of([an_event(a_pool())], Moment.OPENED, channels.configured())
    notification_channels.remove(channel)
    assert [notice.channel for notice in Notice.objects.all()] == [other.code]


def test_a_disabled_channel_does_not_send_old_messages_once_it_is_enabled() -> None:
    channel, other = a_channel(), a_channel(name="other")
    Notice.of([an_event(a_pool())], Moment.OPENED, channels.configured())
    notification_channels.change(channel, {"enabled": False})
    notification_channels.change(channel, {"enabled": True})
    assert [notice.channel for notice in Notice.objects.all()] == [other.code]


def test_a_disabled_channel_of_the_environment_forgets_what_it_did_not_send(settings: Settings) -> None:
    settings.WEBHOOK_URL = "http://127.0.0.1:1/"
    (webhook,) = channels.configured()
    Notice.of([an_event(a_pool())], Moment.OPENED, [webhook])
    notification_channels.change(webhook, {"enabled": False})
    assert not Notice.objects.exists()
