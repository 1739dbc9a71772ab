"""A process that was asked to end lets nobody wait."""

import time
from collections.abc import Iterator

import pytest

from core.lib import draining
from core.lib.polling import poll


@pytest.fixture(autouse=True)
def forgotten() -> Iterator[None]:
    yield
    draining.forget()


def test_a_wait_ends_with_what_it_has() -> None:
    began, reads = time.monotonic(), []

    def read() -> tuple[bool, str]:
        reads.append(time.monotonic())
        if len(reads) == 2:
            draining.begin()
        return False, "queued"

    assert poll(read, 60) == "queued"
    assert len(reads) == 2
    assert time.monotonic() - began < 10


def test_a_sleep_ends_at_once() -> None:
    draining.begin()
    began = time.monotonic()
    draining.sleep(60)
    assert time.monotonic() - began < 10
