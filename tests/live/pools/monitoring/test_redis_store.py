"""Blocks that one process is within at a time, before a real Redis."""

import pytest

from pools.monitoring import redis_store
from tests.live.standbys import until

pytestmark = pytest.mark.usefixtures("shared_redis")
KEY = "test"


def test_a_block_is_entered_once_until_it_is_left() -> None:
    with redis_store.alone(KEY, 60) as first, redis_store.alone(KEY, 60) as second:
        assert (first, second) == (True, False)
        with redis_store.alone(KEY, 60) as third:
            assert not third
    with redis_store.alone(KEY, 60) as later:
        assert later


def test_who_took_too_long_ends_nobody_elses_block() -> None:
    with redis_store.alone(KEY, 0.2) as slow:
        assert slow
        until(lambda: redis_store.claim(KEY, 60), 5)
    assert not redis_store.claim(KEY, 60)
