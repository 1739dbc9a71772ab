"""Reservations of messages in a real Redis: one of many dispatchers gets each, and they end by themselves."""

import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from uuid import uuid4

import pytest

from benchmarks.runs.submission import in_flight
from benchmarks.runs.submission.in_flight import Reservation
from panel.quickstart.servers import RedisServer


def test_of_many_at_once_one_reserves_a_run_and_one_reserves_a_generator(queue: RedisServer) -> None:
    runs, names = [uuid4() for _ in range(20)], [f"generator-{number}" for number in range(20)]
    pairs = [(run, name) for run in runs for name in names] * 2
    with ThreadPoolExecutor(8) as threads:
        answers = list(threads.map(lambda pair: in_flight.reserve(pair[0], [pair[1]]), pairs))
    kept = [pair for pair, answer in zip(pairs, answers, strict=True) if answer == Reservation.MADE]
    assert Counter(run for run, _name in kept) == Counter(runs)
    assert Counter(name for _run, name in kept) == Counter(names)
    assert in_flight.generators([*names, "idle"]) == set(names)


def test_all_generators_of_a_message_are_reserved_or_none(queue: RedisServer) -> None:
    first, second, third = uuid4(), uuid4(), uuid4()
    assert in_flight.reserve(first, ["south-of-two"]) == Reservation.MADE
    assert in_flight.reserve(second, ["north-of-two", "south-of-two"]) == Reservation.GENERATOR_AWAITS_ANOTHER
    assert in_flight.reserve(first, []) == Reservation.RUN_IN_FLIGHT
    assert in_flight.reserve(third, ["north-of-two"]) == Reservation.MADE


def test_a_message_that_was_taken_frees_its_generators_at_once_and_its_run_a_moment_later(
    queue: RedisServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(in_flight, "REFUSED_FOR_S", 0.3)
    run, names = uuid4(), ["east-of-two", "west-of-two"]
    in_flight.reserve(run, names)
    in_flight.end(run)
    assert in_flight.generators(names) == set()
    assert in_flight.reserve(run, names) == Reservation.RUN_IN_FLIGHT
    assert sent_again(run, names)


def test_a_message_that_nobody_takes_is_sent_again(queue: RedisServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(in_flight, "TAKEN_WITHIN_S", 0.3)
    run = uuid4()
    in_flight.reserve(run, ["silent"])
    assert in_flight.generators(["silent"]) == {"silent"}
    assert sent_again(run, ["silent"])


def sent_again(run: object, names: list[str]) -> bool:
    """Whether the message can be reserved again within some seconds."""
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        if in_flight.reserve(run, names) == Reservation.MADE:
            return True
        time.sleep(0.05)
    return False
