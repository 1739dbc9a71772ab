"""Many viewers of one run on one web process, some of whom read slowly: delays, pages meanwhile, processor and memory.

`python -m tests.bench.web viewers [--count 1000] [--slow 0.2] [--seconds 30]` carries it out. A stand-in for a load
program prints a line each second, which is recorded as a run's are: rows in the database, then events in Redis. The
viewers live in a process of their own, so that what they do delays nobody; all clocks are this machine's.
"""

import argparse
import asyncio
import functools
import http.client
import json
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tests.bench.web import Caller, Server

SETTLES_S = 5.0  # after the viewers have left, before memory is read
OPENED_AT_ONCE = 20
SLOW_BUFFER_BYTES = 4096  # of its socket: what it does not read soon waits at the server
SLOW_PAUSE_S = 10.0  # between two reads, each of a buffer at most: a fraction of what a run tells
PAGE_EVERY_S = 0.3
PATIENCE_S = 300.0


class Load:
    """A run that prints a line each second, with what is observed meanwhile; `printed_at` has t → monotonic time."""

    def __init__(self) -> None:
        from benchmarks.models import Run

        self.run = Run.objects.claim(str(Run.objects.enqueue().pk), "local")
        self.printed_at: dict[float, float] = {}
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._print)

    def __enter__(self) -> "Load":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    def end(self) -> None:
        """End the run, unless it has ended."""
        self._ended.set()
        self._thread.join()

    def _print(self) -> None:
        from django.db import connections

        from benchmarks.engines.base import Progress
        from benchmarks.models import ObservationKind, Status
        from benchmarks.runs.execution.recorder import Recorder
        from benchmarks.runs.live import publisher
        from benchmarks.runs.observers.base import ObservedFigures

        recorder, began = Recorder(self.run), time.monotonic()
        recorder.begin(began, status=Status.RUNNING)
        figures = {"cpu_percent": 12.5, "memory_mb": 512.0}
        while not self._ended.wait(began + len(self.printed_at) + 1 - time.monotonic()):
            t = float(len(self.printed_at) + 1)
            self.printed_at[t] = at = time.monotonic()
            for kind in (ObservationKind.SERVER, ObservationKind.HOST, ObservationKind.GENERATOR):
                recorder.observe(ObservedFigures(kind, at, figures))
            recorder.sample(Progress(t=t, tps=1234.5, latency_ms=1.5, stddev_ms=0.5), at)
        recorder.flush()
        self.run.finish(Status.SUCCEEDED)
        publisher.publish_end(self.run)
        connections.close_all()


class Viewer(asyncio.Protocol):
    """A client of the stream, which notes when each sample came, and the ids of all events."""

    def __init__(self, is_slow: bool) -> None:
        self.is_slow = is_slow
        self.arrived_at: list[tuple[float, float]] = []
        self.ids: list[tuple[int, int]] = []
        self.is_open, self.is_over = asyncio.Event(), asyncio.Event()
        self.hurries = False
        self._rest = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the transport, whose reading a slow one pauses."""
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        """Take what whole lines there are."""
        now = time.monotonic()
        *lines, self._rest = (self._rest + data).split(b"\n")
        for line in lines:
            if line.startswith(b"id: "):
                attempt, _, seq = line[4:].partition(b"-")
                self.ids.append((int(attempt), int(seq)))
            elif line.startswith(b"event: "):
                self._name = line[7:]
                self.is_open.set()
            elif line.startswith(b"data: ") and self._name == b"sample":
                self.arrived_at.append((json.loads(line[6:])["t"], now))
        if self.is_slow and not self.hurries and self.is_open.is_set():
            self.transport.pause_reading()
            asyncio.get_running_loop().call_later(SLOW_PAUSE_S, self._read_on)

    def _read_on(self) -> None:
        with suppress(RuntimeError):  # it was closed, or hurries
            self.transport.resume_reading()

    def hurry(self) -> None:
        """Read as fast as the others from now on."""
        self.hurries = True
        self._read_on()

    def connection_lost(self, _: Exception | None) -> None:
        """Note it."""
        self.is_over.set()


@dataclass
class Seen:
    """What a viewer saw: (t, monotonic time) of each sample, and whether its ids were in order, each once."""

    is_slow: bool
    arrived_at: list[tuple[float, float]] = field(default_factory=list)
    is_in_order: bool = True


@dataclass(frozen=True)
class Crowd:
    """How many viewers open which stream."""

    port: int
    path: str
    header: str
    count: int
    slow: int


async def watch(crowd: Crowd) -> list[Seen]:
    """Open all streams, print that they are open, and read them until they end; slow ones hurry at a line of input."""
    at_once = asyncio.Semaphore(OPENED_AT_ONCE)
    viewers = [Viewer(number < crowd.slow) for number in range(crowd.count)]
    await asyncio.gather(*(_open(viewer, crowd, at_once) for viewer in viewers))
    print("open", flush=True)
    await asyncio.to_thread(sys.stdin.readline)
    for viewer in viewers:
        viewer.hurry()
    async with asyncio.timeout(PATIENCE_S):
        await asyncio.gather(*(viewer.is_over.wait() for viewer in viewers))
    return [Seen(one.is_slow, one.arrived_at, _are_in_order(one.ids)) for one in viewers]


async def _open(viewer: Viewer, crowd: Crowd, at_once: asyncio.Semaphore) -> None:
    loop, head = asyncio.get_running_loop(), f"GET {crowd.path} HTTP/1.1\r\nHost: 127.0.0.1\r\n{crowd.header}\r\n"
    async with at_once:
        connection = socket.socket()
        if viewer.is_slow:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, SLOW_BUFFER_BYTES)
        connection.setblocking(False)
        await loop.sock_connect(connection, ("127.0.0.1", crowd.port))
        await loop.create_connection(lambda: viewer, sock=connection)
        viewer.transport.write(f"{head}Connection: close\r\n\r\n".encode())
        async with asyncio.timeout(PATIENCE_S):
            await viewer.is_open.wait()


def _are_in_order(ids: list[tuple[int, int]]) -> bool:
    """Tell whether each id is later than the last; a `state` repeats the one before it."""
    return all(one <= other for one, other in pairwise(ids))


class Watchers:
    """The process of the viewers, as a context in which all of them are there."""

    def __init__(self, crowd: Crowd) -> None:
        self._argv = [sys.executable, "-m", "tests.bench.viewers", json.dumps(asdict(crowd))]

    def __enter__(self) -> "Watchers":
        self._process = subprocess.Popen(self._argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert self._process.stdout
        assert self._process.stdout.readline() == "open\n"
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.wait()

    def seen(self) -> list[Seen]:
        """Let the slow ones read all the rest, and return what each saw; the run has to have ended."""
        text, _ = self._process.communicate("hurry\n", PATIENCE_S * 2)
        return [Seen(one["is_slow"], one["arrived_at"], one["is_in_order"]) for one in json.loads(text)]


def page_times_ms(server: "Server", paths: list[str], header: str, seconds: float) -> list[float]:
    """Return how long each GET took, of one after the other with a pause; every answer has to be 200."""
    name, _, value = header.partition(": ")
    until = time.monotonic() + seconds
    connection, found = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60), []
    while time.monotonic() < until:
        began = time.monotonic()
        connection.request("GET", paths[len(found) % len(paths)], headers={name: value})
        answer = connection.getresponse()
        answer.read()
        assert answer.status == 200, answer.status
        found.append((time.monotonic() - began) * 1000)
        time.sleep(PAGE_EVERY_S)
    return found


def _at(values: list[float], share: float) -> float:
    ordered = sorted(values) or [float("nan")]
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))]


def _lags_ms(seen: list[Seen], printed_at: dict[float, float], since: float, until: float) -> list[float]:
    """Return the ms from the printing to the arrival of each sample of that time at each quick viewer."""
    times = [(at, printed_at[t]) for one in seen if not one.is_slow for t, at in one.arrived_at]
    return [(at - printed) * 1000 for at, printed in times if since <= printed < until]


def redis_connections() -> int:
    """Return how many clients Redis has."""
    from core.lib import redis_client

    with redis_client.opened() as client:
        found: Any = client.info("clients")
    return int(found["connected_clients"])


def measure(server: "Server", caller: "Caller", paths: dict[str, str], chosen: argparse.Namespace) -> None:
    """Print the figures of the viewers, first without other requests, then with pages that are asked for."""
    warm_up(server, caller, paths)
    count, slow = chosen.count, round(chosen.count * chosen.slow)
    load = Load()
    path, pages = f"/api/v1/runs/{load.run.pk}/events/", ["/", "/pools/", f"/runs/{load.run.pk}/"]
    pages_ms: list[float] = []
    with load:
        before_mb, before_redis, before_s, began = server.memory_mb, redis_connections(), server.cpu_s, time.monotonic()
        with Watchers(Crowd(server.port, path, caller.header_for(path), count, slow)) as watchers:
            opened_s, opened_ms = time.monotonic() - began, (server.cpu_s - before_s) / count * 1000
            print(f"{count} viewers, {slow} of them slow: opened in {opened_s:.1f} s", end=", ")
            print(f"{opened_ms:.1f} ms of processor each")
            alone = Window(server, lambda: time.sleep(chosen.seconds))
            during_redis = redis_connections()
            ask = functools.partial(page_times_ms, server, pages, caller.header_for("/"), chosen.seconds)
            with_pages = Window(server, lambda: pages_ms.extend(ask()))
            during_mb = server.memory_mb
            load.end()
            seen = watchers.seen()
    report(seen, load.printed_at, {"alone": alone, "with pages": with_pages})
    print(f"pages meanwhile: p50 {_at(pages_ms, 0.5):.0f} ms, p99 {_at(pages_ms, 0.99):.0f} ms ({len(pages_ms)})")
    time.sleep(SETTLES_S)
    each_kb, after_mb = (during_mb - before_mb) * 1000 / count, server.memory_mb
    print(f"memory: {before_mb:.0f} MB before, {during_mb:.0f} during ({each_kb:.0f} kB each), {after_mb:.0f} after")
    print(f"connections of Redis: {before_redis} before, {during_redis} during")


def warm_up(server: "Server", caller: "Caller", paths: dict[str, str]) -> None:
    """Ask for each kind of page and open a few streams, which makes what is made once."""
    for path in ("/", "/pools/", paths["run"], paths["page of a pool"]):
        server.load(path, caller.header_for(path), 8, 1)
    with Load() as load:
        path = f"/api/v1/runs/{load.run.pk}/events/"
        with Watchers(Crowd(server.port, path, caller.header_for(path), 20, 0)) as watchers:
            load.end()
            watchers.seen()


class Window:
    """A time in which something is done, and the processor seconds of the server in it."""

    def __init__(self, server: "Server", work: Callable[[], object]) -> None:
        self.since, before_s = time.monotonic(), server.cpu_s
        work()
        self.until, self.cpu_s = time.monotonic(), server.cpu_s - before_s


def report(seen: list[Seen], printed_at: dict[float, float], windows: dict[str, Window]) -> None:
    """Print delays, processor time, and what was missed."""
    for name, window in windows.items():
        lags_ms = _lags_ms(seen, printed_at, window.since, window.until)
        arrived = sum(window.since <= at < window.until for one in seen for _, at in one.arrived_at)
        percent = window.cpu_s / (window.until - window.since) * 100
        cost_ms = window.cpu_s / max(1, arrived) * 1e6
        print(f"{name}: lag p50 {_at(lags_ms, 0.5):.0f} ms, p99 {_at(lags_ms, 0.99):.0f} ms", end="; ")
        print(f"{percent:.0f} % of a processor, {cost_ms:.0f} ms for 1,000 lines delivered ({arrived})")
    times = sorted(printed_at)
    for name, those in (
        ("quick", [one for one in seen if not one.is_slow]),
        ("slow", [one for one in seen if one.is_slow]),
    ):
        gaps = sum(times[len(times) - len(one.arrived_at) :] != [t for t, _ in one.arrived_at] for one in those)
        lines, out = [len(one.arrived_at) for one in those] or [0], sum(not one.is_in_order for one in those)
        print(f"{len(those)} {name}: {min(lines)} to {max(lines)} of {len(times)} lines", end="; ")
        print(f"{gaps} with a gap, {out} out of order")


if __name__ == "__main__":
    found = asyncio.run(watch(Crowd(**json.loads(sys.argv[1]))))
    print(json.dumps([asdict(one) for one in found]))
