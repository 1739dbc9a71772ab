"""Which runs a caller may see: those of the endpoints, clusters and teams that they see."""

from django.db.models import Q

from benchmarks.models.endpoints import ExternalEndpoint
from core.accounts.access import Access
from pools.models import Cluster, Pool


class VisibleByOwner:
    """The conditions by which runs belong to what a caller sees."""

    @classmethod
    def visible_to(cls, access: Access) -> Q:
        """Return the condition for runs that a caller may see: those of what they may see, by `owner`."""
        external = Q(external__in=access.visible(ExternalEndpoint.objects.all()).values("pk"))
        cluster, neither = cls._of_clusters_and_teams(access)
        return external | cluster | neither

    @classmethod
    def parts_visible_to(cls, access: Access) -> tuple[Q, Q, Q]:
        """Return the conditions of `visible_to`, of which a run fulfils one at most; most callers see no endpoint."""
        endpoints = access.visible(ExternalEndpoint.objects.order_by()).values_list("pk", flat=True)
        return Q(external__in=list(endpoints)), *cls._of_clusters_and_teams(access)

    @classmethod
    def _of_clusters_and_teams(cls, access: Access) -> tuple[Q, Q]:
        cluster = Q(external=None, cluster__in=access.visible(Cluster.objects.all()).values("pk"))
        return cluster, Q(external=None, cluster=None, team__in=list(access.roles))

    @classmethod
    def within_limit(cls, access: Access) -> Q:
        """Return the condition for runs that belong to the record that a caller's token is limited to."""
        cluster = Q(external=None, cluster__in=access.visible(Cluster.objects.all()).values("pk"))
        return cluster | Q(pool__in=access.visible(Pool.objects.all()).values("pk"))
