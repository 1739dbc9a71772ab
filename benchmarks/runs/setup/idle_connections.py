"""Idle connections beside a load: opened before it, held through it, closed after it whatever happens."""

import resource
import select
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import Any

import psycopg

from benchmarks.errors import Refused
from benchmarks.runs.setup.background import carry_out
from benchmarks.runs.setup.base import SetupContext
from benchmarks.runs.setup.catalogue_reader import read_catalogue
from benchmarks.runs.setup.idle_memory import of_idle
from benchmarks.runs.setup.options import CLUSTER
from pools.clusters import connect, endpoints
from pools.clusters.endpoints import Endpoint
from pools.errors import ClusterUnreachable

Connection = psycopg.Connection[tuple[Any, ...]]
AT_ONCE = 8  # are opened side by side: logging in is the server's work, and more would only queue there
CONNECT_WITHIN_S = 30
FILES_TO_SPARE = 200  # what else this worker has open


class Idlers:
    """The idle connections of one run."""

    def __init__(self, endpoint: Endpoint, count: int, name: str) -> None:
        self.count, self.name = count, name
        self.connections: list[Connection] = []
        self._endpoint = endpoint
        self._stopped = threading.Event()

    def stop(self) -> None:
        """Open no further ones."""
        self._stopped.set()

    def open_all(self) -> None:
        """Open them and let each read the catalogue; raises `Refused` with the first failure and how many stood."""
        with ThreadPoolExecutor(AT_ONCE, thread_name_prefix="idle") as openers:
            try:
                for done in [openers.submit(self._open_one) for _ in range(self.count)]:
                    done.result()
            except (ClusterUnreachable, psycopg.Error) as error:
                self.stop()
                raise Refused(
                    f"only {len(self.connections):,} of {self.count:,} idle connections could be opened: "
                    f"{str(error).splitlines()[0]}"
                ) from None

    def _open_one(self) -> None:
        if self._stopped.is_set():
            return
        connection = connect.connect_endpoint(
            self._endpoint, application_name=self.name, connect_timeout=CONNECT_WITHIN_S
        )
        self.connections.append(connection)
        read_catalogue(connection)

    def percent(self) -> float:
        """How many of them are open, in percent."""
        return 100 * len(self.connections) / self.count

    def closed_by_others(self) -> int:
        """How many the server or the pooler has ended: nothing else makes an idle session readable for good."""
        return sum(_is_gone(connection) for connection in self.connections)

    def close(self) -> None:
        """Close them all, those that are broken too."""
        for connection in self.connections:
            with suppress(psycopg.Error, OSError):
                connection.close()


def _is_gone(connection: Connection) -> bool:
    if connection.closed:
        return True
    poll = select.poll()
    poll.register(connection.fileno(), select.POLLIN | select.POLLRDHUP)
    return any(event & (select.POLLRDHUP | select.POLLHUP | select.POLLERR) for _, event in poll.poll(0))


@contextmanager
def held_idle(held: SetupContext) -> Iterator[None]:
    """Opens them where they were asked for; their number, time and memory are noted. Raises `Refused`."""
    count = held.run.options.get("idle_connections")
    if not count:
        yield
        return
    _make_room(count)
    idlers = Idlers(_endpoint(held), count, f"{held.run.application_name}-idle")
    try:
        _open(held, idlers)
        yield
        held.note("idle", held.run.conditions["idle"] | {"closed_by_others": idlers.closed_by_others()})
    finally:
        idlers.close()


def _endpoint(held: SetupContext) -> Endpoint:
    """Where they go: with the load, or past the pooler as the same role."""
    cluster, login = held.run.cluster, held.endpoint
    if held.run.options.get("idle_at") != CLUSTER or not held.run.went_through_pool or cluster is None:
        return login
    return replace(endpoints.of_cluster(cluster, held.run.database), user=login.user, password=login.password)


def _open(held: SetupContext, idlers: Idlers) -> None:
    held.tell(f"opening {idlers.count:,} idle connections, each of which reads the catalogue")
    began = time.monotonic()
    carry_out(held, idlers.open_all, idlers.stop, idlers.percent)
    seconds = round(time.monotonic() - began, 3)
    held.tell(f"{idlers.count:,} idle connections are open after {seconds:,.1f} s")
    direct = not held.run.went_through_pool or held.run.options.get("idle_at") == CLUSTER
    # through a pool they have no session of their own on the server, so none of its memory
    memory = of_idle(held, idlers.name, idlers.count) if direct else {"memory": "pooled"}
    held.recorder.state(progress_percent=None)
    held.note("idle", {"connections": idlers.count, "opened_in_s": seconds, **memory})


def _make_room(count: int) -> None:
    """Let this worker have that many files open; raises `Refused` where the system forbids it."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = count + FILES_TO_SPARE
    if hard != resource.RLIM_INFINITY and needed > hard:
        raise Refused(
            f"{count:,} idle connections need {needed:,} open files, and this worker may have {hard:,} (ulimit -Hn): "
            "use fewer, or raise the limit"
        )
    if soft != resource.RLIM_INFINITY and needed > soft:
        resource.setrlimit(resource.RLIMIT_NOFILE, (needed, hard))
