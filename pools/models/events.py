"""Events (values beyond their threshold), their notices, and the thresholds that people changed."""

import uuid

from django.contrib.auth.models import User
from django.db import models
from django.db.models import Q
from django.urls import reverse
from django.utils import timezone
from django.utils.functional import cached_property
from django.utils.translation import gettext_lazy as _

from core.accounts.access import Access
from core.lib.choice_labels import ChoiceLabels
from pools.models.clusters import Cluster
from pools.models.entries import Entry
from pools.models.poolers import Pooler
from pools.models.pools import Pool

VULNERABILITIES = uuid.uuid5(uuid.NAMESPACE_URL, "pooldeck:vulnerabilities")  # A release is that of many poolers.


class EventKind(models.TextChoices):
    """Conditions that open an event."""

    WAITING = "waiting", _("clients waiting for a connection")
    MAXWAIT = "maxwait", _("maximum client wait exceeded")
    BUDGET = "budget", _("connection budget exhausted")
    POOLER_DOWN = "pooler_down", _("pooler down")
    CLUSTER_DOWN = "cluster_down", _("cluster down")
    NOT_APPLIED = "not_applied", _("pool configuration not applied")
    DRIFT = "drift", _("configuration drift")
    UNSEEN = "unseen", _("configuration files not checked")
    LAG = "lag", _("replication lag")
    READ_LAG = "read_lag", _("read pool behind the primary")
    RESTART = "restart", _("restart required")
    FAILING = "failing", _("pool failing")
    UNSENT = "unsent", _("audit entries not sent")
    CLIENT_LIMIT = "client_limit", _("client limit nearly reached")
    CORE = "core", _("pooler's core nearly full")
    LOGINS = "logins", _("logins refused")
    CERTIFICATE = "certificate", _("certificate about to expire")
    VULNERABLE = "vulnerable", _("known vulnerabilities")


class Severity(models.TextChoices):
    """The urgency of an event."""

    WARNING = "warning", _("warning")
    CRITICAL = "critical", _("critical")


class SubjectType(models.TextChoices):
    """The kind of thing that an event is about; the URL name of its page begins with it."""

    CLUSTER = "cluster", _("cluster")
    POOLER = "pooler", _("pooler")
    POOL = "pool", _("pool")
    ENTRY = "entry", _("entry")
    TRAIL = "trail", _("installation")


SUBJECTS: dict[SubjectType, type[Cluster | Pooler | Pool | Entry]] = {
    SubjectType.CLUSTER: Cluster,
    SubjectType.POOLER: Pooler,
    SubjectType.POOL: Pool,
    SubjectType.ENTRY: Entry,
}


class Threshold(models.Model):
    """The changed thresholds of one kind; `pools.monitoring.thresholds` has the defaults."""

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
    """Filters events by their stage."""

    def reportable(self) -> "EventQuerySet":
        """Exclude those that have not lasted long enough to be events."""
        return self.exclude(opened_at=None)

    def ongoing(self) -> "EventQuerySet":
        return self.reportable().filter(closed_at=None)

    def ended(self) -> "EventQuerySet":
        return self.reportable().exclude(closed_at=None)


class Event(ChoiceLabels):
    """A value beyond its threshold, pending until `opened_at`; its name stays when the subject is deleted."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    kind = models.CharField(max_length=12, choices=EventKind.choices)
    severity = models.CharField(max_length=8, choices=Severity.choices, default=Severity.WARNING)
    subject_type = models.CharField(max_length=7, choices=SubjectType.choices)
    subject_id = models.UUIDField()
    subject_name = models.CharField(max_length=63)
    pooler_id = models.UUIDField(null=True, help_text=_("The pooler whose page shows it too"))
    value = models.FloatField()
    message = models.TextField()
    crossed_at = models.DateTimeField()
    opened_at = models.DateTimeField(null=True)
    closed_at = models.DateTimeField(null=True)
    acknowledged_at = models.DateTimeField(null=True)
    acknowledged_by = models.CharField(max_length=150, default="")

    objects = EventQuerySet.as_manager()

    belongs_to = ("subject",)

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

    def get_absolute_url(self) -> str:
        """Return the address of the page about what it is about."""
        if self.subject_type == SubjectType.TRAIL:
            return reverse("audit-list")
        return reverse(f"{self.subject_type}-detail", args=[self.subject_id])

    @property
    def waiting_url(self) -> str:
        """Return the address of the page that tells why clients wait; empty for an event about something else."""
        is_about_clients = self.kind in (EventKind.WAITING, EventKind.MAXWAIT)
        if not is_about_clients or self.subject_type not in (SubjectType.POOL, SubjectType.ENTRY, SubjectType.POOLER):
            return ""
        return reverse(f"{self.subject_type}-waiting", args=[self.subject_id])

    @property
    def log_url(self) -> str:
        """Return the address of the lines of the pooler's log that it tells of; empty for an event of other kinds."""
        if self.kind != EventKind.LOGINS:
            return ""
        return f"{reverse('pooler-log', args=[self.subject_id])}?refused=1"

    @property
    def cause(self) -> uuid.UUID:
        """Return the id of what is told in one message: a pooler, a cluster, or all vulnerable releases."""
        if self.kind == EventKind.VULNERABLE:
            return VULNERABILITIES
        if self.kind == EventKind.READ_LAG and isinstance(self.subject, Pool):
            return self.subject.cluster_id  # whose own event tells of the same standby
        return self.pooler_id or self.subject_id

    @property
    def is_open(self) -> bool:
        return self.opened_at is not None and self.closed_at is None

    @cached_property
    def subject(self) -> "Cluster | Pooler | Pool | Entry | None":
        """Return the record that it is about; of one that is gone its pooler; None where that is gone too."""
        model = SUBJECTS.get(SubjectType(self.subject_type))
        found = model._default_manager.filter(pk=self.subject_id).first() if model else None
        return found or (Pooler.objects.filter(pk=self.pooler_id).first() if self.pooler_id else None)

    @classmethod
    def visible_to(cls, access: Access) -> Q:
        """Return the condition for events that a caller may see: those of what they may see, and of its poolers.

        The audit trail belongs to no team: its events are for administrators.
        """
        found = Q(pooler_id__in=access.visible(Pooler.objects.all()).values("pk"))
        for kind, model in SUBJECTS.items():
            subjects = access.visible(model._default_manager.all()).values("pk")
            found |= Q(subject_type=kind, subject_id__in=subjects)
        return found

    def acknowledge(self, person: User) -> bool:
        """Record who has seen it, unless someone has before; return whether this call did."""
        values = {"acknowledged_at": timezone.now(), "acknowledged_by": str(person)}
        return bool(Event.objects.filter(pk=self.pk, acknowledged_at=None).update(**values))
