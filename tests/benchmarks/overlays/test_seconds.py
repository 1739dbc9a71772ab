"""The beat of the watchers."""

import threading
import time
from itertools import pairwise

import pytest

from benchmarks.overlays import seconds


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    monkeypatch.setattr(seconds, "EVERY_S", 0.05)
    monkeypatch.setattr(seconds, "ASIDE_S", 0.02)


def test_a_watcher_looks_at_once_and_then_again_and_again_until_the_load_is_over():
    enough, times = threading.Event(), []

    def look() -> None:
        times.append(time.monotonic())
        if len(times) == 4:
            enough.set()

    began = time.monotonic()
    with seconds.each("it", look):
        assert enough.wait(5)
    assert times[0] - began < 0.04
    assert times[2] - times[1] > 0.04
    looked = len(times)
    time.sleep(0.1)
    assert len(times) == looked


def test_a_watcher_that_fails_ends_by_itself_and_is_told(caplog):
    def look() -> None:
        raise RuntimeError("the disk is gone")

    with seconds.each("the host", look):
        pass
    assert "the host is watched no longer" in caplog.text


def test_a_look_that_lasts_when_the_load_is_over_is_hung_up_on():
    begun, ended = threading.Event(), threading.Event()

    def look() -> None:
        begun.set()
        ended.wait(5)

    with seconds.each("it", look, ended.set):
        assert begun.wait(5)
    assert ended.is_set()


def test_a_look_that_takes_long_is_not_made_up_for():
    times = []

    def look() -> None:
        times.append(time.monotonic())
        time.sleep(0.15 if len(times) == 1 else 0)

    with seconds.each("it", look):
        time.sleep(0.3)
    assert times[1] - times[0] > 0.14
    assert min(later - earlier for earlier, later in pairwise(times[2:])) > 0.03
