"""Further nodes of a cluster: its standbys, or its primary after a failover."""

from django.db import models

from pools.models.check_result import Found
from pools.models.clusters import Cluster


class ClusterNode(Found):
    """Another server of a cluster, logged in to with the cluster's own login; what it is, a check finds out."""

    cluster = models.ForeignKey(Cluster, on_delete=models.CASCADE, related_name="nodes")
    host = models.CharField(max_length=255)
    port = models.PositiveIntegerField(default=5432)

    class Meta:
        ordering = ["host", "port"]
        constraints = [
            models.UniqueConstraint(fields=["cluster", "host", "port"], name="one_node_at_an_address"),
        ]

    def __str__(self) -> str:
        return f"{self.host}:{self.port}"
