"""The notices of events: what a worker still has to send over each channel."""

from datetime import timedelta

from django.db import models
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from pools.models.channels import NotificationChannel
from pools.models.events import Event


class Moment(models.TextChoices):
    """The change of an event that is reported."""

    OPENED = "opened", _("opened")
    CLOSED = "closed", _("closed")


class Delivery(models.Model):
    """What a worker sends over one channel, named by its `code`, and how far that has come."""

    channel = models.CharField(max_length=36)
    due_at = models.DateTimeField(default=timezone.now)
    attempts = models.PositiveSmallIntegerField(default=0)
    batch = models.UUIDField(null=True, help_text=_("The message that carries it"))
    sent_at = models.DateTimeField(null=True)
    error = models.TextField(default="")

    class Meta:
        abstract = True


class Notice(Delivery):
    """A notification of one moment over one channel: saved with the event's change, then sent by a worker."""

    event = models.ForeignKey(Event, on_delete=models.CASCADE, related_name="notices")
    moment = models.CharField(max_length=6, choices=Moment.choices)
    cause = models.UUIDField(
        null=True, help_text=_("The pooler, cluster or other cause whose events are told in one message")
    )
    is_held = models.BooleanField(
        default=False, db_default=False, help_text=_("Held back by quiet hours, for the digest at their end")
    )

    class Meta:
        ordering = ["due_at", "pk"]
        constraints = [models.UniqueConstraint(fields=["event", "moment", "channel"], name="told_once")]
        indexes = [models.Index(fields=["due_at"], condition=Q(sent_at=None), name="notices_to_send")]

    def __str__(self) -> str:
        return f"{self.event_id} {self.moment} by {self.channel}"

    @staticmethod
    def of(events: list[Event], moment: Moment, channels: list[NotificationChannel]) -> None:
        """Queue notices of events over each channel, due once it has collected; existing ones stay as they are."""
        now = timezone.now()
        rows = [
            Notice(
                event=event,
                moment=moment,
                channel=channel.code,
                cause=event.cause,
                due_at=now + timedelta(seconds=channel.group_s),
            )
            for event in events
            for channel in channels
        ]
        Notice.objects.bulk_create(rows, ignore_conflicts=True)
