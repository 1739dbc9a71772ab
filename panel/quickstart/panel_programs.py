"""The panel's own programs: web, worker, generator and beat."""

import os
import signal
import socket
import sys
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import urlopen

from core.lib import env
from core.lib.env import BASE_DIR
from core.lib.queues import WorkerKind
from panel.quickstart.ports import LOOPBACK, free_port, listen
from panel.quickstart.programs import Program, ProgramFailed
from panel.quickstart.progress import Steps
from panel.quickstart.tls import TlsFiles

DEFAULT_PORT = 8000


def take_port(asked: int | None, steps: Steps) -> socket.socket:
    """Listen on the requested port, else on 8000, else on a free one, so that no other program takes it.

    Raises `ProgramFailed` where the requested port is taken.
    """
    try:
        return listen(DEFAULT_PORT if asked is None else asked)
    except OSError as error:
        if asked is not None:
            reason = f"port {asked} of {LOOPBACK} is taken, or not yours to listen on: choose another --port"
            raise ProgramFailed(reason) from error
    port = free_port()
    steps.report(f"port {DEFAULT_PORT} is taken: using port {port}")
    return listen(port)


def address(port: int, *, is_https: bool = False) -> str:
    """Return the panel's URL on this machine."""
    return f"{'https' if is_https else 'http'}://{LOOPBACK}:{port}"


def print_address(port: int, *, is_https: bool = False) -> None:
    """Set POOLDECK_PUBLIC_URL for the panel's programs, unless it is set; with HTTPS, POOLDECK_HTTPS too."""
    if not os.environ.get("POOLDECK_PUBLIC_URL"):
        os.environ["POOLDECK_PUBLIC_URL"] = address(port, is_https=is_https)
    if is_https:
        os.environ["POOLDECK_HTTPS"] = "true"


class PanelProgram(Program):
    """A Python program of this checkout, with this process's environment and account."""

    orphan_signal = signal.SIGKILL
    working_folder = BASE_DIR

    @property
    def environment(self) -> dict[str, str]:
        """This process's own: it carries REDIS_URL and every POOLDECK_ variable."""
        return {**os.environ, "PYTHONUNBUFFERED": "1"}


class Web(PanelProgram):
    """The web server on the loopback address, with HTTPS if `tls` is given; it inherits `listener` if given."""

    name = "web"

    def __init__(
        self, home: Path, port: int, listener: socket.socket | None = None, tls: TlsFiles | None = None
    ) -> None:
        super().__init__(home)
        self.port, self.listener, self.tls = port, listener, tls
        self.client_context = tls.client_context() if tls else None
        self.last_answer = ""

    def spawn(self) -> None:
        """Start it. This process keeps the listener open, so that clients wait during a restart."""
        if self.listener is not None:
            self.handed_over = (self.listener.fileno(),)
        super().spawn()

    def given_up(self) -> None:
        """Close the listener, so that clients are refused instead of waiting."""
        if self.listener is not None:
            self.listener.close()

    @property
    def url(self) -> str:
        """The URL for the browser."""
        return address(self.port, is_https=self.tls is not None)

    @property
    def argv(self) -> list[str]:
        """The panel's own web server."""
        where = ["--host", LOOPBACK, "--port", str(self.port)]
        if self.handed_over:
            where = ["--fd", str(self.handed_over[0])]
        if self.tls:
            where += ["--certificate", str(self.tls.certificate), "--key", str(self.tls.key)]
        return [sys.executable, "-m", "panel.web_server", *where]

    def is_ready(self) -> bool:
        """Tell whether /healthz/ready answers 200, which includes database, Redis and workers."""
        try:
            ready = f"{self.url}/healthz/ready"
            urlopen(ready, timeout=5, context=self.client_context).close()  # noqa: S310 (our own address)
        except HTTPError as error:
            self.last_answer = error.read().decode(errors="replace")
        except OSError as error:
            self.last_answer = str(error)
        else:
            return True
        return False


class Worker(PanelProgram):
    """Applies configurations and runs periodic tasks; it takes no runs."""

    name = "worker"
    stop_signal = signal.SIGQUIT  # cold shutdown: it does not wait for tasks in progress
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
    """Executes runs: one child process each, and a second one for a distributed run."""

    name = "generator"
    takes = WorkerKind.RUNS
    children = 3


class SecondGenerator(Generator):
    """Runs the arms of playbooks that need a second generator; on the demo's one host that is all that differs."""

    name = "generator-2"
    children = 2  # a part of a distributed run, and what leads it

    @property
    def environment(self) -> dict[str, str]:
        """The panel's, with a name of its own."""
        first = env.read("POOLDECK_GENERATOR", "local", env.generator_name)
        return super().environment | {"POOLDECK_GENERATOR": f"{first[:61]}-2"}


class Beat(PanelProgram):
    """The scheduler of periodic tasks."""

    name = "beat"

    @property
    def argv(self) -> list[str]:
        """The command line; without a pid file, since the home's lock keeps a second one away."""
        return [sys.executable, "-m", "celery", "-A", "panel", "beat", "--pidfile=", "--loglevel", "WARNING"]
