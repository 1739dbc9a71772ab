"""The channels of notices: the address of a service, and when a channel is quiet."""

from collections.abc import Iterator
from datetime import UTC, date, datetime, time, timedelta
from uuid import NAMESPACE_URL, UUID, uuid5
from zoneinfo import ZoneInfo

from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from core.lib import crypto
from core.lib.sealed_field import SealedField
from pools.models.base import VersionedModel


class Channel(models.TextChoices):
    """A notification channel whose address the environment has."""

    WEBHOOK = "webhook", _("webhook")
    EMAIL = "email", _("e-mail")

    @property
    def pk(self) -> UUID:
        """The id of the row that has its settings, once somebody has changed them."""
        return uuid5(NAMESPACE_URL, f"pooldeck:{self.value}")


ONE_MINUTE_S = 60


def _own_zone() -> str:
    return timezone.get_default_timezone_name()


class NotificationChannel(VersionedModel):
    """A channel's settings; its address is stored here for a service, and is the environment's for `Channel`."""

    name = models.CharField(max_length=63, unique=True)
    service = models.CharField(max_length=32, editable=False)  # as people know it; a value of `Channel` for those
    sealed_url = SealedField(default="", editable=False)
    enabled = models.BooleanField(default=True)
    group_s = models.PositiveIntegerField(
        default=ONE_MINUTE_S, help_text=_("Seconds for which events of one pooler or cluster are collected")
    )
    quiet_from = models.TimeField(null=True, blank=True)
    quiet_until = models.TimeField(null=True, blank=True)
    time_zone = models.CharField(max_length=64, default=_own_zone)
    urgent_passes = models.BooleanField(default=True)  # critical events are told in quiet hours too

    class Meta:
        ordering = ["name"]

    def __str__(self) -> str:
        return self.name

    @classmethod
    def of_environment(cls, channel: Channel) -> "NotificationChannel":
        """Return the settings of a channel of the environment that nobody has changed."""
        values = {"pk": channel.pk, "name": channel.value, "service": channel.value}
        return cls(**values, group_s=0 if channel == Channel.WEBHOOK else ONE_MINUTE_S)

    @property
    def is_of_environment(self) -> bool:
        return self.service in Channel.values

    @property
    def code(self) -> str:
        """The name by which notices know their channel: it stays when the channel is renamed."""
        return self.service if self.is_of_environment else str(self.pk)

    @property
    def secret_owner(self) -> str:
        """The context that the address is sealed with."""
        return f"channel:{self.pk}"

    @property
    def url(self) -> str:
        """The address in clear, all of which is a secret. Raises `SealBroken`."""
        return crypto.unseal(self.sealed_url, self.secret_owner)

    @url.setter
    def url(self, url: str) -> None:
        self.sealed_url = crypto.seal(url, self.secret_owner)

    def quiet_until_after(self, now: datetime) -> datetime | None:
        """Return when the quiet hours end that `now` is in; None outside of them."""
        return next((end for start, end in self._nights(now) if start <= now < end), None)

    def _nights(self, now: datetime) -> Iterator[tuple[datetime, datetime]]:
        """Yield the quiet hours that begin yesterday and today, in UTC: clocks may change in between."""
        if self.quiet_from is None or self.quiet_until is None:
            return
        today = now.astimezone(ZoneInfo(self.time_zone)).date()
        for day in (today - timedelta(days=1), today):
            last_day = day if self.quiet_from < self.quiet_until else day + timedelta(days=1)
            yield self._moment(day, self.quiet_from), self._moment(last_day, self.quiet_until)

    def _moment(self, day: date, at: time) -> datetime:
        return datetime.combine(day, at, ZoneInfo(self.time_zone)).astimezone(UTC)
