"""Finds the poolers that run on a host: each with its main file, port, processes, version and unit."""

from collections import defaultdict
from collections.abc import Iterable, Sequence

from pools.hosts import processes
from pools.hosts.base import HostConnection, HostRefused
from pools.hosts.processes import ProcessFacts
from pools.models import FoundPooler
from pools.poolers import KINDS
from pools.poolers.base import Driver


def on_host(host: HostConnection) -> list[FoundPooler]:
    """Return the poolers in the order of their ports. Raises `HostUnreachable`."""
    names = {driver.program: kind for kind, driver in KINDS.items()}
    facts = processes.of_programs(host, list(names))
    groups: dict[tuple[object, ...], list[_Running]] = defaultdict(list)
    for one in facts:
        if _started_by_other(one, facts):
            found = _Running(host, KINDS[names[one.name]], one, _with_children(one, facts))
            groups[(names[one.name], *(found.ports or [-one.pid]))].append(found)
    poolers = [_found_pooler(str(key[0]), members) for key, members in groups.items()]
    return sorted(poolers, key=lambda pooler: (pooler["ports"], pooler["main_file"]))


class _Running:
    """A process with its children, and what its main file adds."""

    def __init__(
        self, host: HostConnection, driver: Driver, facts: ProcessFacts, family: Sequence[ProcessFacts]
    ) -> None:
        self.host, self.facts = host, facts
        self.main_file = facts.path_of(driver.main_file_in(facts.argv))
        self.ports = self._ports(driver, frozenset[int]().union(*(one.ports for one in family)))
        self.addresses = {address for one in family for address, port in one.listeners if port == self.ports[0]}
        self.socket_folders = frozenset[str]().union(*(one.socket_folders for one in family))
        self.control_sockets = frozenset[str]().union(*(one.control_sockets for one in family))

    def _ports(self, driver: Driver, listening: frozenset[int]) -> list[int]:
        """Return the ports on which it listens, that of clients first, before a control port."""
        if len(listening) == 1:
            return list(listening)
        written = self._written_ports(driver)
        return sorted(listening, key=lambda port: (port not in written, port)) or written

    def _written_ports(self, driver: Driver) -> list[int]:
        """Return the port of its main file, as far as the account there may read that."""
        try:
            content = self.host.read_file(self.main_file) if self.main_file else None
        except HostRefused:
            return []
        port = driver.port_in((content or b"").decode(errors="replace"))
        return [port] if port else []

    @property
    def version(self) -> str:
        """The program's answer to `--version`; empty where it may not be started."""
        try:
            printed = self.host.script("version.sh", self.facts.name, self.facts.exe)
        except HostRefused:
            return ""
        lines = printed.stdout.decode(errors="replace").splitlines()
        return lines[0].strip() if lines and printed.exit_code == 0 else ""


def _started_by_other(one: ProcessFacts, facts: Iterable[ProcessFacts]) -> bool:
    """Tell whether a process is no child of the same program: Pgpool-II's and HAProxy's are."""
    return all(one.parent != other.pid or one.name != other.name for other in facts)


def _with_children(one: ProcessFacts, facts: Iterable[ProcessFacts]) -> list[ProcessFacts]:
    return [one, *(other for other in facts if other.parent == one.pid and other.name == one.name)]


def _found_pooler(kind: str, members: Sequence[_Running]) -> FoundPooler:
    members = sorted(members, key=lambda one: (one.main_file, one.facts.pid))
    first = members[0]
    return {
        "kind": kind,
        "main_file": first.main_file,
        "ports": first.ports,
        "addresses": sorted(set[str]().union(*(one.addresses for one in members))),
        "socket_folders": sorted(frozenset[str]().union(*(one.socket_folders for one in members))),
        "control_sockets": sorted(frozenset[str]().union(*(one.control_sockets for one in members))),
        "processes": [{"pid": one.facts.pid, "user": one.facts.user, "main_file": one.main_file} for one in members],
        "version": first.version,
        "unit": first.facts.unit,
    }
