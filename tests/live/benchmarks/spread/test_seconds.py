"""Latencies handed over through a real Redis."""

import uuid

import pytest
from pytest_django import Settings

from benchmarks.spread import seconds
from benchmarks.spread.seconds import Latencies
from panel.quickstart.servers import RedisServer


@pytest.mark.live
def test_what_was_told_is_taken_once(redis_server: RedisServer, settings: Settings) -> None:
    settings.REDIS_URL = redis_server.url
    part = uuid.uuid4()
    seconds.tell(part, 1, 2, Latencies([1, 2, 0xFFFFFFFFFF], 0.25))
    none, found = seconds.take(part, 1, [1, 2])
    assert (none, list(found.us), found.share) == (None, [1, 2, seconds.LONGEST_US], 0.25)
    assert seconds.take(part, 1, [2]) == [None]
    seconds._client(redis_server.url).close()
    seconds._client.cache_clear()
