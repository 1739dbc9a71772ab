"""Clusters that a command of the operator's creates and deletes; the id is the cluster's from the start."""

import uuid
from datetime import datetime, timedelta

from django.conf import settings
from django.contrib.auth.models import User
from django.db import models
from django.db.models import Q
from django.db.models.expressions import Combinable
from django.db.models.functions import Now
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from core.accounts.access import Access
from core.accounts.models import Team
from pools.models.clusters import Cluster

# Clients get the reason of a failed creation for this long; afterwards it is unknown.
REFUSED_FOR = timedelta(minutes=10)


class CreationState(models.TextChoices):
    """The progress of the operator's command; the cluster's own record exists from CREATED on."""

    CREATING = "creating", _("creating")
    CREATED = "created", _("created")
    FAILED = "failed", _("not created")
    DELETING = "deleting", _("deleting")
    NOT_DELETED = "not_deleted", _("not deleted")


DUE = (CreationState.CREATING, CreationState.DELETING)
AFTER_FAILURE = {CreationState.CREATING: CreationState.FAILED, CreationState.DELETING: CreationState.NOT_DELETED}
HIDDEN = (CreationState.DELETING, CreationState.NOT_DELETED)  # clusters that their clients have deleted


class CreationQuerySet(models.QuerySet["ClusterCreation"]):
    """Filters creations by their stage."""

    def creating(self) -> "CreationQuerySet":
        """Return those that clients wait for."""
        return self.filter(state=CreationState.CREATING, removal_requested_at=None)

    def unfinished(self) -> "CreationQuerySet":
        """Return those without a cluster, for people: in progress, or failed."""
        return self.filter(state__in=(CreationState.CREATING, CreationState.FAILED))

    def answered(self) -> "CreationQuerySet":
        """Return those without a cluster that clients get an answer about: in progress, or failed a short time ago."""
        is_recent = Q(state=CreationState.FAILED, settled_at__gt=timezone.now() - REFUSED_FOR)
        return self.filter(is_recent | Q(state=CreationState.CREATING), removal_requested_at=None)

    def queued(self) -> "CreationQuerySet":
        """Return those whose command no worker has started, the oldest first."""
        return self.filter(state__in=DUE, token=None).order_by("requested_at")

    def running(self) -> "CreationQuerySet":
        """Return those whose command a worker supervises."""
        return self.filter(state__in=DUE, leased_until__gte=Now())

    def abandoned(self) -> "CreationQuerySet":
        """Return those whose worker has not renewed its lease."""
        return self.filter(state__in=DUE, leased_until__lt=Now())


class ClusterCreation(models.Model):
    """A cluster that the operator's command creates, and what its client asked for."""

    belongs_to = ("cluster",)

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    cluster = models.OneToOneField(Cluster, null=True, on_delete=models.CASCADE, related_name="creation")
    name = models.CharField(max_length=63)
    size = models.CharField(max_length=63)
    region = models.CharField(max_length=63)
    version = models.CharField(max_length=3, default="", blank=True)
    nodes = models.PositiveIntegerField(default=1)
    tags = models.JSONField(default=list)
    team = models.ForeignKey(Team, null=True, on_delete=models.SET_NULL, related_name="+")
    author = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+")
    state = models.CharField(max_length=12, choices=CreationState.choices, default=CreationState.CREATING)
    reason = models.TextField(default="", blank=True)
    created_at = models.DateTimeField(default=timezone.now)
    requested_at = models.DateTimeField(default=timezone.now)  # time of the request whose command is due
    # The client requested the removal before the cluster existed.
    removal_requested_at = models.DateTimeField(null=True)
    settled_at = models.DateTimeField(null=True)
    token = models.UUIDField(null=True)  # key of the worker that runs the command; only its holder settles the creation
    leased_until = models.DateTimeField(null=True)

    objects = CreationQuerySet.as_manager()

    class Meta:
        ordering = ["created_at"]
        indexes = [models.Index(fields=["state", "requested_at"], name="creations_by_state")]
        constraints = [
            models.UniqueConstraint(
                fields=["name"], condition=Q(state=CreationState.CREATING), name="one_creation_of_a_name"
            )
        ]

    def __str__(self) -> str:
        return self.name

    @classmethod
    def visible_to(cls, access: Access) -> Q:
        """Return the condition for creations that a caller sees: of a cluster of theirs, or their own without one."""
        author = Q(cluster=None, author=access.user) if isinstance(access.user, User) else Q(pk__in=[])
        return Q(cluster__in=access.visible(Cluster.objects.all()).values("pk")) | author

    @classmethod
    def within_limit(cls, access: Access) -> Q:
        """Return the condition for creations of the cluster that a caller's token is limited to."""
        return Q(cluster__in=access.visible(Cluster.objects.all()).values("pk"))

    @property
    def key(self) -> str:
        """Its id as text, which is the cluster's."""
        return str(self.pk)

    @property
    def is_hidden(self) -> bool:
        """True if its client has deleted it, and its server may still be there."""
        return self.state in HIDDEN

    def lease(self, token: uuid.UUID, until: datetime | Combinable) -> bool:
        """Take the command for a worker; return False where another one has it, or it is not due any more."""
        rows = ClusterCreation.objects.filter(pk=self.pk, state__in=DUE, token=None)
        if not rows.update(token=token, leased_until=until):
            return False
        self.refresh_from_db()
        return True

    def settle(self, state: CreationState, reason: str = "") -> bool:
        """Write how the command ended; return False where its lease was lost, and it is settled already."""
        written = {"state": state, "reason": reason, "settled_at": timezone.now(), "token": None, "leased_until": None}
        return bool(ClusterCreation.objects.filter(pk=self.pk, state__in=DUE, token=self.token).update(**written))

    def fail(self, reason: str) -> bool:
        """Settle it as not created, or as not deleted."""
        return self.settle(AFTER_FAILURE[CreationState(self.state)], reason)
