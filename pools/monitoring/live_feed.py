"""Streams console snapshots: one task for each pooler in this process, shared by all its followers.

It also tells them when something happened that charts mark.
"""

import asyncio
import time
from collections.abc import AsyncGenerator
from concurrent.futures import ThreadPoolExecutor
from uuid import UUID

from django.db import connections

from pools.models import Pooler
from pools.monitoring import marks, sampler
from pools.monitoring.marks import Latest
from pools.monitoring.sampler import ConsoleSnapshot

EVERY_S = 1.0
READ_EVERY_S = 10.0  # longest delay until an edit of the pooler, or what charts mark, is noticed
_threads = ThreadPoolExecutor(max_workers=16, thread_name_prefix="feed")
_feeds: dict[UUID, "_Feed"] = {}


async def follow(pooler_id: UUID) -> AsyncGenerator[tuple[ConsoleSnapshot, Latest], None]:
    """Yield each new snapshot of a pooler, about one a second, until it is removed or the follower leaves.

    With it comes the latest of what charts mark.
    """
    feed = _feeds.get(pooler_id)
    if feed is None or feed.task.done():
        feed = _feeds[pooler_id] = _Feed(pooler_id)
    feed.followers += 1
    try:
        shown_at = 0.0
        while (snapshot := await feed.after(shown_at)) is not None:
            shown_at = snapshot.at
            yield snapshot, feed.marked
    finally:
        feed.followers -= 1
        if not feed.followers:
            feed.task.cancel()
            if _feeds.get(pooler_id) is feed:
                del _feeds[pooler_id]


class _Feed:
    """The task that polls a pooler, and its last snapshot."""

    def __init__(self, pooler_id: UUID) -> None:
        self.pooler_id = pooler_id
        self.followers = 0
        self.snapshot: ConsoleSnapshot | None = None
        self.marked = Latest()
        self.ended = False
        self.news = asyncio.Event()
        self.task = asyncio.create_task(self._run())

    async def after(self, seen: float) -> ConsoleSnapshot | None:
        """Return the next snapshot after the one seen at `seen`; None once there will be no more."""
        while not self.ended and (self.snapshot is None or self.snapshot.at == seen):
            await self.news.wait()
        return None if self.ended else self.snapshot

    async def _run(self) -> None:
        loop = asyncio.get_running_loop()
        due = loop.time()
        try:
            pooler, read_at = await self._read()
            while pooler is not None:
                self._report(await loop.run_in_executor(_threads, sampler.latest, pooler))
                due = max(due + EVERY_S, loop.time())
                await asyncio.sleep(due - loop.time())
                if time.monotonic() - read_at > READ_EVERY_S:
                    pooler, read_at = await self._read()
        finally:
            self.ended = True
            self._wake()

    async def _read(self) -> tuple[Pooler | None, float]:
        pooler, self.marked = await asyncio.get_running_loop().run_in_executor(_threads, _pooler, self.pooler_id)
        return pooler, time.monotonic()

    def _report(self, snapshot: ConsoleSnapshot) -> None:
        self.snapshot = snapshot
        self._wake()

    def _wake(self) -> None:
        """Wake all waiting followers; later ones wait for the next snapshot."""
        self.news.set()
        self.news = asyncio.Event()


def _pooler(pk: UUID) -> tuple[Pooler | None, Latest]:
    try:
        pooler = Pooler.objects.filter(pk=pk).first()
        return pooler, marks.latest(pk) if pooler else Latest()
    finally:
        connections.close_all()  # this thread only polls consoles for the next seconds
