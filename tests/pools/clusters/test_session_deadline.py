"""A session that does not answer is hung up on, on a server that accepts and says nothing."""

import socket
import threading
import time

import pytest

from pools.clusters import session_deadline


class Silent:
    """Enough of a session for its line: a socket pair's end that is open until it is not."""

    def __init__(self, line) -> None:
        self.line, self.closed = line, False

    def fileno(self) -> int:
        return self.line.fileno()


@pytest.fixture
def pair():
    here, there = socket.socketpair()
    with here, there:
        yield Silent(here), there


def test_a_block_that_is_over_in_time_leaves_the_line_open(pair):
    session, there = pair
    with session_deadline.within(session, 5) as gave_up:
        pass
    there.sendall(b"x")
    assert (session.line.recv(1), gave_up.is_set()) == (b"x", False)


def test_who_waits_too_long_is_woken_and_told_why(pair):
    session, _ = pair
    began = time.monotonic()
    with session_deadline.within(session, 0.1) as gave_up:
        assert session.line.recv(1) == b""
    assert gave_up.is_set()
    assert time.monotonic() - began < 30


def test_another_thread_is_hung_up_on(pair):
    session, _ = pair
    parsed: list[bytes] = []
    waiting = threading.Thread(target=lambda: parsed.append(session.line.recv(1)))
    waiting.start()
    session_deadline.shut_down(session)
    waiting.join(30)
    assert parsed == [b""]
    session.closed = True
    session_deadline.shut_down(session)  # a closed one is left alone


def test_one_thread_keeps_the_deadlines_of_all_sessions(pair):
    session, _ = pair
    other, peer = socket.socketpair()
    with other, peer, session_deadline.within(session, 60):
        before = threading.active_count()
        with session_deadline.within(Silent(other), 0.1) as gave_up:
            assert other.recv(1) == b""  # it is sooner than the one that was set first
        assert (gave_up.is_set(), threading.active_count()) == (True, before)


def test_the_thread_wakes_once_for_all_calls_that_are_over(pair, monkeypatch):
    session, _ = pair
    deadlines = session_deadline._Deadlines()
    monkeypatch.setattr(session_deadline, "_deadlines", deadlines)
    waits: list[float | None] = []
    wait = deadlines.changed.wait
    monkeypatch.setattr(deadlines.changed, "wait", lambda seconds: (waits.append(seconds), wait(seconds)))
    with session_deadline.within(session, 60):
        for number in range(20):
            with session_deadline.within(session, 0.2 + number / 100):
                pass
        ends_at = time.monotonic() + 30
        while len(deadlines.calls) > 1 and time.monotonic() < ends_at:
            time.sleep(0.05)
        assert [call.line is None for _deadline, _number, call in deadlines.calls] == [False]
    assert len(waits) <= 4  # at its start, of the first that is over, and of the one that goes on
