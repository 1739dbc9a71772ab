"""What an operator installs so that several processes of a pooler share its port."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class ProcessPlan:
    """The main file of each process, by path, with the lines that were added to it, and a systemd template unit.

    The whole files may hold the operator's secrets; the lines, `peers` and the unit hold none.
    """

    files: Mapping[str, str]
    lines: Mapping[str, tuple[str, ...]]
    peers: str
    unit_name: str
    unit: str

    @property
    def unit_path(self) -> str:
        """Where systemd reads the units of an administrator."""
        return f"/etc/systemd/system/{self.unit_name}"
