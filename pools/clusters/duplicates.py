"""Finds clusters and poolers that are registered more than once: each record hides the pools of the other."""

from django.db.models import Q, QuerySet

from pools.models import Cluster, ClusterStatus, Pool, Pooler


def of_cluster(cluster: Cluster) -> QuerySet[Cluster]:
    """Return the other clusters at its address, or with the same primary under another host name.

    A standby and a promoted copy have the primary's system identifier too, but are hardly at the same port as well.
    """
    same = Q(host=cluster.host, port=cluster.port)
    status = ClusterStatus.objects.filter(cluster=cluster).first()
    if status and status.system_identifier and status.in_recovery is False:
        answers = {"status__system_identifier": status.system_identifier, "status__in_recovery": False}
        same |= Q(port=cluster.port, **answers)
    return Cluster.objects.filter(same).exclude(pk=cluster.pk)


def pools_of(cluster: Cluster) -> QuerySet[Pool]:
    """Return the pools that lead to the server, under any of its records, those being removed included."""
    return Pool.objects.filter(Q(cluster=cluster) | Q(cluster__in=of_cluster(cluster))).select_related("pooler")


def of_pooler(pooler: Pooler) -> QuerySet[Pooler]:
    """Return the other poolers at its address."""
    return Pooler.objects.filter(host=pooler.host, port=pooler.port).exclude(pk=pooler.pk)
