"""Events: what crossed a bound, since when, and who was told; and the bounds where people changed them."""

import uuid
from typing import Any

from django.db import models
from django.db.models import Q
from django.utils import timezone


class EventKind(models.TextChoices):
    """What is looked after."""

    WAITING = "waiting", "clients wait"
    MAXWAIT = "maxwait", "a client waits long"
    BUDGET = "budget", "budget given away"
    POOLER_DOWN = "pooler_down", "pooler down"
    CLUSTER_DOWN = "cluster_down", "cluster down"
    NOT_APPLIED = "not_applied", "pools not live"
    DRIFT = "drift", "configuration drifted"
    UNSEEN = "unseen", "drift not looked for"
    LAG = "lag", "standby lags"
    RESTART = "restart", "restart needed"


class Severity(models.TextChoices):
    """How soon somebody should look."""

    WARNING = "warning", "warning"
    CRITICAL = "critical", "critical"


class SubjectType(models.TextChoices):
    """What an event is about; the URL name of its page begins with it."""

    CLUSTER = "cluster", "cluster"
    POOLER = "pooler", "pooler"
    POOL = "pool", "pool"


class Threshold(models.Model):
    """The bounds of one kind as people set them; see `pools.monitoring.thresholds` for those nobody changed."""

    kind = models.CharField(max_length=12, choices=EventKind.choices, unique=True)
    enabled = models.BooleanField(default=True)
    opens_at = models.FloatField()
    closes_at = models.FloatField()
    for_s = models.PositiveIntegerField()

    class Meta:
        ordering = ["kind"]

    def __str__(self) -> str:
        return self.get_kind_display()


class EventQuerySet(models.QuerySet["Event"]):
    """Events by where they are in their life."""

    def reportable(self) -> "EventQuerySet":
        """Those that were long enough to be events; the others only brew."""
        return self.exclude(opened_at=None)

    def ongoing(self) -> "EventQuerySet":
        """Open ones."""
        return self.reportable().filter(closed_at=None)

    def ended(self) -> "EventQuerySet":
        """Closed ones."""
        return self.reportable().exclude(closed_at=None)


class Event(models.Model):
    """Something that crossed its bound. It brews until `opened_at`; the subject may be gone, its name stays."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    kind = models.CharField(max_length=12, choices=EventKind.choices)
    severity = models.CharField(max_length=8, choices=Severity.choices, default=Severity.WARNING)
    subject_type = models.CharField(max_length=7, choices=SubjectType.choices)
    subject_id = models.UUIDField()
    subject_name = models.CharField(max_length=63)
    pooler_id = models.UUIDField(null=True, help_text="The pooler whose page shows it too")
    value = models.FloatField()
    message = models.TextField()
    crossed_at = models.DateTimeField()
    opened_at = models.DateTimeField(null=True)
    closed_at = models.DateTimeField(null=True)
    acknowledged_at = models.DateTimeField(null=True)
    acknowledged_by = models.CharField(max_length=150, default="")

    objects = EventQuerySet.as_manager()

    class Meta:
        ordering = ["-opened_at", "-crossed_at", "pk"]
        constraints = [
            models.UniqueConstraint(
                fields=["kind", "subject_id"], condition=Q(closed_at=None), name="one_open_event_of_a_kind"
            ),
        ]
        indexes = [
            models.Index(fields=["-opened_at"], name="events_by_time"),
            models.Index(fields=["subject_id"], name="events_by_subject"),
            models.Index(fields=["pooler_id"], name="events_by_pooler"),
        ]

    def __str__(self) -> str:
        return f"{self.get_kind_display()}: {self.subject_type} {self.subject_name}"

    @property
    def is_open(self) -> bool:
        """Whether it still holds."""
        return self.opened_at is not None and self.closed_at is None

    def acknowledge(self, person: Any) -> bool:
        """Note who has seen it; the first one stays. Whether it was this call."""
        values = {"acknowledged_at": timezone.now(), "acknowledged_by": str(person)}
        return bool(Event.objects.filter(pk=self.pk, acknowledged_at=None).update(**values))


class Channel(models.TextChoices):
    """A way to tell people."""

    WEBHOOK = "webhook", "webhook"
    EMAIL = "email", "e-mail"


class Moment(models.TextChoices):
    """What of an event is told."""

    OPENED = "opened", "opened"
    CLOSED = "closed", "closed"


class Notice(models.Model):
    """One telling of one moment over one channel: written with the event's change, sent by a worker after it."""

    event = models.ForeignKey(Event, on_delete=models.CASCADE, related_name="notices")
    moment = models.CharField(max_length=6, choices=Moment.choices)
    channel = models.CharField(max_length=7, choices=Channel.choices)
    due_at = models.DateTimeField(default=timezone.now)
    attempts = models.PositiveSmallIntegerField(default=0)
    batch = models.UUIDField(null=True, help_text="The message that carries it")
    sent_at = models.DateTimeField(null=True)
    error = models.TextField(default="")

    class Meta:
        ordering = ["due_at", "pk"]
        constraints = [models.UniqueConstraint(fields=["event", "moment", "channel"], name="told_once")]
        indexes = [models.Index(fields=["due_at"], condition=Q(sent_at=None), name="notices_to_send")]

    def __str__(self) -> str:
        return f"{self.event_id} {self.moment} by {self.channel}"

    @staticmethod
    def of(events: list[Event], moment: Moment, channels: list[str]) -> None:
        """Have events told over each channel; those written already stay as they are."""
        rows = [Notice(event=event, moment=moment, channel=channel) for event in events for channel in channels]
        Notice.objects.bulk_create(rows, ignore_conflicts=True)
