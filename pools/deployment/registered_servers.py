"""The registered servers, by address and by the identifier of their data, to which entries of poolers lead.

An entry becomes a pool of a cluster only where the pooler's team has the cluster, or it is shared with that team: who
owns a pooler writes its files, and would otherwise get pools of any cluster by naming its address there.
"""

from django.utils.translation import gettext as _

from core.accounts.models import Team
from pools.clusters.cluster_index import ClusterIndex
from pools.inventory import pooler_choice
from pools.models import Cluster, ClusterNode, ClusterStatus, Pooler
from pools.poolers.entry_logins import EntryLogin


def why_none() -> str:
    """Return the sentence on an `address` that no usable cluster has, with the remedy."""
    if Team.objects.count() < 2:
        return _("no cluster is registered for %(address)s: register it, then it can become a pool")
    return _(
        "no cluster of the pooler's team is registered for %(address)s: register it, or have it shared with the team, "
        "then it can become a pool"
    )


class Servers:
    """Finds the cluster of an entry."""

    def __init__(self, pooler: Pooler) -> None:
        self.pooler, self.index = pooler, ClusterIndex.read()
        self._at: dict[tuple[str, int], list[Cluster]] = {}
        clusters = {cluster.pk: cluster for cluster in pooler_choice.usable_clusters(pooler)}
        for cluster in clusters.values():
            self._at.setdefault((cluster.host, cluster.port), []).append(cluster)
        for node in ClusterNode.objects.filter(cluster__in=clusters).select_related("cluster"):
            self._at.setdefault((node.host, node.port), []).append(node.cluster)
        self._usable = frozenset(clusters)
        statuses = ClusterStatus.objects.filter(cluster__in=clusters).exclude(system_identifier="")
        statuses = statuses.select_related("cluster")
        self._identifiers = {one.cluster_id: one.system_identifier for one in statuses}
        self._clusters = {one.cluster_id: one.cluster for one in statuses}

    def find(self, host: str, port: int, answer: EntryLogin) -> tuple[Cluster | None, str]:
        """Return the cluster that an entry leads to; else None, and why."""
        address = f"{host or _('the default socket')}:{port}"
        found = self._candidates(host, port, answer)
        if len(found) > 1:
            text = _("several clusters are registered for %(address)s")
            return None, text % {"address": address}
        if not found:
            return None, why_none() % {"address": address}
        if answer.is_standby:
            text = _("it leads to a standby of %(cluster)s, while a pool of the panel leads to all of them")
            return None, text % {"cluster": found[0]}
        return found[0], ""

    def _candidates(self, host: str, port: int, answer: EntryLogin) -> list[Cluster]:
        """Return those at the address, without those that are another server; else the one with its identifier."""
        at = {one.pk: one for one in self._at.get((host, port), [])}
        same = [one for one in at.values() if self._identifiers.get(one.pk, "") in ("", answer.identifier)]
        if at and (same or not answer.identifier):
            return same or list(at.values())
        if not answer.identifier:
            there = self.index.find(self.pooler, host, port)
            return [there] if there and there.pk in self._usable else []
        pks = [pk for pk, identifier in self._identifiers.items() if identifier == answer.identifier]
        found = [self._clusters[pk] for pk in pks]
        return [one for one in found if one.port == port] or found
