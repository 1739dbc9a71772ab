"""Quick and slow viewers of one run on a real web process and Redis: each gets every point, none holds up another."""

import asyncio
import socket
from pathlib import Path
from typing import Any

import pytest
from asgiref.sync import async_to_sync
from django.db import connection

from benchmarks.models import Run, Sample, Status
from benchmarks.runs.live import events as live_events
from benchmarks.runs.live import publisher
from core.accounts.models import ApiToken
from core.lib import redis_client
from panel.quickstart.ports import LOOPBACK, listen
from panel.quickstart.servers import RedisServer
from tests.callers import person
from tests.live.panel_programs import TestWeb

pytestmark = pytest.mark.django_db(transaction=True)
QUICK, SLOW = 40, 10
BUFFER_BYTES = 8192  # of each connection, at both ends: what is not read waits at the web process
BATCHES, BATCH = 20, 100  # several times what a feed keeps and all buffers hold


@pytest.fixture
def web(queue: RedisServer, tmp_path: Path) -> Any:
    started = TestWeb(tmp_path, queue.url)
    started.listener = listen(started.port)
    started.listener.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, BUFFER_BYTES)
    with started.listener, started:
        yield started


class Viewer:
    """A client of the stream, which reads when it is told to."""

    def __init__(self, web: TestWeb, run: Run, token: str) -> None:
        self.web, self.path, self.token = web, f"/api/v1/runs/{run.pk}/events/", token
        self.seen: list[tuple[str, str]] = []

    async def open(self) -> None:
        """Open the stream and read the state, which is told first."""
        end = socket.socket()
        end.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, BUFFER_BYTES)
        end.setblocking(False)
        await asyncio.get_running_loop().sock_connect(end, (LOOPBACK, self.web.port))
        self.reader, self.writer = await asyncio.open_connection(sock=end, limit=1024)
        head = [
            f"GET {self.path} HTTP/1.1",
            "Host: 127.0.0.1",
            "Connection: close",
            f"Authorization: Bearer {self.token}",
        ]
        self.writer.write("\r\n".join([*head, "", ""]).encode())
        await self.read("state")

    async def read(self, until: str) -> None:
        """Read up to an event of that name."""
        id_ = ""
        async for raw in self.reader:
            name, _, text = raw.decode().rstrip("\r\n").partition(": ")
            if name == "id":
                id_ = text
            elif name == "event":
                self.seen.append((id_, text))
                if text == until:
                    return
        raise AssertionError(f"the stream ended before {until}: {self.seen[-3:]}")


def print_lines(run: Run) -> None:
    """Record and publish samples, as a run does, with a line of its log after each batch of them."""
    for batch in range(BATCHES):
        first = batch * (BATCH + 1) + 1
        rows = [Sample(run=run, attempt=1, seq=seq, t=float(seq), tps=1234.5) for seq in range(first, first + BATCH)]
        Sample.objects.bulk_create(rows)
        publisher.publish_all(run.pk, map(live_events.row_event, rows))
        publisher.publish(run.pk, "log", live_events.event_id(1, first + BATCH), {"t": 1.0, "line": "a line"})
    connection.close()


def test_slow_viewers_hold_nobody_up_and_miss_nothing(web: TestWeb) -> None:
    token = ApiToken.objects.issue(person(), "viewers", ["read"])
    run = Run.objects.claim(str(Run.objects.enqueue().pk), "local")
    run.write(status=Status.RUNNING)
    expected = [live_events.event_id(1, seq) for seq in range(1, BATCHES * (BATCH + 1) + 1)]

    async def watch() -> tuple[list[Viewer], list[Viewer], list[Any]]:
        quick, slow = ([Viewer(web, run, token) for _ in range(count)] for count in (QUICK, SLOW))
        for viewer in [*slow, *quick]:
            await viewer.open()
        async with asyncio.timeout(240):
            reading = [asyncio.create_task(viewer.read("end")) for viewer in quick]
            await asyncio.to_thread(print_lines, run)
            connections = await asyncio.to_thread(redis_client.shared().client_list)
            await asyncio.to_thread(finish, run)
            await asyncio.gather(*reading)
            assert [len(viewer.seen) for viewer in slow] == [1] * SLOW
            await asyncio.gather(*(viewer.read("end") for viewer in slow))
        for viewer in [*slow, *quick]:
            viewer.writer.close()
        return quick, slow, [one for one in connections if one["cmd"] == "xread"]

    quick, slow, connections = async_to_sync(watch)()
    for viewer in [*quick, *slow]:
        told = [id_ for id_, name in viewer.seen if name in ("sample", "log")]
        assert told == expected, f"{len(told)} of {len(expected)}"
        assert viewer.seen[-1] == (live_events.event_id(1, live_events.END_SEQ), "end")
    assert len(connections) == 1, "one of the process follows the run for all"


def finish(run: Run) -> None:
    run.finish(Status.SUCCEEDED)
    publisher.publish_end(run)
    connection.close()
