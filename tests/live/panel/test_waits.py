"""Many requests that wait at one web process: what they cost, how many one token gets, and when they end."""

import asyncio
import json
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from asgiref.sync import async_to_sync
from django.utils import timezone

from core.accounts.models import ApiToken
from panel.quickstart.ports import LOOPBACK
from panel.quickstart.servers import RedisServer
from pools.models import PoolState
from tests.callers import person
from tests.live.panel_programs import TestWeb
from tests.pools.records import a_pool

pytestmark = pytest.mark.django_db(transaction=True)
WAITS = 80
THREADS_MORE = 8  # of the event loop's executor, and the one that looks for all; a thread for each wait were 80
MEMORY_MORE_MB = 60
UNLIMITED = dict.fromkeys(("POOLDECK_WAITS", "POOLDECK_STREAMS", "POOLDECK_STREAMS_PER_TOKEN"), str(WAITS * 3))


@dataclass(frozen=True)
class Answer:
    """The status of an answer, its body, and the moment at which it came."""

    status: int
    body: dict[str, object]
    came_at: float
    retry_after: str | None


@pytest.fixture
def web(
    monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest, redis_server: RedisServer, tmp_path: Path
) -> Iterator[TestWeb]:
    """A web process with the limits that the test names."""
    for name, value in getattr(request, "param", {}).items():
        monkeypatch.setenv(name, value)
    with TestWeb(tmp_path, redis_server.url) as started:
        yield started


@pytest.fixture
def url() -> str:
    """What is asked for: a pool that nobody applies."""
    return f"/api/v1/pools/{a_pool(state=PoolState.PENDING).pk}/?wait=20"


async def ask(web: TestWeb, url: str, token: str) -> Answer:
    """Send a GET and read the answer to its end."""
    reader, writer = await asyncio.open_connection(LOOPBACK, web.port)
    lines = [f"GET {url} HTTP/1.1", "Host: 127.0.0.1", "Connection: close", f"Authorization: Bearer {token}", "", ""]
    writer.write("\r\n".join(lines).encode())
    head, _, body = (await reader.read()).partition(b"\r\n\r\n")
    writer.close()
    first, *headers = head.decode().split("\r\n")
    named = {name.lower(): value for name, _, value in (line.partition(": ") for line in headers)}
    return Answer(int(first.split()[1]), json.loads(body), time.monotonic(), named.get("retry-after"))


@async_to_sync
async def answers(web: TestWeb, url: str, token: str, during: Callable[[], None]) -> list[Answer]:
    """Send all at once, and call `during` while they wait."""
    asked = [asyncio.create_task(ask(web, url, token)) for _ in range(WAITS)]
    await asyncio.sleep(6)
    await asyncio.to_thread(during)
    return list(await asyncio.gather(*asked))


@async_to_sync
async def at_once(web: TestWeb, url: str, token: str) -> None:
    """Send as many that do not wait."""
    await asyncio.gather(*(ask(web, url, token) for _ in range(WAITS)))


def costs_of(web: TestWeb) -> tuple[int, int]:
    """Threads and resident memory in MB of the web process."""
    assert web.process
    status = Path(f"/proc/{web.process.pid}/status").read_text()
    found = dict(line.split(":", 1) for line in status.splitlines())
    return int(found["Threads"]), int(found["VmRSS"].split()[0]) // 1024


def token() -> str:
    return ApiToken.objects.issue(person(), "waits", ["read"])


@pytest.mark.parametrize("web", [UNLIMITED], indirect=True)
def test_80_waits_of_one_token_hold_no_threads_and_end_with_the_token(web: TestWeb, url: str) -> None:
    text, costs, revoked_at = token(), [], []
    at_once(web, url.partition("?")[0], text)  # all threads that the process has for requests
    before = costs_of(web)

    def revoke() -> None:
        costs.append(costs_of(web))
        ApiToken.objects.update(revoked_at=timezone.now())
        revoked_at.append(time.monotonic())

    found = answers(web, url, text, revoke)
    threads, memory_mb = costs[0]
    print(f"before: {before[0]} threads, {before[1]} MB; {WAITS} waits: {threads} threads, {memory_mb} MB")
    assert (threads - before[0] <= THREADS_MORE, memory_mb - before[1] <= MEMORY_MORE_MB) == (True, True)
    refused = {"detail": "the token is unknown, expired or revoked"}
    assert Counter((one.status, one.body == refused) for one in found) == {(401, True): WAITS}
    first_s, last_s = (end(one.came_at for one in found) - revoked_at[0] for end in (min, max))
    print(f"the first of them ended {first_s:.2f} s after the token was revoked, the last {last_s:.2f} s")
    assert (first_s < 2, last_s < 10) == (True, True)  # a second, and on a busy machine the time of 80 answers


def test_one_token_waits_with_its_share_and_the_others_are_told_when_to_come_back(web: TestWeb, url: str) -> None:
    short = url.replace("wait=20", "wait=8")
    found = answers(web, short, token(), lambda: None)
    assert Counter((one.status, one.retry_after) for one in found) == {(200, None): 32, (503, "5"): WAITS - 32}
