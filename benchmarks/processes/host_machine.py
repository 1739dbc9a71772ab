"""A host that is reached by SSH, as the machine of a load: nothing is needed there but sshd, sh and the program.

One command there keeps the private home for as long as it hears from here. When the connection is lost, or this process
ends however it does, it ends the load's process group and removes the home with the password in it.
"""

import logging
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from functools import cache
from pathlib import Path
from queue import Queue

from django.utils.translation import gettext as _

from benchmarks.processes import host_sandbox
from benchmarks.processes.command import PASSFILE, ROOT_CERTIFICATE, Command
from benchmarks.processes.host_helper import HostHelper
from benchmarks.processes.host_logs import HostLogs
from benchmarks.processes.host_processes import HostProcesses
from benchmarks.processes.logs import LogSource
from benchmarks.processes.machines import Home, Machine
from benchmarks.processes.process import TERM_SECONDS, Lines, normalized_exit_code
from benchmarks.processes.workdir import passfile_text
from pools.errors import HostUnreachable
from pools.hosts.base import HostRefused
from pools.hosts.ssh import SshConnection
from pools.hosts.ssh_client import LOST

log = logging.getLogger(__name__)

SCRIPTS = Path(__file__).parent / "scripts"
BEAT_S, SILENT_S = 0.5, 4  # a host that hears nothing for so long ends the load there
ENDED_WITHIN_S = 5.0
_FACTS = """
echo "host=$(uname -n)"; echo "kernel=$(uname -r)"; echo "cores=$(nproc 2> /dev/null)"
echo "processor=$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo 2> /dev/null | head -n 1)"
echo "kb=$(sed -n 's/^MemTotal: *\\([0-9]*\\) kB/\\1/p' /proc/meminfo 2> /dev/null)"
"""
_PUT = 'umask 077; set -C; cat > "$1"'
CLOCK_READINGS = 3


@cache
def _script(name: str) -> str:
    return (SCRIPTS / name).read_text()


class HostMachine(Machine):
    """A host with an open login."""

    is_here = False

    def __init__(self, connection: SshConnection) -> None:
        self.connection = connection
        self.name = connection.client.hop.name

    def answer(self, argv: Sequence[str]) -> str:
        found = self.connection.run(argv)
        if found.exit_code:
            text = _("%(program)s on host %(host)s ended with exit code %(code)s: %(reason)s")
            words = {"program": argv[0], "host": self.name, "code": found.exit_code, "reason": found.words}
            raise HostRefused(text % words)
        return found.stdout.decode(errors="replace")

    @contextmanager
    def private_home(self, owner: str, password: str, certificate: str = "") -> Iterator[Home]:
        with (
            _Watchdog(self, owner) as watchdog,
            tempfile.TemporaryDirectory() as here,
            ExitStack() as helpers,
        ):
            home = HomeThere(self, watchdog, Path(here), helpers)
            home.put(PASSFILE, passfile_text(password))
            if certificate:
                home.put(ROOT_CERTIFICATE, certificate)
            yield home

    def clock_ahead_s(self) -> float:
        """Return by how much the clock there is ahead, from the quickest of some readings."""
        return min(self._clock_reading() for _reading in range(CLOCK_READINGS))[1]

    def _clock_reading(self) -> tuple[float, float]:
        """Return the seconds that a reading of the clock took, and how far the clock was ahead in the middle of it."""
        began = time.time()
        answer = self.answer(["date", "+%s.%N"])
        ended = time.time()
        seconds, _point, fraction = answer.split()[-1].partition(".")  # an account's shell may print other lines before
        there = int(seconds) + (int(fraction) / 1e9 if fraction.isdecimal() else 0.5)  # busybox has no fraction
        return ended - began, there - (began + ended) / 2


class _Watchdog:
    """The command there that keeps the home; a thread writes to it, so that it hears from here."""

    def __init__(self, machine: HostMachine, owner: str) -> None:
        self.machine, self.home = machine, Path()
        self._owner = owner
        self._ended = threading.Event()
        self._writing = threading.Lock()

    def __enter__(self) -> "_Watchdog":
        words = ["sh", "-c", _script("keep_home.sh"), "keep_home.sh", self._owner, str(SILENT_S)]
        self._child = self.machine.connection.start(words, stdin=subprocess.PIPE)
        threading.Thread(target=self._beat, name=f"beats to host {self.machine.name}", daemon=True).start()
        try:
            self.home = self._made()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_exception: object) -> None:
        """Let it end the load and remove the home, and wait until it has."""
        self._ended.set()
        with self._writing, suppress(OSError):
            if self._child.stdin:
                self._child.stdin.close()
        try:
            code = self._child.wait(ENDED_WITHIN_S)
        except subprocess.TimeoutExpired:
            self._child.kill()
            code = self._child.wait()
        if code:
            log.warning("the home of run %s on host %s was not seen removed (%s)", self._owner, self.machine.name, code)
        for pipe in (self._child.stdout, self._child.stderr):
            if pipe:
                pipe.close()

    @property
    def is_gone(self) -> bool:
        """True if it ended, which it does by itself only when it heard nothing, or somebody killed it."""
        return self._child.poll() is not None

    def send(self, letter: bytes) -> None:
        """Write a letter to it; a lost connection shows elsewhere."""
        with self._writing, suppress(OSError, ValueError):
            if self._child.stdin:
                self._child.stdin.write(letter)
                self._child.stdin.flush()

    def _beat(self) -> None:
        while not self._ended.wait(BEAT_S):
            self.send(b".")

    def _made(self) -> Path:
        for line in self._child.stdout or ():  # an account's shell may print others before
            if line.startswith(b"home /"):
                return Path(line.decode().removeprefix("home ").rstrip("\n"))
        self._child.wait(ENDED_WITHIN_S)
        reason = self._child.stderr.read().decode(errors="replace").strip() if self._child.stderr else ""
        if self._child.returncode == LOST:
            raise HostUnreachable(_("the connection to host %(host)s was lost") % {"host": self.machine.name})
        text = _("no private folder can be made on host %(host)s: %(reason)s")
        raise HostRefused(text % {"host": self.machine.name, "reason": reason or self._child.returncode})


class HomeThere(Home):
    """A private home on a host, and the helpers that were started in it."""

    is_here = False

    def __init__(self, machine: HostMachine, watchdog: _Watchdog, here: Path, helpers: ExitStack) -> None:
        self.machine, self.watchdog, self.here = machine, watchdog, here
        self.there = watchdog.home
        self._helpers = helpers

    def put(self, name: str, text: str) -> None:
        words = ["sh", "-c", _PUT, "put", str(self.there / name)]
        done = self.machine.connection.run(words, stdin=text.encode())
        if done.exit_code:
            text = _("%(path)s can't be written on host %(host)s: %(reason)s")
            raise HostRefused(text % {"path": self.there / name, "host": self.machine.name, "reason": done.words})

    def confine(self, command: Command) -> Command:
        return host_sandbox.confine(command, self.machine.connection, self.there) if command.confined else command

    def follow(self, pattern: str) -> LogSource:
        helper = self._helper("follow_logs.sh", pattern)
        return HostLogs(helper, pattern, self.machine.name, self.machine.clock_ahead_s())

    def processes(self, names: Iterable[str]) -> HostProcesses:
        return HostProcesses(self._helper("processes.sh", "|".join(names)))

    def _helper(self, name: str, *words: str) -> HostHelper:
        """Start a script in the home, which ends at the latest when the home is removed."""
        argv = ["sh", "-c", _script(name), name, *words]
        child = self.machine.connection.start(argv, folder=str(self.there), stdin=subprocess.PIPE)
        helper = HostHelper(child)
        self._helpers.callback(helper.close)
        return helper

    def facts(self) -> dict[str, str | int | None]:
        found = dict(line.partition("=")[::2] for line in self.machine.answer(["sh", "-c", _FACTS]).splitlines())
        numbers = {name: int(found[name]) if found.get(name, "").isdecimal() else None for name in ("cores", "kb")}
        memory_bytes = numbers["kb"] * 1024 if numbers["kb"] else None
        words = {name: found.get(name, "").strip() for name in ("host", "kernel", "processor")}
        return {**words, "cores": numbers["cores"], "memory_bytes": memory_bytes}

    def start(self, command: Command, events: "Queue[object]") -> "HostLoad":
        words = ["sh", "-c", _script("load.sh"), "load.sh", *command.argv]
        child = self.machine.connection.start(words, environment=command.env, folder=str(self.there))
        return HostLoad(child, self.watchdog, events)


class HostLoad:
    """A load program on a host."""

    pid = 0

    def __init__(self, child: "subprocess.Popen[bytes]", watchdog: _Watchdog, events: "Queue[object]") -> None:
        self.events = events
        self._child, self._watchdog = child, watchdog
        self._lines = Lines(child, events)
        self._is_stopped = False

    @property
    def dropped_lines(self) -> int:
        """The number of lines that were dropped, since they came faster than they were read."""
        return self._lines.dropped

    @property
    def lost(self) -> str:
        """Why nothing more is known of it; empty while it can be followed, and after it ended by itself."""
        if self._is_stopped or not (self._child.poll() == LOST or self._watchdog.is_gone):
            return ""
        text = _("the connection to host %(host)s was lost, and the load is ended there; figures are those until then")
        return text % {"host": self._watchdog.machine.name}

    def exit_code(self) -> int | None:
        """Return its exit code (negative: the signal); None while it runs."""
        code = self._child.poll()
        return None if code is None else normalized_exit_code(code)

    def stop(self, term_seconds: float = TERM_SECONDS) -> int:
        """End its process group by TERM, then KILL after `term_seconds`; return the exit code. Safe to call again."""
        for letter, seconds in ((b"T", term_seconds), (b"K", ENDED_WITHIN_S)):
            if self._child.poll() is None:
                self._is_stopped = not self._watchdog.is_gone
                self._watchdog.send(letter)
                with suppress(subprocess.TimeoutExpired):
                    self._child.wait(seconds)
        if self._child.poll() is None:
            self._child.kill()
        return normalized_exit_code(self._child.wait())

    def join(self, seconds: float = 5.0) -> None:
        """Wait until both streams are drained."""
        self._lines.join(seconds)
