"""Which poolers take the pools of which clusters; chooses one for API clients that name only the cluster."""

from django.db.models import Count, Q, QuerySet
from django.utils.translation import gettext as _

from core.accounts.access import used_by
from pools.errors import InvalidValues
from pools.models import Cluster, Pool, Pooler, ShelfEntry
from pools.poolers import kinds_that


class NoPooler(InvalidValues):
    """No pooler can be chosen for the cluster."""


def of_cluster(cluster: Cluster) -> Pooler:
    """Return the pooler that new pools of the cluster go to.

    That of its shelf entry, else the PgBouncer with most of its pools, else the only PgBouncer. Raises `NoPooler`.
    """
    if (chosen := known_of(cluster)) is None:
        raise NoPooler({"pooler": [_why_none(cluster)]})
    return chosen


def known_of(cluster: Cluster) -> Pooler | None:
    """Return the same, or None where no pooler can be chosen."""
    entry = ShelfEntry.objects.filter(cluster=cluster).select_related("pooler").first()
    if entry and entry.pooler:
        return entry.pooler
    its_pools = Count("pools", filter=Q(pools__cluster=cluster, pools__removal_requested_at=None))
    best = list(_able(cluster).annotate(its_pools=its_pools).order_by("-its_pools", "name")[:2])
    return best[0] if len(best) == 1 or (best and bool(getattr(best[0], "its_pools", False))) else None


def find_pool(cluster: Cluster, name: str) -> Pool | None:
    """Return the cluster's pool of that name; where several poolers have one, that of the pooler for new pools."""
    if "\0" in name:  # PostgreSQL takes none
        return None
    found = list(cluster.pools.wanted().filter(name=name).select_related("pooler", "cluster").order_by("created_at"))
    if len(found) < 2:
        return found[0] if found else None
    chosen = known_of(cluster)
    return min(found, key=lambda pool: pool.pooler != chosen)


def _why_none(cluster: Cluster) -> str:
    names = ", ".join(_able(cluster).values_list("name", flat=True)[:8])
    if not names:
        return _("the panel has no PgBouncer for pools of cluster %(cluster)s: register one") % {"cluster": cluster}
    text = _(
        "cluster %(cluster)s has no pool yet, so its pools could be on any of the poolers %(poolers)s: "
        "create the first one in the panel, or choose the pooler on the shelf"
    )
    return text % {"cluster": cluster, "poolers": names}


def usable_clusters(pooler: Pooler) -> QuerySet[Cluster]:
    """Return the clusters that lines of a pooler's own files may lead to, for the panel to log in there as its admin.

    They are those that its team has, or that are shared with it: who owns a pooler could name any address there.
    """
    return Cluster.objects.filter(used_by(Cluster, pooler.team_id))


def _able(cluster: Cluster) -> QuerySet[Pooler]:
    """Return the poolers that take pools of the cluster: those that its team has, or that are shared with it."""
    managed = Pooler.objects.managed().filter(kind__in=kinds_that("sizes_each_pool"))
    return managed.filter(used_by(Pooler, cluster.team_id))
