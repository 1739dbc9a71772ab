"""Processor times on the host of a load, over the kept login: of the host, the load, and programs by name."""

from collections.abc import Iterable
from dataclasses import dataclass

from benchmarks.processes.host_helper import HostHelper

GREETING = "processes"
MOST_LINES, LONGEST_BYTES = 20_000, 1_000  # The limits of an answer, whatever the host sends.


@dataclass(frozen=True)
class ProcessTimes:
    """A process: its processor seconds, its ended children's, and its start, which tells it from one of its number."""

    pid: int
    name: str
    parent: int
    group: int
    seconds: float
    of_children: float
    threads: int
    started: float


def of_stat(text: str, ticks_per_s: int) -> ProcessTimes:
    """Parse the text of /proc/PID/stat (proc(5)); the name may hold blanks and parentheses."""
    front, _parenthesis, rest = text.rpartition(") ")
    pid, _space, name = front.partition(" (")
    fields = rest.split(None, 20)
    seconds, of_children = ((int(fields[at]) + int(fields[at + 1])) / ticks_per_s for at in (11, 13))
    return ProcessTimes(
        pid=int(pid),
        name=name,
        parent=int(fields[1]),
        group=int(fields[2]),
        seconds=seconds,
        of_children=of_children,
        threads=int(fields[17]),
        started=int(fields[19]) / ticks_per_s,
    )


@dataclass(frozen=True)
class HostTimesThere:
    """Processor seconds of all cores by kind, as the first line of /proc/stat has them, and of processes."""

    user: float
    nice: float
    system: float
    idle: float
    waiting: float
    interrupts: float
    stolen: float
    processes: tuple[ProcessTimes, ...]


class HostProcesses:
    """The processes of a host, as the script `processes.sh` answers.

    `sees_all` is whether the account there may see those of others; `cores` counts its processors.
    """

    def __init__(self, helper: HostHelper) -> None:
        self._helper = helper
        ticks, cores, visible = [*helper.greeting(GREETING).split(), "", "", ""][:3]
        self._ticks = int(ticks) if ticks.isdecimal() else 100
        self.cores = int(cores) if cores.isdecimal() else 1
        self.sees_all = visible == "all"

    def list_all(self) -> HostTimesThere | None:
        """Return the times of the load's processes, and of those by the names asked for; None once it is lost."""
        return self._asked("all")

    def of(self, pids: Iterable[int]) -> HostTimesThere | None:
        """Return the times of these processes; None once the host is lost."""
        return self._asked(" ".join(map(str, pids)) or "none")

    def close(self) -> None:
        """End the script. Safe to call again, also while an answer is waited for."""
        self._helper.close()

    def _asked(self, words: str) -> HostTimesThere | None:
        self._helper.send(words)
        lines: list[str] = []
        while len(lines) < MOST_LINES and (line := self._helper.stdout.readline(LONGEST_BYTES)):
            if line == b"done\n":
                return self._parsed(lines)
            lines.append(line.decode(errors="replace"))
        return None

    def _parsed(self, lines: list[str]) -> HostTimesThere | None:
        if not lines or not lines[0].startswith("cpu "):
            return None
        user, nice, system, idle, waiting, irq, softirq, stolen = (
            int(field) / self._ticks for field in (lines[0].split() + ["0"] * 8)[1:9]
        )
        processes = tuple(of_stat(line, self._ticks) for line in lines[1:] if ") " in line)
        return HostTimesThere(user, nice, system, idle, waiting, irq + softirq, stolen, processes)
