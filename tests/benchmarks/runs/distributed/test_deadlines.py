"""How long a coordinator waits for its parts while the metadata database is away."""

import time

import pytest
from django.db import OperationalError

from benchmarks.runs.distributed import coordinator
from benchmarks.runs.distributed.coordinator import Deadline
from benchmarks.runs.execution import outages, reaper

AWAY_S = 0.3


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Seconds become tenths."""
    monkeypatch.setattr(outages, "RETRY_S", 0.1)
    monkeypatch.setattr(outages, "close_connection", lambda: None)


@pytest.fixture
def paused(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Whether the reaper was asked to let live workers renew their leases."""
    found: list[bool] = []
    monkeypatch.setattr(reaper, "pause", lambda: found.append(True))
    return found


def away_until(at: float) -> str:
    if time.monotonic() < at:
        raise OperationalError("the database is starting up")
    return "known"


def test_what_the_database_takes_to_answer_does_not_count(paused: list[bool]) -> None:
    deadline = Deadline(time.monotonic() + AWAY_S / 2)
    back_at = time.monotonic() + AWAY_S
    assert deadline.ask(lambda: away_until(back_at)) == "known"
    assert not deadline.is_over
    assert deadline.at > back_at
    time.sleep(AWAY_S)
    assert deadline.is_over
    assert paused == []


def test_after_a_long_wait_workers_have_time_to_renew_their_leases(
    paused: list[bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reaper, "SLOW_S", AWAY_S / 2)
    back_at = time.monotonic() + AWAY_S
    Deadline(time.monotonic()).ask(lambda: away_until(back_at))
    assert paused == [True]


def test_an_error_of_a_part_is_no_outage(paused: list[bool]) -> None:
    def failed() -> None:
        raise coordinator.DeadlinePassed("a part ended")

    with pytest.raises(coordinator.DeadlinePassed):
        Deadline(time.monotonic()).ask(failed)
