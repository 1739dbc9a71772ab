"""The result of a check of one server: whether it answered, and its part in replication."""

from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from core.lib.choice_labels import ChoiceLabels
from pools.models.states import ClusterState, NodeRole


class CheckResult(ChoiceLabels):
    """Fields that only checks write, so that they never conflict with edits by people."""

    state = models.CharField(max_length=12, choices=ClusterState.choices, default=ClusterState.UNKNOWN, editable=False)
    error = models.TextField(default="", editable=False)
    checked_at = models.DateTimeField(null=True, editable=False)
    system_identifier = models.CharField(max_length=20, default="", editable=False)  # made by initdb; standbys share it
    # the address that the check reached; empty: a socket
    ip_address = models.CharField(max_length=45, default="", editable=False)
    in_recovery = models.BooleanField(null=True, editable=False)
    timeline = models.PositiveIntegerField(
        null=True, editable=False, help_text=_("Of a primary; grows with each failover")
    )
    wal_position = models.BigIntegerField(
        null=True, editable=False, help_text=_("Written (primary) or replayed, in bytes")
    )
    streaming = models.BooleanField(null=True, editable=False, help_text=_("Whether a standby receives WAL"))
    replayed_at = models.DateTimeField(null=True, editable=False, help_text=_("When its last replayed commit was made"))
    lag_bytes = models.BigIntegerField(null=True, editable=False, help_text=_("WAL not replayed yet, in bytes"))
    lag_s = models.FloatField(
        null=True, editable=False, help_text=_("Age of the last replayed commit while behind, in s")
    )

    class Meta:
        abstract = True

    @property
    def role(self) -> NodeRole | None:
        """The role of the server when it last answered; None where it never did."""
        if self.in_recovery is None:
            return None
        return NodeRole.STANDBY if self.in_recovery else NodeRole.PRIMARY

    def record(self, **found: object) -> None:
        """Save the result of a check with its time."""
        for name, value in found.items():
            setattr(self, name, value)
        self.checked_at = timezone.now()
        self.save(update_fields=[*found, "checked_at"])
