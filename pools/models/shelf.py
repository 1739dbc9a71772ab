"""The shelf: clusters that are kept ready, for API clients that create a cluster without naming a server."""

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from pools.models.clusters import Cluster
from pools.models.creations import HIDDEN
from pools.models.poolers import Pooler
from pools.models.states import ClusterState


class ShelfEntryQuerySet(models.QuerySet["ShelfEntry"]):
    """Entries by stage."""

    def free(self) -> "ShelfEntryQuerySet":
        """Return those that a client can claim, with their clusters; the ones that answered the last check first."""
        answered = models.Case(models.When(cluster__status__state=ClusterState.ONLINE, then=0), default=1)
        return self.filter(claimed_at=None).select_related("cluster__status").order_by(answered, "name")


class ShelfEntry(models.Model):
    """A cluster on the shelf; size and region are the names that clients ask for."""

    belongs_to = ("cluster",)

    cluster = models.OneToOneField(Cluster, on_delete=models.CASCADE, related_name="shelf_entry", primary_key=True)
    name = models.CharField(max_length=63, editable=False)  # the cluster's, which a claim replaces
    size = models.CharField(max_length=63, help_text=_("The size that clients ask for, such as db-s-1vcpu-2gb"))
    region = models.CharField(max_length=63, help_text=_("The region that clients ask for, such as nyc1"))
    pooler = models.ForeignKey(
        Pooler,
        null=True,
        blank=True,
        on_delete=models.SET_NULL,
        related_name="shelf_entries",
        help_text=_("The pooler of pools that clients create; empty: the one that has the cluster's pools"),
    )
    drop_on_return = models.BooleanField(
        default=False, help_text=_("Drop the databases and roles that were created since the claim")
    )
    claimed_at = models.DateTimeField(null=True, editable=False)
    claimed_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, editable=False, related_name="+"
    )
    tags = models.JSONField(default=list, editable=False)  # tags of the claim
    kept = models.JSONField(default=dict, editable=False)  # {"databases": [names], "roles": [names]} before the claim

    objects = ShelfEntryQuerySet.as_manager()

    class Meta:
        ordering = ["name"]
        indexes = [models.Index(fields=["claimed_at"])]

    def __str__(self) -> str:
        return self.name

    @property
    def is_claimed(self) -> bool:
        """True if a client has the cluster."""
        return self.claimed_at is not None


def visible_to_clients() -> Q:
    """Return the condition for clusters that clients see: all but the shelf's free ones and those being deleted."""
    return (Q(shelf_entry=None) | Q(shelf_entry__claimed_at__isnull=False)) & ~Q(creation__state__in=HIDDEN)
