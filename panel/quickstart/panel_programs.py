"""The panel's own programs: web, worker, generator and beat."""

import os
import signal
import socket
import sys
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import urlopen

from panel.lib.env import BASE_DIR
from panel.lib.queues import WorkerKind
from panel.quickstart.ports import LOOPBACK, free_port, listen
from panel.quickstart.programs import Program, ProgramFailed
from panel.quickstart.progress import Steps

DEFAULT_PORT = 8000


def take_port(asked: int | None, steps: Steps) -> socket.socket:
    """A listener on the port asked for, else 8000, else a free one, so that nobody takes it before the panel serves.

    Raises `ProgramFailed` where the one asked for is taken.
    """
    try:
        return listen(DEFAULT_PORT if asked is None else asked)
    except OSError as error:
        if asked is not None:
            reason = f"port {asked} of {LOOPBACK} is taken, or not yours to listen on: choose another --port"
            raise ProgramFailed(reason) from error
    port = free_port()
    steps.report(f"port {DEFAULT_PORT} is taken, so the panel goes to {port}")
    return listen(port)


def print_address(port: int) -> None:
    """Let the panel's programs know where people reach it, unless somebody said so."""
    if not os.environ.get("POOLDECK_PUBLIC_URL"):
        os.environ["POOLDECK_PUBLIC_URL"] = f"http://{LOOPBACK}:{port}"


class PanelProgram(Program):
    """A Python program of this checkout, with this process's environment and account."""

    orphan_signal = signal.SIGKILL
    working_folder = BASE_DIR

    @property
    def environment(self) -> dict[str, str]:
        """This process's own: it carries REDIS_URL and every POOLDECK_ variable."""
        return {**os.environ, "PYTHONUNBUFFERED": "1"}


class Web(PanelProgram):
    """The web server on the loopback address, by a listener that is open already where one is handed over."""

    name = "web"

    def __init__(self, home: Path, port: int, listener: socket.socket | None = None) -> None:
        super().__init__(home)
        self.port, self.listener = port, listener
        self.last_answer = ""

    def spawn(self) -> None:
        """Start it. The listener stays open here too, so that whoever calls while it is started again waits for it."""
        if self.listener is not None:
            self.handed_over = (self.listener.fileno(),)
        super().spawn()

    def given_up(self) -> None:
        """Refuse whoever calls, rather than let them wait for nobody."""
        if self.listener is not None:
            self.listener.close()

    @property
    def url(self) -> str:
        """Where people point the browser."""
        return f"http://{LOOPBACK}:{self.port}"

    @property
    def argv(self) -> list[str]:
        """The panel's own web server."""
        address = ["--host", LOOPBACK, "--port", str(self.port)]
        where = ["--fd", str(self.handed_over[0])] if self.handed_over else address
        return [sys.executable, "-m", "panel.web_server", *where]

    def is_ready(self) -> bool:
        """Whether /healthz/ready says 200: database, Redis and a worker answer too."""
        try:
            urlopen(f"{self.url}/healthz/ready", timeout=5).close()  # noqa: S310 (our own address)
        except HTTPError as error:
            self.last_answer = error.read().decode(errors="replace")
        except OSError as error:
            self.last_answer = str(error)
        else:
            return True
        return False


class Worker(PanelProgram):
    """Applies configurations and looks after what there is; its children never carry a run."""

    name = "worker"
    stop_signal = signal.SIGQUIT  # "cold": what is in progress is not waited for
    takes = WorkerKind.TASKS
    children = 2

    @property
    def environment(self) -> dict[str, str]:
        """The panel's, and what it takes."""
        return super().environment | {"POOLDECK_WORKER": self.takes}

    @property
    def argv(self) -> list[str]:
        """Mingling would wait a second for workers that there are none of."""
        who = ["-n", f"{self.name}@%h", "-c", str(self.children)]
        words = [*who, "--without-mingle", "--without-gossip", "--loglevel", "INFO"]
        return [sys.executable, "-m", "celery", "-A", "panel", "worker", *words]


class Generator(Worker):
    """Carries runs: one child each, and one more for a run that is spread over several generators."""

    name = "generator"
    takes = WorkerKind.RUNS
    children = 3


class Beat(PanelProgram):
    """The clock of the regular tasks."""

    name = "beat"

    @property
    def argv(self) -> list[str]:
        """Without a pid file: the home's lock keeps a second one away."""
        return [sys.executable, "-m", "celery", "-A", "panel", "beat", "--pidfile=", "--loglevel", "WARNING"]
