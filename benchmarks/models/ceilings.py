"""Ceilings: the most that a run may ask for, by who starts it and what it is aimed at."""

from django.db import models
from django.db.models import F, Q

from pools.models import Cluster


class Holder(models.TextChoices):
    """Whom a ceiling holds for."""

    EVERYONE = "everyone", "everyone"
    STAFF = "staff", "staff who are no superusers"


class Ceiling(models.Model):
    """The most of each option; None: no limit but the program's. Without a cluster it holds for every one."""

    cluster = models.ForeignKey(Cluster, null=True, blank=True, on_delete=models.CASCADE, related_name="ceilings")
    holder = models.CharField(max_length=10, choices=Holder.choices, default=Holder.EVERYONE)
    clients = models.PositiveIntegerField(null=True, blank=True)
    threads = models.PositiveIntegerField(null=True, blank=True)
    duration = models.PositiveIntegerField(null=True, blank=True)  # seconds
    scale = models.PositiveIntegerField(null=True, blank=True)

    class Meta:
        ordering = [F("cluster__name").asc(nulls_first=True), "holder"]
        constraints = [
            models.UniqueConstraint(fields=["cluster", "holder"], name="one_ceiling_of_a_cluster_and_holder"),
            models.UniqueConstraint(fields=["holder"], condition=Q(cluster=None), name="one_ceiling_of_a_holder"),
        ]

    def __str__(self) -> str:
        return f"{self.cluster or 'every cluster'}, {self.get_holder_display()}"
