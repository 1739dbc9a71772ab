"""Waiting for a record to settle."""

import time

from core.lib.polling import poll


def test_a_settled_record_is_returned_at_once():
    begun = time.monotonic()
    assert poll(lambda: (True, "applied"), 60) == "applied"
    assert time.monotonic() - begun < 1


def test_without_time_it_is_read_once():
    reads = []
    assert poll(lambda: (False, reads.append("read")), 0) is None
    assert reads == ["read"]


def test_it_is_read_again_until_it_settles():
    reads = iter([(False, 1), (False, 2), (True, 3), (True, 4)])
    assert poll(lambda: next(reads), 60) == 3


def test_after_the_time_it_is_returned_as_it_is():
    begun = time.monotonic()
    assert poll(lambda: (False, "pending"), 0.3) == "pending"
    assert 0.3 <= time.monotonic() - begun < 5
