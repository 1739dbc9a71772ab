"""Ceilings: limits of runs, by who starts them and on which cluster."""

from django.db import models
from django.db.models import F, Q
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from core.accounts.access import Access
from pools.models import Cluster


class Holder(models.TextChoices):
    """Whom a ceiling applies to."""

    EVERYONE = "everyone", _("everyone")
    STAFF = "staff", _("everyone but administrators")


class Ceiling(models.Model):
    """Limit of each option; None: no limit but the program's. Without a cluster it applies to all clusters."""

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
        names = {"cluster": self.cluster, "holder": self.get_holder_display()}
        return (gettext("%(cluster)s, %(holder)s") if self.cluster else gettext("every cluster, %(holder)s")) % names

    @classmethod
    def visible_to(cls, access: Access) -> Q:
        """Return the condition for limits that a caller may see: of all clusters, and of those that they see."""
        return Q(cluster=None) | Q(cluster__in=access.visible(Cluster.objects.all()).values("pk"))

    @classmethod
    def within_limit(cls, access: Access) -> Q:
        """Return the condition for limits of the cluster that a caller's token is limited to."""
        return Q(cluster__in=access.visible(Cluster.objects.all()).values("pk"))
