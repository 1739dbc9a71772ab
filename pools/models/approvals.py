"""Four-eyes: which acts on a cluster need a second person, and the requests that wait for one."""

import uuid
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.db import models, transaction
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from core.lib import crypto
from core.lib.sealed_field import SealedField
from pools.models.channels import Channel
from pools.models.clusters import Cluster
from pools.models.notices import Delivery

LASTS = timedelta(hours=24)


class Act(models.TextChoices):
    """The kinds of acts that the owners of a cluster can choose."""

    DROP = "drop", _("drop a database or a role")
    KILL = "kill", _("kill the connections of a pool")
    REMOVE = "remove", _("remove a pool, a pooler that leads to it, or the cluster itself")
    TAKE_OVER = "take_over", _("take over a pooler that leads to it, or let one go")


class ApprovalRules(models.Model):
    """The rules of one cluster; without a record it has none."""

    belongs_to = ("cluster",)

    cluster = models.OneToOneField(Cluster, on_delete=models.CASCADE, related_name="approval_rules", primary_key=True)
    acts: "models.JSONField[list[str], list[str]]" = models.JSONField(default=list)
    pool_size = models.PositiveIntegerField(null=True)  # a pool that is larger needs a second person

    def __str__(self) -> str:
        return f"approval rules of {self.cluster_id}"

    @property
    def is_empty(self) -> bool:
        """True if no act needs a second person."""
        return not self.acts and self.pool_size is None

    @property
    def labels(self) -> list[object]:
        """The chosen kinds of acts in words, in their order."""
        return [act.label for act in Act if act in self.acts]


class ApprovalState(models.TextChoices):
    """The progress of a request."""

    PENDING = "pending", _("pending")
    APPROVED = "approved", _("being carried out")
    DONE = "done", _("approved and done")
    FAILED = "failed", _("approved, but failed")
    REJECTED = "rejected", _("rejected")
    WITHDRAWN = "withdrawn", _("withdrawn")
    STALE = "stale", _("no longer fits")
    EXPIRED = "expired", _("expired")


class ApprovalRequestQuerySet(models.QuerySet["ApprovalRequest"]):
    """Filters requests by their stage."""

    def pending(self) -> "ApprovalRequestQuerySet":
        """Return those that still can be approved."""
        return self.filter(state=ApprovalState.PENDING, expires_at__gt=timezone.now())

    def expire(self) -> None:
        """Close those whose time is over, and have who asked told."""
        late = self.filter(state=ApprovalState.PENDING, expires_at__lte=timezone.now())
        for request in late:
            with transaction.atomic():
                if late.filter(pk=request.pk).update(state=ApprovalState.EXPIRED):
                    ApprovalNotice.of(request, ApprovalMoment.DECIDED)


def _expiry() -> Any:  # noqa: ANN401 (the stubs of Django want no narrower type of a default)
    return timezone.now() + LASTS


class ApprovalRequest(models.Model):
    """An act that waits for a second person, with the arguments that it is carried out with.

    `fingerprint` is what its record was like when it was asked for; where that changed, the request no longer fits.
    """

    belongs_to = ("cluster",)

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    cluster = models.ForeignKey(Cluster, null=True, on_delete=models.SET_NULL, related_name="approval_requests")
    cluster_name = models.CharField(max_length=63)
    verb = models.CharField(max_length=40)  # of pools.approvals.acts
    operation = models.CharField(max_length=40)  # which the second person must be allowed to do
    subject = models.CharField(max_length=300)
    text = models.TextField()  # the act with its arguments, in words
    sealed_arguments = SealedField(default="")
    digest = models.CharField(max_length=64)
    fingerprint = models.TextField()
    reason = models.CharField(max_length=500, default="", blank=True)
    requester = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+")
    requester_name = models.CharField(max_length=300)  # of the person, with the name of the token
    state = models.CharField(max_length=10, choices=ApprovalState.choices, default=ApprovalState.PENDING)
    decided_by = models.CharField(max_length=300, default="", blank=True)
    outcome = models.TextField(default="", blank=True)  # may be a private text, which must not be cut
    created_at = models.DateTimeField(default=timezone.now)
    expires_at = models.DateTimeField(default=_expiry)
    decided_at = models.DateTimeField(null=True)

    objects = ApprovalRequestQuerySet.as_manager()

    class Meta:
        ordering = ["-created_at"]
        indexes = [models.Index(fields=["state", "expires_at"], name="approvals_by_state")]
        constraints = [
            models.UniqueConstraint(
                fields=["digest"], condition=Q(state=ApprovalState.PENDING), name="one_pending_request_of_an_act"
            )
        ]

    def __str__(self) -> str:
        return self.text

    @property
    def is_pending(self) -> bool:
        """True while it can be approved or rejected."""
        return self.state == ApprovalState.PENDING and self.expires_at > timezone.now()

    @property
    def secret_owner(self) -> str:
        """The context that the arguments are sealed with."""
        return f"approval:{self.pk}"

    @property
    def arguments(self) -> str:
        """The arguments as JSON. Raises `SealBroken`."""
        return crypto.unseal(self.sealed_arguments, self.secret_owner)

    @arguments.setter
    def arguments(self, text: str) -> None:
        self.sealed_arguments = crypto.seal(text, self.secret_owner)

    def close(self, state: ApprovalState, *, by: str = "", outcome: str = "") -> bool:
        """Leave the state `pending`; return False where somebody else was first."""
        waiting = ApprovalRequest.objects.pending().filter(pk=self.pk)
        values = {"state": state, "decided_by": by, "decided_at": timezone.now(), "outcome": outcome}
        closed = waiting.update(**values) == 1
        self.refresh_from_db()
        return closed

    def finish(self, state: ApprovalState, outcome: str) -> None:
        """Record how carrying it out ended."""
        ApprovalRequest.objects.filter(pk=self.pk).update(state=state, outcome=outcome)
        self.refresh_from_db()


class ApprovalMoment(models.TextChoices):
    """What is told of a request: that it waits, to those who can approve it; how it ended, to who asked."""

    ASKED = "asked", _("a second person is needed")
    DECIDED = "decided", _("decided")


class ApprovalNotice(Delivery):
    """A notice of one moment of a request over one channel, which a worker sends."""

    approval = models.ForeignKey(ApprovalRequest, on_delete=models.CASCADE, related_name="notices")
    moment = models.CharField(max_length=7, choices=ApprovalMoment.choices)

    class Meta:
        ordering = ["due_at", "pk"]
        constraints = [models.UniqueConstraint(fields=["approval", "moment", "channel"], name="approval_told_once")]
        indexes = [models.Index(fields=["due_at"], condition=Q(sent_at=None), name="approval_notices_to_send")]

    def __str__(self) -> str:
        return f"{self.approval_id} {self.moment} by {self.channel}"

    @staticmethod
    def of(request: ApprovalRequest, moment: ApprovalMoment) -> None:
        """Queue the notice over each channel that the environment has."""
        has = {Channel.WEBHOOK: settings.WEBHOOK_URL, Channel.EMAIL: settings.EMAIL_HOST}
        rows = [ApprovalNotice(approval=request, moment=moment, channel=one) for one, address in has.items() if address]
        ApprovalNotice.objects.bulk_create(rows, ignore_conflicts=True)
