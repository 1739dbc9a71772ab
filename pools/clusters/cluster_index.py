"""Finds the cluster that an entry of a pooler leads to, by host and port, without asking a name server.

A name is matched as it is written, else by its addresses: as the pooler resolved it, as this machine's own list of
hosts has it, and as the last check of the cluster reached it.
"""

import logging
import time
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Self

import psycopg

from core.lib import addresses
from core.lib.addresses import is_local
from pools.clusters import connect, topology
from pools.clusters.replication import IDENTIFIER
from pools.errors import ClusterUnreachable
from pools.models import Cluster, Pooler

logger = logging.getLogger(__name__)

ASK_AGAIN_S = 3600.0
_answers: dict[tuple[str, str, int], tuple[float, bool]] = {}  # cluster's id, host and port → when asked (monotonic)


Resolved = Mapping[str, Sequence[str]]  # name → addresses


class ClusterIndex:
    """The clusters with their nodes by address, read once for many entries."""

    def __init__(self, clusters: Iterable[Cluster]) -> None:
        self._at: dict[tuple[str, int], set[Cluster]] = defaultdict(set)
        self._reached: dict[tuple[str, int], set[Cluster]] = defaultdict(set)
        for cluster in clusters:
            for place in topology.of_cluster(cluster):
                host, port = place.address
                self._at[_key(host, port)].add(cluster)
                for address in filter(None, (place.found.ip_address, *_listed(host))):
                    self._reached[_key(address, port)].add(cluster)

    @classmethod
    def read(cls) -> Self:
        """Read all clusters, in three queries."""
        return cls(Cluster.objects.select_related("status").prefetch_related("nodes"))

    def find(self, pooler: Pooler, host: str, port: int | None, resolved: Resolved | None = None) -> Cluster | None:
        """Return the cluster that all hosts of an entry (with commas between) belong to; None where it is unknown.

        Hosts that mean a machine itself mean the pooler's. On the panel's own machine a socket and an address of one
        port are the same server where it reports the cluster's system identifier there, which is asked. `resolved` has
        the addresses of names as the pooler knows them.
        """
        places = [self._place(pooler, one.strip(), port or 5432, resolved or {}) for one in host.split(",")]
        clusters = set.intersection(*places) if places else set()
        return clusters.pop() if len(clusters) == 1 else None

    def _place(self, pooler: Pooler, host: str, port: int, resolved: Resolved) -> set[Cluster]:
        if is_local(host) and not is_local(pooler.host):
            host, resolved = pooler.host, {}
        if exact := self._at.get(_key(host, port)):
            return exact
        if is_local(host):
            return self._by_identifier(host, port)
        found = [self._at_address(pooler, one, port) for one in _addresses_of(pooler, host, resolved)]
        return set.intersection(*found) if found else set()

    def _at_address(self, pooler: Pooler, address: str, port: int) -> set[Cluster]:
        """Return the clusters at an address that the pooler connects to; loopback is the pooler's own machine."""
        if is_local(address) and not _runs_here(pooler):
            return self._place(pooler, pooler.host, port, {})
        key = _key(address, port)
        if clusters := self._at.get(key, set()) | self._reached.get(key, set()):
            return clusters
        return self._by_identifier(address, port) if addresses.is_of_this_machine(address) else set()

    def _by_identifier(self, host: str, port: int) -> set[Cluster]:
        return {one for one in self._neighbors(port) if _answers_there(one, host, port)}

    def _neighbors(self, port: int) -> set[Cluster]:
        """Return the clusters at this port of the panel's own machine."""
        known = [*self._at.items(), *self._reached.items()]
        return {one for (host, at), found in known if at == port and is_local(host) for one in found}


def _addresses_of(pooler: Pooler, host: str, resolved: Resolved) -> Sequence[str]:
    """Return the addresses of a host; of a name those that the pooler knows, else those listed on its machine.

    Where the pooler runs elsewhere, this machine's list says nothing of it, but for the name of the pooler itself.
    """
    if not addresses.is_name(host):
        return [host]
    return resolved.get(host) or (_listed(host) if is_local(pooler.host) or host == pooler.host else [])


def _runs_here(pooler: Pooler) -> bool:
    """Return whether a pooler's address leads to this machine."""
    return is_local(pooler.host) or any(map(addresses.is_of_this_machine, _listed(pooler.host)))


def _listed(host: str) -> Sequence[str]:
    return addresses.listed(host) if addresses.is_name(host) else []


def _key(host: str, port: int) -> tuple[str, int]:
    return host.lower().strip("[]").rstrip("."), port


def _answers_there(cluster: Cluster, host: str, port: int) -> bool:
    """Return whether the server at a local address is the cluster's, by its system identifier; asked once an hour."""
    key, now = (str(cluster.pk), host, port), time.monotonic()
    at, answer = _answers.get(key, (now - ASK_AGAIN_S, False))
    if now - at >= ASK_AGAIN_S:
        known = topology.identifier_of(cluster)
        answer = bool(known) and _identifier_at(cluster, host, port) == known
        _answers[key] = now, answer
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
