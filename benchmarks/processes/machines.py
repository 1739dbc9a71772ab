"""The machine that a load runs on, as the runner sees it: only here does it matter whether that is this one."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from queue import Queue
from typing import Protocol

from benchmarks.processes import sandbox, workdir
from benchmarks.processes.command import Command
from benchmarks.processes.host_processes import HostProcesses
from benchmarks.processes.logs import LogsHere, LogSource
from benchmarks.processes.process import LoadProcess
from pools.hosts.base import HostRefused
from pools.hosts.worker import WorkerConnection


class Load(Protocol):
    """A load program that was started; its lines arrive in `events`, in the order of each stream."""

    events: "Queue[object]"

    @property
    def dropped_lines(self) -> int:
        """The number of lines that were dropped, since they came faster than they were read."""

    @property
    def pid(self) -> int:
        """Its process on this machine; 0 where it runs on another one."""

    @property
    def lost(self) -> str:
        """Why nothing more is known of it; empty while it can be followed, and after it ended by itself."""

    def exit_code(self) -> int | None:
        """Return its exit code (negative: the signal); None while it runs."""

    def stop(self, term_seconds: float = ...) -> int:
        """End it with all its processes, and return the exit code. Safe to call again."""

    def join(self, seconds: float = ...) -> None:
        """Wait until both streams are drained."""


class Home(ABC):
    """The private folder of one attempt on the load's machine, with its password file in it.

    `there` is its path on that machine, for commands; `here` is where this process reads what the load writes into it.
    """

    there: Path
    here: Path
    is_here = True

    @abstractmethod
    def put(self, name: str, text: str) -> None:
        """Write a new file into it that only the load's account can read."""

    @abstractmethod
    def confine(self, command: Command) -> Command:
        """Put the command into a sandbox where required, its `shown` words without it; raise `NoSandbox`."""

    @abstractmethod
    def follow(self, pattern: str) -> LogSource:
        """Return the logs by this pattern of their names, before the load that writes them is started."""

    def processes(self, names: Iterable[str]) -> HostProcesses | None:
        """Return the times of the load on another machine, and of programs by name; None where it is this one."""
        return None

    def facts(self) -> dict[str, str | int | None]:
        """Return host, kernel, processor, cores and memory of another machine, as far as it tells."""
        return {}

    @abstractmethod
    def start(self, command: Command, events: "Queue[object]") -> Load:
        """Start the command in it; raise OSError when it can't be started. The starting thread must outlive it."""


class Machine(ABC):
    """A machine that load programs can be started on."""

    is_here = True

    @abstractmethod
    def answer(self, argv: Sequence[str]) -> str:
        """Run a program there to its end, and return what it printed; raise `HostRefused`, `HostUnreachable`."""

    @abstractmethod
    def private_home(self, owner: str, password: str, certificate: str = "") -> AbstractContextManager[Home]:
        """Make the private home of an attempt there; it is removed in any case."""


class ThisMachine(Machine):
    """The machine of this worker."""

    def answer(self, argv: Sequence[str]) -> str:
        done = WorkerConnection().run(argv)
        if done.exit_code:
            raise HostRefused(done.words)
        return done.stdout.decode(errors="replace")

    @contextmanager
    def private_home(self, owner: str, password: str, certificate: str = "") -> Iterator[Home]:
        with workdir.private_home(owner, password, certificate) as folder:
            yield HomeHere(folder)


class HomeHere(Home):
    """A private home on this machine."""

    def __init__(self, folder: Path) -> None:
        self.there = self.here = folder

    def put(self, name: str, text: str) -> None:
        workdir.put(self.here / name, text)

    def confine(self, command: Command) -> Command:
        return sandbox.confine(command, self.here)

    def follow(self, pattern: str) -> LogSource:
        return LogsHere(self.here, pattern)

    def start(self, command: Command, events: "Queue[object]") -> LoadProcess:
        return LoadProcess(command.argv, command.env, self.here, events)
