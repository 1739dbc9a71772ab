"""What an operator installs and starts so that several processes of a pooler share its port."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class ProcessPlan:
    """The lines of each main file by its path, the peers, a systemd template unit, and the commands in their order.

    `note` says what the commands mean for clients, `keeps_clients` whether none that is connected loses its session.
    `by_hand` are the commands of the account `user` where no systemd runs.
    """

    lines: Mapping[str, tuple[str, ...]]
    peers: str
    unit_name: str
    unit: str
    commands: tuple[str, ...]
    note: str
    keeps_clients: bool
    user: str = ""
    by_hand: tuple[str, ...] = ()

    @property
    def unit_path(self) -> str:
        """The path from which systemd reads a unit of an administrator."""
        return f"/etc/systemd/system/{self.unit_name}"
