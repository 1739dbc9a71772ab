"""What a web process bears: requests a second, delays, and the processor time and memory that a request takes.

    .venv/bin/python -m tests.bench.web [rates] [--seconds 6] [--clients 1 8] [--only pool]
    .venv/bin/python -m tests.bench.web overload [--clients 200]
    .venv/bin/python -m tests.bench.web streams [--count 500]
    .venv/bin/python -m tests.bench.web viewers [--count 1000 --slow 0.2 --seconds 30]

Needs hey (of Debian). The database has 200 pools and 200 runs; `--database URL` names an empty PostgreSQL in place of
SQLite. `--server 'WORDS'` starts another server in place of the panel's, with {port} where its port goes. Processor
time is that of the server's processes (/proc/PID/stat), so it says what a request costs on a busy machine too.
"""

import argparse
import asyncio
import csv
import io
import os
import shlex
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.bench import viewers

ROWS = 200
STARTS_WITHIN_S = 180.0  # on a busy machine too
SETTLES_S = 5.0  # after a load, before its memory is read


@dataclass(frozen=True)
class Caller:
    """Headers of a token and of a browser."""

    token: str
    cookie: str

    def header_for(self, path: str) -> str:
        """The API takes the token, pages the session."""
        return f"Authorization: Bearer {self.token}" if path.startswith("/api/") else f"Cookie: {self.cookie}"


@dataclass(frozen=True)
class Load:
    """What a load of hey found."""

    times_s: list[float]
    statuses: Counter[int]
    took_s: float
    cpu_s: float

    def __str__(self) -> str:
        served = sorted(self.times_s) or [0.0]
        figures = {
            "a second": len(served) / self.took_s,
            "p50 ms": statistics.median(served) * 1000,
            "p99 ms": served[int(len(served) * 0.99)] * 1000,
            "processor ms": self.cpu_s / len(served) * 1000,
        }
        texts = [f"{value:.1f}" for value in figures.values()]
        return " | ".join([*texts, ", ".join(f"{status}: {count}" for status, count in sorted(self.statuses.items()))])


class Server:
    """The server under measurement, of which the processor time and the memory are read."""

    def __init__(self, folder: Path, words: str) -> None:
        from panel.quickstart.ports import free_port

        self.port = free_port()
        given = words or f"{sys.executable} -m panel.web_server --port {{port}}"
        self.argv = shlex.split(given.format(port=self.port))
        self.log = folder / "web.log"

    def __enter__(self) -> "Server":
        environment = os.environ | {"DJANGO_SETTINGS_MODULE": "panel.settings"}
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(self.argv, env=environment, stdout=log, stderr=log)
        deadline = time.monotonic() + STARTS_WITHIN_S
        while not self.answers():
            if self.process.poll() is not None or time.monotonic() > deadline:
                sys.exit(self.log.read_text())
            time.sleep(0.2)
        return self

    def __exit__(self, *_: object) -> None:
        self.process.terminate()
        self.process.wait(40)

    def answers(self) -> bool:
        """Tell whether it is alive."""
        from urllib.request import urlopen

        try:
            urlopen(f"http://127.0.0.1:{self.port}/healthz/live", timeout=30).close()
        except OSError:
            return False
        return True

    @property
    def cpu_s(self) -> float:
        """Processor seconds so far."""
        from tests.bench import processes

        return processes.panel_cpu_s(self.process.pid)

    @property
    def memory_mb(self) -> float:
        """Resident memory of all its processes."""
        import psutil

        of_server = psutil.Process(self.process.pid)
        return float(sum(one.memory_info().rss for one in [of_server, *of_server.children(recursive=True)]) / 1e6)

    @property
    def threads(self) -> int:
        """Threads of its first process."""
        import psutil

        return int(psutil.Process(self.process.pid).num_threads())

    def load(self, path: str, header: str, clients: int, seconds: float) -> Load:
        """Send requests by so many clients, each of which waits for its answer."""
        words = ["hey", "-z", f"{seconds}s", "-c", str(clients), "-t", "60", "-o", "csv", "-H", header]
        before_s, began = self.cpu_s, time.monotonic()
        done = subprocess.run(
            [*words, f"http://127.0.0.1:{self.port}{path}"], capture_output=True, text=True, check=True
        )
        took_s = time.monotonic() - began
        rows = list(csv.DictReader(io.StringIO(done.stdout)))
        statuses = Counter(int(row["status-code"]) for row in rows)
        times_s = [float(row["response-time"]) for row in rows if row["status-code"].startswith("2")]
        return Load(times_s, statuses, took_s, self.cpu_s - before_s)


@contextmanager
def panel(folder: Path, database: str) -> Iterator[tuple[Caller, dict[str, str]]]:
    """Yield a caller of a seeded panel with a Redis of its own, and name → path of what is asked for."""
    os.environ |= {
        "DJANGO_SETTINGS_MODULE": "panel.settings",
        "POOLDECK_HOME": str(folder),
        "DATABASE_URL": database or f"sqlite:///{folder}/pooldeck.sqlite3",
        "POOLDECK_SECRET_KEY": "bench-only-" + "x" * 50,
        "POOLDECK_KEYS": "MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=",
        "POOLDECK_LOG_LEVEL": "WARNING",
        "POOLDECK_STREAMS": "4000",
        "POOLDECK_STREAMS_PER_TOKEN": "4000",
    }
    from panel.quickstart.ports import free_port
    from panel.quickstart.servers import RedisServer

    with RedisServer(folder / "redis", free_port(), "bench") as redis:
        os.environ["REDIS_URL"] = redis.url
        import django

        django.setup()
        from django.core.management import call_command

        from tests import seeds

        copied_from = Path(tempfile.gettempdir()) / "pooldeck-bench-seeds"
        copied_from.mkdir(exist_ok=True)
        seeds.fill(copied_from, folder)
        call_command("migrate", verbosity=0)
        yield seeded()


def seeded() -> tuple[Caller, dict[str, str]]:
    """Make the records, and who reads them."""
    from django.conf import settings
    from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY
    from django.contrib.sessions.backends.db import SessionStore
    from django.db import transaction

    from core.accounts.models import ApiToken
    from tests.benchmarks.records import a_finished_run
    from tests.callers import person
    from tests.pools.records import a_cluster, a_pool, a_pooler

    with transaction.atomic():
        admin, cluster, pooler = person("admin"), a_cluster(), a_pooler()
        pools = [a_pool(cluster=cluster, pooler=pooler, user=f"app{number}") for number in range(ROWS)]
        runs = [a_finished_run(cluster=cluster) for _ in range(ROWS)]
        session = SessionStore()
        session[SESSION_KEY], session[HASH_SESSION_KEY] = str(admin.pk), admin.get_session_auth_hash()
        session[BACKEND_SESSION_KEY] = settings.AUTHENTICATION_BACKENDS[-1]
        session.create()
        token = ApiToken.objects.issue(admin, "bench", ["read", "run", "apply", "admin"])
    paths = {
        "live": "/healthz/live",
        "pool": f"/api/v1/pools/{pools[0].pk}/",
        "run": f"/api/v1/runs/{runs[0].pk}/",
        "50 pools": "/api/v1/pools/?page_size=50",
        "50 runs": "/api/v1/runs/?page_size=50",
        "page of a pool": f"/pools/{pools[0].pk}/",
        "page of pools": "/pools/",
        "dashboard": "/",
    }
    stream = f"/api/v1/pools/{pools[0].pk}/live/"
    return Caller(token, f"{settings.SESSION_COOKIE_NAME}={session.session_key}"), paths | {"stream": stream}


def rates(server: Server, caller: Caller, paths: dict[str, str], chosen: argparse.Namespace) -> None:
    """Print a line for each path and number of clients."""
    print(f"memory after the start: {server.memory_mb:.0f} MB")
    print("| path | clients | a second | p50 ms | p99 ms | processor ms | statuses |\n|---|---|---|---|---|---|---|")
    for name, path in paths.items():
        if name == "stream" or (chosen.only and name not in chosen.only):
            continue
        header = caller.header_for(path)
        server.load(path, header, 2, 0.5)  # what the first request makes is not counted
        for clients in chosen.clients or (1, 8):
            print(f"| {name} | {clients} | {server.load(path, header, clients, chosen.seconds)} |", flush=True)
    print(f"memory after the loads: {server.memory_mb:.0f} MB, {server.threads} threads")


def overload(server: Server, caller: Caller, paths: dict[str, str], chosen: argparse.Namespace) -> None:
    """Print what many clients get at once, what health and sign-in answer meanwhile, and the memory that stays."""
    name = (chosen.only or ["page of pools"])[0]
    path, clients = paths[name], (chosen.clients or [200])[0]
    header = caller.header_for(path)
    server.load(path, header, 8, chosen.seconds)
    before_mb = server.memory_mb
    words = ["hey", "-z", f"{chosen.seconds}s", "-c", str(clients), "-t", "60", "-o", "csv", "-H", header]
    url = f"http://127.0.0.1:{server.port}"
    crowd = subprocess.Popen([*words, f"{url}{path}"], stdout=subprocess.PIPE, text=True)
    time.sleep(1)
    for spared in ("/healthz/live", "/login/"):
        print(f"meanwhile {spared}: {server.load(spared, 'Accept: */*', 1, max(1.0, chosen.seconds / 3))}", flush=True)
    peak_mb = server.memory_mb
    rows = list(csv.DictReader(io.StringIO(crowd.communicate()[0])))
    for status, count in sorted(Counter(row["status-code"] for row in rows).items()):
        took = sorted(float(row["response-time"]) for row in rows if row["status-code"] == status)
        p50_ms, p99_ms = statistics.median(took) * 1000, took[int(len(took) * 0.99)] * 1000
        print(f"{clients} clients, {name}: {status}: {count}, p50 {p50_ms:.0f} ms, p99 {p99_ms:.0f} ms")
    time.sleep(SETTLES_S)
    print(f"memory: {before_mb:.0f} MB before, {peak_mb:.0f} MB during, {server.memory_mb:.0f} MB after")


def streams(server: Server, caller: Caller, paths: dict[str, str], chosen: argparse.Namespace) -> None:
    """Print what it costs to open streams, and the memory that stays when they are closed."""
    pool = paths["pool"]
    server.load(pool, caller.header_for(pool), 8, 1)
    asyncio.run(_watch(server, caller, paths["stream"], 20))
    time.sleep(SETTLES_S)
    before_mb = server.memory_mb
    opened_ms, during_mb, page_ms = asyncio.run(_watch(server, caller, paths["stream"], chosen.count))
    time.sleep(SETTLES_S)
    print(f"{chosen.count} streams: {opened_ms:.1f} ms of processor to open one, {page_ms:.0f} ms for a GET meanwhile")
    a_stream_kb = (during_mb - before_mb) * 1000 / chosen.count
    print(f"memory: {before_mb:.0f} MB before, {during_mb:.0f} MB during ({a_stream_kb:.0f} kB each)", end=", ")
    print(f"{server.memory_mb:.0f} MB after, {server.threads} threads")


async def _watch(server: Server, caller: Caller, path: str, count: int) -> tuple[float, float, float]:
    """Open streams, ten at a time; return processor ms for each, memory in MB, and ms for a request while they open."""
    at_once, before_s, open_now = asyncio.Semaphore(10), server.cpu_s, []

    async def open_one() -> None:
        async with at_once:
            reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
            open_now.append(writer)
            head = f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n{caller.header_for(path)}\r\n\r\n"
            writer.write(head.encode())
            assert b" 200 " in (first := await reader.readuntil(b"retry: ")), first

    opening = asyncio.gather(*(open_one() for _ in range(count)))
    await asyncio.sleep(0.2)
    began = time.monotonic()
    await asyncio.to_thread(server.answers)
    page_ms = (time.monotonic() - began) * 1000
    await opening
    opened_ms = (server.cpu_s - before_s) / count * 1000
    await asyncio.sleep(2)
    memory_mb = server.memory_mb
    for writer in open_now:
        writer.close()
    return opened_ms, memory_mb, page_ms


MEASURED = {"rates": rates, "overload": overload, "streams": streams, "viewers": viewers.measure}


def main() -> None:
    """Start what is measured, and print the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", nargs="?", default="rates", choices=list(MEASURED))
    parser.add_argument("--seconds", type=float, default=6)
    parser.add_argument("--clients", type=int, nargs="+")
    parser.add_argument("--count", type=int, default=500, help="of streams or viewers")
    parser.add_argument("--slow", type=float, default=0.2, help="share of the viewers who read slowly")
    parser.add_argument("--only", nargs="+", help="names of paths, such as 'page of pools'")
    parser.add_argument("--database", default="")
    parser.add_argument("--server", default="")
    chosen = parser.parse_args()
    with (
        tempfile.TemporaryDirectory(prefix="pooldeck-bench-") as name,
        panel(Path(name), chosen.database) as found,
        Server(Path(name), chosen.server) as server,
    ):
        MEASURED[chosen.what](server, *found, chosen)


if __name__ == "__main__":
    main()
