"""The registered servers, by address and by the identifier of their data, to which entries of poolers lead."""

from django.utils.translation import gettext as _

from pools.clusters.cluster_index import ClusterIndex
from pools.models import Cluster, ClusterNode, ClusterStatus, Pooler
from pools.poolers.entry_logins import EntryLogin


class Servers:
    """Finds the cluster of an entry."""

    def __init__(self, pooler: Pooler) -> None:
        self.pooler, self.index = pooler, ClusterIndex.read()
        self._at: dict[tuple[str, int], list[Cluster]] = {}
        for cluster in Cluster.objects.all():
            self._at.setdefault((cluster.host, cluster.port), []).append(cluster)
        for node in ClusterNode.objects.select_related("cluster"):
            self._at.setdefault((node.host, node.port), []).append(node.cluster)
        statuses = ClusterStatus.objects.exclude(system_identifier="").select_related("cluster")
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
            text = _("no cluster is registered for %(address)s: register it, then it can become a pool")
            return None, text % {"address": address}
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
            return [there] if there else []
        pks = [pk for pk, identifier in self._identifiers.items() if identifier == answer.identifier]
        found = [self._clusters[pk] for pk in pks]
        return [one for one in found if one.port == port] or found
