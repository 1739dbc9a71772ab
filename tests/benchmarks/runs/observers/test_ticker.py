"""The beat of the watchers."""

import threading
import time

import pytest

from benchmarks.runs.observers import ticker


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    monkeypatch.setattr(ticker, "EVERY_S", 0.05)
    monkeypatch.setattr(ticker, "OFFSET_S", 0.02)


def test_a_watcher_looks_at_once_and_then_again_and_again_until_the_load_is_over():
    enough, times = threading.Event(), []

    def observe() -> None:
        times.append(time.monotonic())
        if len(times) == 4:
            enough.set()

    began = time.monotonic()
    with ticker.every_second("it", observe):
        assert enough.wait(30)
    assert times[3] - began >= ticker.OFFSET_S + 2 * ticker.EVERY_S  # an observation that is late delays the next ones
    examined = len(times)
    time.sleep(0.1)
    assert len(times) == examined


def test_the_first_look_waits_for_nothing(monkeypatch):
    monkeypatch.setattr(ticker, "OFFSET_S", 60)
    examined = threading.Event()
    with ticker.every_second("it", examined.set):
        assert examined.wait(30)


def test_a_watcher_that_fails_ends_by_itself_and_is_told(caplog):
    def observe() -> None:
        raise RuntimeError("the disk is gone")

    with ticker.every_second("the host", observe):
        pass
    assert "the host is no longer observed" in caplog.text


def test_a_look_that_lasts_when_the_load_is_over_is_hung_up_on():
    begun, ended = threading.Event(), threading.Event()

    def observe() -> None:
        begun.set()
        ended.wait(5)

    with ticker.every_second("it", observe, ended.set):
        assert begun.wait(5)
    assert ended.is_set()


def test_a_look_that_takes_long_is_not_made_up_for():
    enough, times = threading.Event(), []

    def observe() -> None:
        times.append(time.monotonic())
        time.sleep(0.5 if len(times) == 1 else 0)
        if len(times) == 5:
            enough.set()

    with ticker.every_second("it", observe):
        assert enough.wait(30)
    assert times[1] - times[0] >= 0.5
    assert times[4] - times[1] > 0.08  # ten looks were due while the first one lasted
