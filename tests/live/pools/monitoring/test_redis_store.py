"""Blocks that one process is within at a time, before a real Redis: while it lives, and the next one soon after."""

import os
import signal
import time

import pytest

from core.lib import redis_client
from panel.quickstart.servers import RedisServer
from pools.monitoring import redis_store
from tests.live.standbys import until

KEY = "test"
LEASE_S = 0.6


@pytest.fixture(autouse=True)
def short_lease(shared_redis: RedisServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """A lease of less than a second, renewed often."""
    monkeypatch.setattr(redis_store, "LEASE_S", LEASE_S)
    monkeypatch.setattr(redis_store, "RENEWED_EVERY_S", LEASE_S / 4)


def test_a_block_is_entered_once_until_it_is_left() -> None:
    with redis_store.exclusive(KEY, 60) as first, redis_store.exclusive(KEY, 60) as second:
        assert (first, second) == (True, False)
        with redis_store.exclusive(KEY, 60) as third:
            assert not third
    with redis_store.exclusive(KEY, 60) as later:
        assert later


def test_who_took_too_long_ends_nobody_elses_block() -> None:
    with redis_store.exclusive(KEY, 0.2) as slow:
        assert slow
        until(lambda: redis_store.claim(KEY, 60), 5)
    assert not redis_store.claim(KEY, 60)


def is_free() -> bool:
    with redis_store.exclusive(KEY, 60) as is_mine:
        return is_mine


def test_a_block_that_lasts_longer_than_its_lease_is_kept_to_its_end() -> None:
    with redis_store.exclusive(KEY, 60) as is_mine:
        time.sleep(LEASE_S * 2)
        assert (is_mine, is_free()) == (True, False)
    assert is_free()


def test_a_process_that_was_killed_in_the_block_keeps_it_for_a_lease() -> None:
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        redis_client.reset_shared()
        with redis_store.exclusive(KEY, 60):
            os.write(writer, b"1")
            time.sleep(60)
        os._exit(0)
    os.read(reader, 1)
    time.sleep(LEASE_S * 1.5)
    assert not is_free()
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    died_at = time.monotonic()
    while not is_free():
        assert time.monotonic() < died_at + LEASE_S * 2
        time.sleep(0.05)
