"""Further nodes of a cluster: its standbys, or its primary after a failover."""

from django.db import models
from django.utils import timezone

from pools.models.clusters import Cluster, ClusterState


class NodeRole(models.TextChoices):
    """What a node is for, as clients ask for it."""

    PRIMARY = "primary", "primary"
    STANDBY = "standby", "standby"


class ClusterNode(models.Model):
    """Another server of a cluster, logged in to with the cluster's own login; what it is, a check finds out."""

    cluster = models.ForeignKey(Cluster, on_delete=models.CASCADE, related_name="nodes")
    host = models.CharField(max_length=255)
    port = models.PositiveIntegerField(default=5432)

    state = models.CharField(max_length=12, choices=ClusterState.choices, default=ClusterState.UNKNOWN, editable=False)
    error = models.TextField(default="", editable=False)
    checked_at = models.DateTimeField(null=True, editable=False)
    in_recovery = models.BooleanField(null=True, editable=False)
    lag_bytes = models.BigIntegerField(null=True, editable=False, help_text="WAL not replayed yet, in bytes")
    lag_s = models.FloatField(null=True, editable=False, help_text="Age of the last replayed commit while behind, in s")

    class Meta:
        ordering = ["host", "port"]
        constraints = [
            models.UniqueConstraint(fields=["cluster", "host", "port"], name="one_node_at_an_address"),
        ]

    def __str__(self) -> str:
        return f"{self.host}:{self.port}"

    def record(self, **found: object) -> None:
        """Write what a check found, with its time."""
        for name, value in found.items():
            setattr(self, name, value)
        self.checked_at = timezone.now()
        self.save(update_fields=[*found, "checked_at"])
