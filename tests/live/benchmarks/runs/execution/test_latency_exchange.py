"""Latencies handed over through a real Redis."""

import uuid

from pytest_django import Settings

from benchmarks.runs.execution import latency_exchange
from benchmarks.runs.execution.latency_exchange import Latencies
from core.lib import redis_client
from panel.quickstart.servers import RedisServer


def test_what_was_told_is_taken_once(redis_server: RedisServer, settings: Settings) -> None:
    settings.REDIS_URL = redis_server.url
    part = uuid.uuid4()
    latency_exchange.publish(part, 1, 2, Latencies([1, 2, 0xFFFFFFFFFF], 0.25))
    none, found = latency_exchange.receive(part, 1, [1, 2])
    assert (none, list(found.us), found.share) == (None, [1, 2, latency_exchange.LONGEST_US], 0.25)
    assert latency_exchange.receive(part, 1, [2]) == [None]
    redis_client.shared(latency_exchange.WITHIN_S).close()
    redis_client.reset_shared()
