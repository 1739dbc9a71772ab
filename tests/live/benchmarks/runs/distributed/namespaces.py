"""Hosts of their own for workers: network namespaces on one bridge, each with its address, where the machine allows."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from panel.quickstart.ports import LOOPBACK
from tests import network_devices


def ip(*words: str) -> None:
    """One command of iproute2; raises CalledProcessError with what it said."""
    subprocess.run(["ip", *words], check=True, capture_output=True, text=True)


@dataclass
class Network:
    """Where the servers listen, and the namespaces that were made; none where the machine allows none."""

    host: str = LOOPBACK
    hosts: list[str] = field(default_factory=list)

    @property
    def is_own(self) -> bool:
        """Whether workers have addresses of their own."""
        return self.host != LOOPBACK

    @property
    def addresses(self) -> str:
        """All of the network, as pg_hba.conf names them."""
        return f"{self.host.rpartition('.')[0]}.0/24"

    def address_of(self, name: str) -> str:
        """A worker's."""
        return f"{self.host.rpartition('.')[0]}.{10 + self.hosts.index(name)}" if self.is_own else LOOPBACK

    def enter(self, name: str) -> list[str]:
        """The words before a command that is to run there; made at the first call."""
        if not self.is_own:
            return []
        if name not in self.hosts:
            self.hosts.append(name)
            self._make(name)
        return ["ip", "netns", "exec", self._namespace(name)]

    def _namespace(self, name: str) -> str:
        return f"pd{os.getpid()}-{name}"

    @property
    def bridge(self) -> str:
        """The device that all are on."""
        return f"pd{os.getpid()}"

    def _make(self, name: str) -> None:
        here, there = f"{self.bridge}h{len(self.hosts)}", f"{self.bridge}n{len(self.hosts)}"
        ip("netns", "add", self._namespace(name))
        ip("link", "add", here, "type", "veth", "peer", "name", there, "netns", self._namespace(name))
        ip("link", "set", here, "master", self.bridge, "up")
        ip("-n", self._namespace(name), "addr", "add", f"{self.address_of(name)}/24", "dev", there)
        ip("-n", self._namespace(name), "link", "set", there, "up")
        ip("-n", self._namespace(name), "link", "set", "lo", "up")

    def remove(self) -> None:
        """Everything that was made; the devices go with their namespaces."""
        for name in self.hosts:
            ip("netns", "del", self._namespace(name))
        ip("link", "del", self.bridge)


@contextmanager
def network() -> Iterator[Network]:
    """A bridge with an address for the servers; the loopback where none can be made."""
    with network_devices.changing():
        yield from _made()


def _made() -> Iterator[Network]:
    made = Network(f"10.77.{os.getpid() % 250 + 1}.1")
    try:
        ip("link", "add", made.bridge, "type", "bridge")
        ip("addr", "add", f"{made.host}/24", "dev", made.bridge)
        ip("link", "set", made.bridge, "up")
    except (OSError, subprocess.CalledProcessError):
        yield Network()
        return
    try:
        yield made
    finally:
        made.remove()
