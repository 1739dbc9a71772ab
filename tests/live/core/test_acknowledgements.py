"""A consumer of messages outlives a Redis that is away while it acknowledges one."""

import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
from kombu import Connection, Message, Producer, Queue
from redis.exceptions import ConnectionError as RedisGone

from panel import celery_app
from panel.quickstart.servers import RedisServer, free_port

QUEUE = Queue("acknowledged", routing_key="acknowledged")


@pytest.fixture
def server(tmp_path: Path) -> Iterator[RedisServer]:
    """A Redis of its own, which the test ends."""
    with RedisServer(tmp_path / "redis", free_port(), "secret") as started:
        yield started


def send(url: str, text: str) -> None:
    with Connection(url) as connection:
        Producer(connection).publish(text, routing_key=QUEUE.name, declare=[QUEUE])


@pytest.mark.parametrize("answer", ["ack", "reject"])
def test_who_could_not_acknowledge_asks_for_messages_again_and_so_notices_that_redis_went_away(
    server: RedisServer, answer: str
) -> None:
    taken: list[Message] = []
    with Connection(server.url, transport_options=celery_app.conf.broker_transport_options) as connection:
        consumer = connection.Consumer(QUEUE, on_message=taken.append)
        consumer.qos(prefetch_count=1)
        with consumer:
            send(server.url, "first")
            connection.drain_events(timeout=5)
            with pytest.raises(socket.timeout):
                connection.drain_events(timeout=0.2)  # there is one place, and it is taken
            server.kill()
            server.stop()
            with pytest.raises(RedisGone):
                getattr(taken[0], answer)()
            server.start()
            with pytest.raises(RedisGone):  # a worker connects anew then
                connection.drain_events(timeout=5)
