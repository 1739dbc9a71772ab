"""Finds the cluster that an entry of a pooler leads to, by host and port."""

import logging
import time
from collections import defaultdict
from collections.abc import Iterable
from typing import Self

import psycopg

from panel.lib.addresses import is_local
from pools.clusters import connect, topology
from pools.clusters.replication import IDENTIFIER
from pools.errors import ClusterUnreachable
from pools.models import Cluster, Pooler

logger = logging.getLogger(__name__)

ASK_AGAIN_S = 3600.0
_answers: dict[tuple[str, str, int], tuple[float, bool]] = {}  # cluster's id, host and port → when asked (monotonic)


class ClusterIndex:
    """The clusters with their nodes by address, read once for many entries."""

    def __init__(self, clusters: Iterable[Cluster]) -> None:
        self._at: dict[tuple[str, int], set[Cluster]] = defaultdict(set)
        for cluster in clusters:
            for place in topology.of_cluster(cluster):
                self._at[_key(*place.address)].add(cluster)

    @classmethod
    def read(cls) -> Self:
        """Read all clusters, in three queries."""
        return cls(Cluster.objects.select_related("status").prefetch_related("nodes"))

    def find(self, pooler: Pooler, host: str, port: int | None) -> Cluster | None:
        """Return the cluster that all hosts of an entry (with commas between) belong to; None where it is unknown.

        Hosts that mean a machine itself mean the pooler's. On the panel's own machine a socket and a loopback address
        of one port are the same server where it reports the cluster's system identifier there, which is asked.
        """
        places = [self._place(pooler, one.strip(), port or 5432) for one in host.split(",")]
        found = set.intersection(*places) if places else set()
        return found.pop() if len(found) == 1 else None

    def _place(self, pooler: Pooler, host: str, port: int) -> set[Cluster]:
        if is_local(host) and not is_local(pooler.host):
            host = pooler.host
        if exact := self._at.get(_key(host, port)):
            return exact
        return {one for one in self._neighbors(port) if _answers_there(one, host, port)} if is_local(host) else set()

    def _neighbors(self, port: int) -> set[Cluster]:
        """Return the clusters at this port of the panel's own machine."""
        return {one for (host, at), found in self._at.items() if at == port and is_local(host) for one in found}


def _key(host: str, port: int) -> tuple[str, int]:
    return host.lower().strip("[]").rstrip("."), port


def _answers_there(cluster: Cluster, host: str, port: int) -> bool:
    """Return whether the server at a local address is the cluster's, by its system identifier; asked once an hour."""
    asked, now = (str(cluster.pk), host, port), time.monotonic()
    at, answer = _answers.get(asked, (now - ASK_AGAIN_S, False))
    if now - at >= ASK_AGAIN_S:
        known = topology.identifier_of(cluster)
        answer = bool(known) and _identifier_at(cluster, host, port) == known
        _answers[asked] = now, answer
    return answer


def _identifier_at(cluster: Cluster, host: str, port: int) -> str:
    """Return the system identifier of the server at an address of this machine; empty where it does not tell."""
    try:
        with connect.connect(cluster, at=(host, port)) as connection:
            row = connection.execute(IDENTIFIER).fetchone()
    except (ClusterUnreachable, psycopg.Error) as error:
        logger.info("cluster %s: nothing tells whether it is the server at %s:%s: %s", cluster.pk, host, port, error)
        return ""
    return str(row[0]) if row else ""
