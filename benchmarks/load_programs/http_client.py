"""A closed loop of HTTP requests: each worker sends its next request when the last one is answered.

`python -m benchmarks.load_programs.http_client --target FILE --concurrency N --duration S [--timeout S]
[--new-connections] [--log FILE]`. The file holds `{"url": …, "address": …}`: the address is connected to, whatever the
name resolves to by then. Redirects are not followed.

A request costs it 20 to 27 µs of one processor: measured with 22,000 answers of 500 bytes a second, 20 workers, Python
3.11. `generator_cpu_percent` of the summary shows how near it was to its limit.
"""

import argparse
import asyncio
import json
import ssl
import time
from dataclasses import dataclass
from pathlib import Path
from typing import cast
from urllib.parse import urlsplit

from benchmarks.load_programs.counters import INTERVAL_S, LoadCounters
from benchmarks.load_programs.http_response import Answer, NotHttp

AGENT = "Pooldeck"
PAUSE_S = 0.05  # pause after a connection that failed: a loop without it would take a whole processor


@dataclass(frozen=True)
class Aim:
    """The target of the requests, and the bytes of one."""

    address: str
    port: int
    host: str
    request: bytes
    tls: ssl.SSLContext | None

    @classmethod
    def read(cls, path: Path, *, keep: bool) -> "Aim":
        """Read the file that the panel wrote."""
        target = json.loads(path.read_text())
        parts = urlsplit(target["url"])
        secure = parts.scheme == "https"
        path_and_query = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        lines = [
            f"GET {path_and_query} HTTP/1.1",
            f"Host: {parts.netloc}",
            f"User-Agent: {AGENT}",
            "Accept: */*",
            f"Connection: {'keep-alive' if keep else 'close'}",
        ]
        request = ("\r\n".join(lines) + "\r\n\r\n").encode()
        port = parts.port or (443 if secure else 80)
        return cls(
            target["address"], port, parts.hostname or "", request, ssl.create_default_context() if secure else None
        )


class Connection(asyncio.Protocol):
    """One connection, with one request at a time."""

    def __init__(self) -> None:
        self.transport: asyncio.WriteTransport | None = None
        self.closed = False
        self._answer: Answer | None = None
        self._waiting: asyncio.Future[Answer] | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast("asyncio.WriteTransport", transport)  # a TCP connection's, which asyncio does not say

    def ask(self, request: bytes) -> "asyncio.Future[Answer]":
        """Send a request, and return the future of its answer."""
        if self.transport is None:
            raise ConnectionResetError("closed before it was made")
        self._answer = Answer()
        self._waiting = asyncio.get_running_loop().create_future()
        self.transport.write(request)
        return self._waiting

    def data_received(self, data: bytes) -> None:
        answer, waiting = self._answer, self._waiting
        if answer is None or waiting is None or waiting.done():
            self.drop()
            return
        try:
            answer.feed(data)
        except NotHttp as error:
            waiting.set_exception(error)
        if answer.done and not waiting.done():
            waiting.set_result(answer)

    def connection_lost(self, exc: Exception | None) -> None:
        self.closed = True
        answer, waiting = self._answer, self._waiting
        if answer is None or waiting is None or waiting.done():
            return
        answer.closed()
        if answer.done:
            waiting.set_result(answer)
        else:
            waiting.set_exception(exc or ConnectionResetError("closed before the answer was whole"))

    def drop(self) -> None:
        """Close it at once."""
        self.closed = True
        if self.transport:
            self.transport.abort()


class Load:
    """All workers of one load."""

    def __init__(self, aim: Aim, totals: LoadCounters, *, timeout_s: float, keep: bool) -> None:
        self.aim, self.totals, self.timeout_s, self.keep = aim, totals, timeout_s, keep
        self.over = False

    async def run(self, concurrency: int, duration_s: float) -> None:
        """Run the workers for so long, and let each finish its request."""
        workers = [asyncio.create_task(self._work()) for _ in range(concurrency)]
        speaker = asyncio.create_task(self._speak())
        await asyncio.sleep(max(0.0, self.totals.began + duration_s - time.perf_counter()))
        self.over = True
        await asyncio.gather(*workers)
        speaker.cancel()

    async def _speak(self) -> None:
        due = self.totals.began + INTERVAL_S
        while True:
            await asyncio.sleep(max(0.0, due - time.perf_counter()))
            self.totals.end_interval()
            due += INTERVAL_S

    async def _work(self) -> None:
        connection: Connection | None = None
        while not self.over:
            try:
                async with asyncio.timeout(self.timeout_s):
                    connection = await self._once(connection)
            except Exception as error:  # noqa: BLE001 (every failure of a request is counted by its kind)
                if connection:
                    connection.drop()
                connection = None
                self.totals.failed(*_kind(error, self.timeout_s))
                await asyncio.sleep(PAUSE_S if isinstance(error, OSError) else 0)
        if connection:
            connection.drop()

    async def _once(self, connection: Connection | None) -> Connection | None:
        """Send one request; return the connection where it can be reused."""
        began, connecting_s = time.perf_counter(), None
        if connection is None or connection.closed:
            connection = await self._connect()
            connecting_s = time.perf_counter() - began
        try:
            answer = await connection.ask(self.aim.request)
        except asyncio.CancelledError:
            connection.drop()
            raise
        ended = time.perf_counter()
        if 200 <= answer.status < 300:
            counted = None if self.keep else connecting_s
            self.totals.answered(ended, ended - began, answer.size_bytes, counted)
        else:
            self.totals.failed(f"status {answer.status}", answer.beginning.decode("utf-8", "replace"))
        if self.keep and answer.reusable:
            return connection
        connection.drop()
        return None

    async def _connect(self) -> Connection:
        aim = self.aim
        _, connection = await asyncio.get_running_loop().create_connection(
            Connection, aim.address, aim.port, ssl=aim.tls, server_hostname=aim.host if aim.tls else None
        )
        return connection


def _kind(error: Exception, timeout_s: float) -> tuple[str, str]:
    """Return the kind that an error is counted as, and its message."""
    match error:
        case TimeoutError():
            return "timeout", f"no answer within {timeout_s:g} s"
        case ConnectionRefusedError():
            return "refused", str(error)
        case ConnectionError():
            return "reset", str(error)
        case ssl.SSLError():
            return "tls", str(error)
        case NotHttp():
            return "not http", str(error)
        case _:
            return "unreachable", str(error)


def main() -> None:
    """Parse the arguments, run the load, print its summary."""
    words = argparse.ArgumentParser(description=__doc__)
    words.add_argument("--target", type=Path, required=True)
    words.add_argument("--concurrency", type=int, required=True)
    words.add_argument("--duration", type=float, required=True)
    words.add_argument("--timeout", type=float, default=20.0)
    words.add_argument("--new-connections", action="store_true")
    words.add_argument("--log", type=Path)
    arguments = words.parse_args()
    keep = not arguments.new_connections
    aim = Aim.read(arguments.target, keep=keep)
    totals = LoadCounters(arguments.log)
    load = Load(aim, totals, timeout_s=arguments.timeout, keep=keep)
    asyncio.run(load.run(arguments.concurrency, arguments.duration))
    totals.end(arguments.concurrency)


if __name__ == "__main__":
    main()
