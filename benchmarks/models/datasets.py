"""Datasets: tables for load programs that the panel made, and therefore may replace."""

import uuid

from django.db import models
from django.utils import timezone
from django.utils.translation import gettext as _

from benchmarks.models.run_states import Status
from benchmarks.models.runs import Run
from pools.models import Cluster


class Dataset(models.Model):
    """An engine's tables in one database; one of the tables carries `marker` as its comment."""

    belongs_to = ("cluster",)

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    cluster = models.ForeignKey(Cluster, on_delete=models.CASCADE, related_name="datasets")
    database = models.CharField(max_length=63)
    engine = models.CharField(max_length=12, default="pgbench")
    scale = models.PositiveIntegerField()  # its size in the engine's own measure
    run = models.ForeignKey(Run, null=True, on_delete=models.SET_NULL)
    prepared_at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ["cluster", "database", "engine"]
        constraints = [
            models.UniqueConstraint(fields=["cluster", "database", "engine"], name="one_dataset_of_an_engine")
        ]

    def __str__(self) -> str:
        return _("%(engine)s %(scale)s in %(database)s") % {
            "engine": self.engine,
            "scale": self.scale,
            "database": self.database,
        }

    @property
    def marker(self) -> str:
        """The comment by which the panel recognizes its own tables."""
        return f"pooldeck dataset {self.pk}"

    @property
    def unfinished_marker(self) -> str:
        """The comment on tables that a broken-off preparation left."""
        return f"{self.marker}, unfinished"

    @property
    def is_unfinished(self) -> bool:
        """True if the preparation that last touched it broke off."""
        return self.run is not None and self.run.is_final and self.run.status != Status.SUCCEEDED
