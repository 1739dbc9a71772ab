"""The backends of a Pgpool-II: the primary and the standbys of its one cluster, each at a number that it keeps."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from django.utils.translation import gettext as _

from pools.models import Cluster
from pools.poolers.faults import Rejected
from pools.poolers.pgpool.hba_access import name_problem

NODE = re.compile(
    r"^# node (?P<key>(?:cluster|standby) \S+)\n"
    r"backend_hostname(?P<number>\d+) = '(?P<host>[^'\n]*)'\nbackend_port\d+ = (?P<port>\d+)$",
    re.MULTILINE,
)


@dataclass(frozen=True)
class Backend:
    """One server; `key` names its record, `number` is what Pgpool-II knows it by."""

    key: str
    number: int
    host: str
    port: int

    def lines(self, settings: Mapping[str, str]) -> str:
        """Its settings; one without a weight gets reads like any other."""
        weight, flag = f"backend_weight{self.number}", f"backend_flag{self.number}"
        lines = [f"# node {self.key}", f"backend_hostname{self.number} = '{self.host}'"]
        lines += [f"backend_port{self.number} = {self.port}", f"{weight} = {settings.get(weight, '1')}"]
        return "\n".join([*lines, *([f"{flag} = '{settings[flag]}'"] if flag in settings else []), ""])


def of_cluster(cluster: Cluster, before: Iterable[Backend]) -> list[Backend]:
    """Return the primary and the other nodes, each with its old number, new ones with the lowest free one."""
    places = {f"cluster {cluster.pk}": (cluster.host, cluster.port)}
    for node in cluster.nodes.order_by("pk"):
        if (node.host, node.port) not in places.values():  # the cluster's own address may be a node as well
            places[f"standby {node.pk}"] = (node.host, node.port)
    numbers = {backend.key: backend.number for backend in before if backend.key in places}
    for key in places:
        numbers.setdefault(key, next(number for number in range(128) if number not in numbers.values()))
    found = [Backend(key, numbers[key], host, port) for key, (host, port) in places.items()]
    return sorted(map(_sound, found), key=lambda backend: backend.number)


def read(text: str) -> list[Backend]:
    """Parse the backends of a pgpool.conf that this module wrote."""
    return [
        Backend(found["key"], int(found["number"]), found["host"], int(found["port"])) for found in NODE.finditer(text)
    ]


def primary_of(backends: Iterable[Backend]) -> Backend | None:
    """Return the backend of the cluster's own address."""
    return next((backend for backend in backends if backend.key.startswith("cluster ")), None)


def _sound(backend: Backend) -> Backend:
    if problem := name_problem(backend.host):
        raise Rejected(_("backend %(number)s: %(problem)s") % {"number": backend.number, "problem": problem})
    return backend
