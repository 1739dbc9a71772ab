"""Many watchers of one run on a real web process: each sees every point once, soon, and costs no thread."""

import asyncio
import json
import statistics
import time
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen
from uuid import uuid4

import pytest
from asgiref.sync import async_to_sync

from benchmarks.models import Run
from benchmarks.runs.live import events as live_events
from benchmarks.runs.live import follower, sources
from core.accounts.models import ApiToken
from panel.quickstart.ports import LOOPBACK
from panel.quickstart.servers import RedisServer
from tests.callers import person
from tests.live.benchmarks.conftest import Submit, ended, wait_for
from tests.live.panel_programs import TestWeb, TestWorker

pytestmark = pytest.mark.django_db(transaction=True)
WATCHERS = 60


async def watch(web: TestWeb, run: Run, token: str, after: str = "0-0") -> list[tuple[float, str, str, dict[str, Any]]]:
    """Each event with the time it came, as an HTTP client sees it."""
    reader, writer = await asyncio.open_connection(LOOPBACK, web.port)
    lines = [f"GET /api/v1/runs/{run.pk}/events/?after={after} HTTP/1.1", "Host: 127.0.0.1", "Connection: close"]
    writer.write("\r\n".join([*lines, f"Authorization: Bearer {token}", "", ""]).encode())
    seen, fields = [], {}
    async for raw in reader:
        name, _, text = raw.decode().rstrip("\r\n").partition(": ")
        if name in ("id", "event", "data"):
            fields[name] = text
        if name == "data":
            seen.append((time.time(), fields["id"], fields["event"], json.loads(text)))
    writer.close()
    return seen


def threads_of(pid: int) -> int:
    """How many threads a process has."""
    return len(list(Path(f"/proc/{pid}/task").iterdir()))


def test_each_of_many_watchers_sees_every_point_once_and_costs_no_thread(
    worker: TestWorker, queue: RedisServer, submit: Submit, tmp_path: Path
) -> None:
    token = ApiToken.objects.issue(person(), "watcher", ["read"])
    with TestWeb(tmp_path, queue.url) as web:
        run = submit(duration=8, rate=50)

        async def all_watch() -> tuple[list[Any], int]:
            watching = [asyncio.create_task(watch(web, run, token)) for _ in range(WATCHERS)]
            await asyncio.sleep(5)
            assert web.process is not None
            threads = threads_of(web.process.pid)
            return await asyncio.gather(*watching), threads

        seen, threads = async_to_sync(all_watch)()
    done = wait_for(run, ended)
    expected = [live_events.event_id(sample.attempt, sample.seq) for sample in done.samples.all()]
    assert len(expected) >= 7
    for events in seen:
        assert [id_ for _, id_, name, _ in events if name == "sample"] == expected
        assert [payload["status"] for _, _, name, payload in events if name == "end"] == ["succeeded"]
        states = [payload["status"] for _, _, name, payload in events if name == "state"]
        # A viewer with a gap to fill at the end is told the state that the database has by then.
        assert "running" in states
        assert states == sorted(states, key=[*follower.LIFE, "succeeded"].index)
    assert threads < 25, f"{WATCHERS} watchers made {threads} threads"
    began = done.load_began_at.timestamp()
    late = [at - began - payload["t"] for events in seen for at, _, name, payload in events if name == "sample"]
    print(f"a point reaches a client after {statistics.median(late) * 1000:.1f} ms (median)")
    first = [next(at for at, _, name, _ in events if name == "sample") for events in seen]
    assert statistics.median(first) < done.finished_at.timestamp()  # on a busy machine too: none waits for the end


def test_a_watcher_who_left_makes_room_for_the_next(queue: RedisServer, tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setenv("POOLDECK_STREAMS", "2")  # one for each person
    token, run = ApiToken.objects.issue(person(), "watcher", ["read"]), Run.objects.enqueue()
    with TestWeb(tmp_path, queue.url) as web:
        call = Request(f"{web.url}/api/v1/runs/{run.pk}/events/", headers={"Authorization": f"Bearer {token}"})
        with urlopen(call, timeout=30) as stream:
            assert stream.readline() == b"retry: 1000\n"
            with pytest.raises(HTTPError) as refused:
                urlopen(call, timeout=30)
            assert (refused.value.code, refused.value.headers["Retry-After"]) == (503, "5")
            refused.value.close()
        left_at = time.monotonic()
        while not has_room(call):
            assert time.monotonic() - left_at < 30
        print(f"the place of a watcher who left is free after {(time.monotonic() - left_at) * 1000:.0f} ms")


def test_a_viewer_may_leave_at_any_moment_of_reading_the_stream(queue: RedisServer) -> None:
    """redis-py sends by asyncio.wait_for where it has a timeout, and that of Python 3.11 lost a cancellation now and
    then: the viewer counted as there until the run ended.
    """

    async def leave_after(steps: int) -> bool:
        stream = sources.StreamReader(uuid4())
        reading = asyncio.create_task(stream.read(live_events.BEGINNING, 1_000))
        for _ in range(steps):
            await asyncio.sleep(0)
        left = reading.cancel()
        await asyncio.wait({reading})
        await stream.aclose()
        return not left or reading.cancelled()

    async def all_steps() -> list[int]:
        return [steps for steps in range(400) if not await leave_after(steps)]

    assert asyncio.run(all_steps()) == []


def has_room(call: Request) -> bool:
    """Whether one more may watch now."""
    try:
        urlopen(call, timeout=30).close()
    except HTTPError as error:
        error.close()
        return False
    return True
