"""A panel of its own: real web servers, a worker and beat on one metadata database, all of which may be killed."""

import json
import os
import sqlite3
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any, TypeVar

import psutil
import psycopg

from panel.quickstart.panel_programs import Beat, Web, Worker
from panel.quickstart.programs import Program
from panel.quickstart.servers import PostgresServer, RedisServer, free_port
from tests.installation import ROOT

WEBS = 2
FAST = {"fsync": "off", "synchronous_commit": "off"}  # a process is killed here, not the machine


class Metadata:
    """The metadata database, as its administrator sees it."""

    def __init__(self, url: str) -> None:
        self.url = url

    def execute(self, statement: str) -> list[tuple[Any, ...]]:
        """Run one statement past the panel, and return its rows."""
        if self.url.startswith("sqlite"):
            with closing(sqlite3.connect(self.url.removeprefix("sqlite:///"), timeout=30)) as session, session:
                return session.execute(statement).fetchall()
        with psycopg.connect(self.url, autocommit=True) as session:
            found = session.execute(statement.encode())
            return found.fetchall() if found.description else []


@contextmanager
def in_postgresql(folder: Path) -> Iterator[Metadata]:
    """Start a PostgreSQL with a database that the panel's role owns."""
    with PostgresServer(folder / "metadata", free_port(), password="of-metadata", settings=FAST) as server:
        server.create_owner_and_database("pooldeck", "of-the-panel", "pooldeck")
        yield Metadata(f"postgresql://pooldeck:of-the-panel@127.0.0.1:{server.port}/pooldeck")


@contextmanager
def in_sqlite(folder: Path) -> Iterator[Metadata]:
    """Name a file."""
    yield Metadata(f"sqlite:///{folder / 'metadata.sqlite3'}")


class OwnProgram(Program):
    """A program of this panel, with its environment."""

    variables: Mapping[str, str]
    ready_within_s = 180.0

    @property
    def environment(self) -> dict[str, str]:
        """The panel's, whatever the test run's is."""
        return {**os.environ, **self.variables, "PYTHONUNBUFFERED": "1"}

    def destroy(self) -> None:
        """Kill it and all that it started with SIGKILL, as the kernel does where memory is short."""
        assert self.process
        head = psutil.Process(self.process.pid)
        for one in [head, *head.children(recursive=True)]:
            one.kill()
        self.process.wait()
        self.process = None


class OwnWeb(OwnProgram, Web):
    """A web server."""

    def probe(self) -> None:
        """It answers."""
        if not self.is_ready() and "database" not in self.last_answer:
            raise OSError(self.last_answer)


class OwnWorker(OwnProgram, Worker):
    """A worker of tasks, which has no key of sessions."""

    @property
    def environment(self) -> dict[str, str]:
        """The panel's, and that it takes tasks alone."""
        return super().environment | {"POOLDECK_WORKER": self.takes, "POOLDECK_SECRET_KEY": ""}

    def probe(self) -> None:
        """Its log says so, since its last start."""
        if "ready." not in self.log[self.begun :]:
            raise OSError("the worker has not said that it is ready")

    begun = 0

    def spawn(self) -> None:
        """Start it, and remember where its log begins."""
        self.begun = len(self.log)
        super().spawn()


class OwnBeat(OwnProgram, Beat):
    """The clock."""

    def probe(self) -> None:
        """Beat logs nothing as it starts; what it sends is seen by what workers do."""


Made = TypeVar("Made", bound=OwnProgram)


class Panel:
    """The processes, and the commands of its administrator."""

    def __init__(self, folder: Path, metadata: Metadata, redis: RedisServer) -> None:
        self.metadata = metadata
        home = folder / "home"
        home.mkdir()
        self.variables = {
            "DATABASE_URL": metadata.url,
            "REDIS_URL": redis.url,
            "DJANGO_SETTINGS_MODULE": "panel.settings",
            "POOLDECK_HOME": str(home),
        }
        self.webs = [self._made(OwnWeb(self._folder(folder, f"web-{number}"), free_port())) for number in range(WEBS)]
        self.worker = self._made(OwnWorker(self._folder(folder, "worker")))
        self.beat = self._made(OwnBeat(self._folder(folder, "beat")))

    @staticmethod
    def _folder(folder: Path, name: str) -> Path:
        (folder / name).mkdir()
        return folder / name

    def _made(self, program: Made) -> Made:
        program.variables = self.variables
        return program

    @contextmanager
    def running(self) -> Iterator[None]:
        """Start all processes at once, and show their logs where a test fails."""
        with ExitStack() as stack:
            programs = [*self.webs, self.worker, self.beat]
            for one in programs:
                one.prepare()
                stack.callback(one.stop)
                one.spawn()
            stack.callback(lambda: [print(f"---- {one.home.name}\n{one.log[-20000:]}") for one in programs])
            for one in programs:
                one.wait_until_ready()
            yield

    def run(self, *words: str) -> "subprocess.CompletedProcess[str]":
        """Run Python in the environment of this panel."""
        return subprocess.run(
            [sys.executable, *words],
            cwd=ROOT,
            env={**os.environ, **self.variables},
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )

    def manage(self, *words: str) -> "subprocess.CompletedProcess[str]":
        """Run a command of its administrator."""
        return self.run("manage.py", *words)

    def waiting(self) -> int:
        """Count what the worker still has to do: applies, removals, and pauses that it ends."""
        pools = "state = 'pending' OR removal_requested_at IS NOT NULL OR paused_until IS NOT NULL"
        ((pools_waiting,),) = self.metadata.execute(f"SELECT count(*) FROM pools_pool WHERE {pools}")
        return int(pools_waiting) + self.applies()

    def applies(self) -> int:
        """Count the applies that are on their way now."""
        ((found,),) = self.metadata.execute("SELECT count(*) FROM pools_revision WHERE state = 'pending'")
        return int(found)

    def within(self, name: str, *given: Any) -> Any:
        """Return the answer of a function of `within`."""
        done = self.run("-m", "tests.live.core.audit.within", name, *map(json.dumps, given))
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)
