"""The processes of an installation under measurement: their processor time, and on which processor they run."""

import os
import signal
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

TICKS_PER_S = os.sysconf("SC_CLK_TCK")
LOAD = frozenset({"postgres", "pgbench"})


def end_all_on_sigterm() -> None:
    """Leave by way of all contexts, so that the servers in them end too; what goes on would disturb the next one."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))


def descendants(pid: int) -> Iterator[tuple[int, str]]:
    """(pid, program's name) of a process and of all that it started, itself or through others."""
    parents: dict[int, list[tuple[int, str]]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with suppress(FileNotFoundError, ProcessLookupError):
                name, parent, _ = _stat(int(entry.name))
                parents.setdefault(parent, []).append((int(entry.name), name))
    found = [(pid, _stat(pid)[0])]
    for one in found:
        yield one
        found.extend(parents.get(one[0], []))


def panel_cpu_s(pid: int) -> float:
    """Processor seconds that living processes took so far, those of PostgreSQL and pgbench left out."""
    total = 0.0
    for child, name in descendants(pid):
        if name not in LOAD:
            with suppress(FileNotFoundError, ProcessLookupError):
                total += _stat(child)[2]
    return total


def keep_apart(pid: int) -> None:
    """PostgreSQL on the first processor, all else and this process on the second.

    Left alone, Linux moves two saturating programs about, and their throughput jumps by a third from run to run.
    """
    os.sched_setaffinity(0, {1})
    for child, name in descendants(pid):
        with suppress(ProcessLookupError):
            for thread in Path(f"/proc/{child}/task").iterdir():
                os.sched_setaffinity(int(thread.name), {0} if name == "postgres" else {1})


def _stat(pid: int) -> tuple[str, int, float]:
    """Name, parent and processor seconds of a process (proc(5), /proc/PID/stat)."""
    text = Path(f"/proc/{pid}/stat").read_text()
    name = text[text.index("(") + 1 : text.rindex(")")]
    fields = text[text.rindex(")") + 2 :].split()
    return name, int(fields[1]), (int(fields[11]) + int(fields[12])) / TICKS_PER_S


def cpu_by_program(pid: int) -> Counter[str]:
    """Processor seconds that living processes took so far, by what they are; those of the load left out."""
    found: Counter[str] = Counter()
    for child, name in descendants(pid):
        if name not in LOAD:
            with suppress(FileNotFoundError, ProcessLookupError):
                found[_role(child, name)] += _stat(child)[2]
    return found


def _role(pid: int, name: str) -> str:
    """The part that a process has: its Celery worker's name, or the module that Python was started with."""
    words = Path(f"/proc/{pid}/cmdline").read_text().split("\0")
    after = dict(pairwise(words))
    if "-n" in after:
        return after["-n"].partition("@")[0]
    if "-m" not in after:
        return name
    return "beat" if "beat" in words else after["-m"]


@dataclass(frozen=True)
class Scheduled:
    """Seconds that a program's living threads ran, and that they were ready to run without a processor."""

    ran_s: float = 0.0
    waited_s: float = 0.0

    def __add__(self, other: "Scheduled") -> "Scheduled":
        return Scheduled(self.ran_s + other.ran_s, self.waited_s + other.waited_s)

    def __sub__(self, other: "Scheduled") -> "Scheduled":
        return Scheduled(self.ran_s - other.ran_s, self.waited_s - other.waited_s)


def scheduled_by_program(pid: int) -> dict[str, Scheduled]:
    """What the programs below a process ran and waited so far, by what they are (proc(5), schedstat)."""
    found: dict[str, Scheduled] = {}
    for child, name in descendants(pid):
        with suppress(FileNotFoundError, ProcessLookupError):
            role = _role(child, name)
            for thread in Path(f"/proc/{child}/task").iterdir():
                ran_ns, waited_ns, _slices = map(int, (thread / "schedstat").read_text().split())
                found[role] = found.get(role, Scheduled()) + Scheduled(ran_ns / 1e9, waited_ns / 1e9)
    return found


def is_loaded(pid: int) -> bool:
    """Whether pgbench runs there."""
    return any(name == "pgbench" for _, name in descendants(pid))
