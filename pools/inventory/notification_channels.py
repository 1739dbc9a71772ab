"""Adds, changes and removes the channels of notices; a channel of the environment has settings, and no address here."""

import logging
from collections.abc import Iterator
from datetime import time
from typing import TypedDict
from uuid import UUID
from zoneinfo import available_timezones

from django.db import transaction
from django.db.models import Model
from django.utils import timezone
from django.utils.translation import gettext as _

from core.lib import chat_services
from pools.errors import IllegalTransition, InvalidValues
from pools.models import Channel, Notice, NotificationChannel
from pools.models.notices import Delivery

logger = logging.getLogger(__name__)

FIELDS = ("name", "enabled", "group_s", "quiet_from", "quiet_until", "time_zone", "urgent_passes")
MOST_GROUP_S = 600


class InvalidChannel(InvalidValues):
    """The values for a channel are invalid."""


class ChannelValues(TypedDict, total=False):
    """The fields that `register` and `change` accept; those left out keep their value or their default."""

    name: str
    url: str  # of apprise; empty to keep the stored one
    enabled: bool
    group_s: int
    quiet_from: time | None
    quiet_until: time | None
    time_zone: str
    urgent_passes: bool


def everything() -> list[NotificationChannel]:
    """Return all channels: those of the environment, configured or not, then the services by name."""
    saved = list(NotificationChannel.objects.all())
    changed = {row.service: row for row in saved if row.is_of_environment}
    own = [changed.get(channel.value) or NotificationChannel.of_environment(channel) for channel in Channel]
    return [*own, *(row for row in saved if not row.is_of_environment)]


def find(pk: UUID) -> NotificationChannel | None:
    """Return a channel by its id; None where there is none."""
    return next((one for one in everything() if one.pk == pk), None)


def register(values: ChannelValues, author: Model | None = None) -> NotificationChannel:
    """Save a new channel of a service; nothing is sent. Raises `InvalidChannel`."""
    channel = NotificationChannel()
    _set(channel, values)
    channel.save(force_insert=True)
    logger.info("channel %s (%s, %s) added by %s", channel.pk, channel, channel.service, author)
    return channel


def change(
    channel: NotificationChannel,
    values: ChannelValues,
    expected_version: int | None = None,
    author: Model | None = None,
) -> NotificationChannel:
    """Change some fields. Raises `InvalidChannel`, `Stale`.

    What quiet hours held back is due at once. A channel that is disabled forgets what it did not send yet.
    """
    version = channel.version
    _set(channel, values)
    with transaction.atomic():
        if channel._state.adding:
            channel.save(force_insert=True)
        else:
            fields = {name: getattr(channel, name) for name in (*FIELDS, "service", "sealed_url")}
            channel.edit(version if expected_version is None else expected_version, **fields)
        if not channel.enabled:
            _forget_unsent(channel)
        held = Notice.objects.filter(channel=channel.code, is_held=True, sent_at=None)
        held.filter(batch=None).update(due_at=timezone.now())  # A message that a worker sends now keeps its lease.
    logger.info("channel %s (%s) changed by %s", channel.pk, channel, author)
    return channel


def remove(channel: NotificationChannel) -> None:
    """Remove a channel with its address and what it did not send yet. Raises `IllegalTransition`."""
    if channel.is_of_environment:
        text = _("%(channel)s is a channel of the panel's environment: take its variables away there, or disable it")
        raise IllegalTransition(text % {"channel": channel.name})
    with transaction.atomic():
        _forget_unsent(channel)
        channel.delete()


def _forget_unsent(channel: NotificationChannel) -> None:
    """Drop messages that wait: sent much later, in one burst, they would tell of what is long over."""
    for kind in Delivery.__subclasses__():
        kind._default_manager.filter(channel=channel.code, sent_at=None).delete()


def _set(channel: NotificationChannel, values: ChannelValues) -> None:
    """Put the values into a channel that is saved afterwards. Raises `InvalidChannel`."""
    for name in FIELDS:
        if name in values:
            setattr(channel, name, values[name])  # type: ignore[literal-required]
    url = (values.get("url") or "").strip()
    InvalidChannel.refuse(_problems(channel, url))
    if url:
        channel.url, channel.service = url, chat_services.service_of(url)


def _problems(channel: NotificationChannel, url: str) -> Iterator[tuple[str, str]]:
    """Yield a field and its problem."""
    yield from _problems_of_address(channel, url)
    yield from _problems_of_name(channel)
    if not 0 <= channel.group_s <= MOST_GROUP_S:
        yield "group_s", _("use 0 to %(most)s seconds") % {"most": MOST_GROUP_S}
    if (channel.quiet_from is None) != (channel.quiet_until is None):
        yield "quiet_until", _("quiet hours need both times: give the other one, or neither")
    if channel.quiet_from is not None and channel.quiet_from == channel.quiet_until:
        yield "quiet_until", _("quiet hours end at another time than they begin: disable the channel instead")
    if channel.time_zone not in available_timezones():
        yield "time_zone", _("%(zone)r is not a time zone: use one such as Europe/Berlin") % {"zone": channel.time_zone}


def _problems_of_address(channel: NotificationChannel, url: str) -> Iterator[tuple[str, str]]:
    if channel.is_of_environment and url:
        yield "url", _("the address of this channel stands in the panel's environment")
    elif url and (problem := chat_services.problem_of(url)):
        yield "url", problem
    elif not url and not channel.sealed_url and not channel.is_of_environment:
        yield "url", _("the address is needed: enter it")


def _problems_of_name(channel: NotificationChannel) -> Iterator[tuple[str, str]]:
    channel.name = channel.name.strip()
    if not channel.name:
        yield "name", _("a channel needs a name: enter one")
    if channel.is_of_environment:
        channel.name = channel.service
    elif channel.name.lower() in Channel.values or _is_taken(channel):
        yield "name", _("there is a channel named %(name)s already: choose another name") % {"name": channel.name}


def _is_taken(channel: NotificationChannel) -> bool:
    return NotificationChannel.objects.filter(name=channel.name).exclude(pk=channel.pk).exists()
