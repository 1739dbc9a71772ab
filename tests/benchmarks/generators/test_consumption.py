"""When a worker counts as stalled: messages wait, it has room, and has taken none for a while."""

from benchmarks.generators.consumption import STALLED_AFTER_S, Consumption


def observed(*beats: tuple[float, int, bool]) -> list[tuple[float, bool]]:
    """For how long it is stalled, and whether that begins, at each heartbeat (time, taken, whether it could take)."""
    worker, found = Consumption(), []
    for now, taken, could_take in beats:
        begins = worker.observe(now, taken, could_take=could_take)
        found.append((worker.stalled_s, begins))
    return found


def test_a_worker_that_takes_nothing_though_messages_wait_is_stalled_after_a_while() -> None:
    began, later = 100.0, 100.0 + STALLED_AFTER_S
    beats = [(began, 7, True), (later - 1, 7, True), (later, 7, True), (later + 2, 7, True)]
    assert observed(*beats) == [(0, False), (0, False), (STALLED_AFTER_S, True), (STALLED_AFTER_S + 2, False)]


def test_each_message_that_it_takes_and_each_empty_queue_begins_the_time_anew() -> None:
    beats = [(0.0, 7, True), (9.0, 8, True), (18.0, 8, True), (19.0, 8, False), (28.0, 8, True), (29.0, 8, True)]
    assert [stalled_s for stalled_s, _begins in observed(*beats)] == [0, 0, 0, 0, 0, STALLED_AFTER_S]


def test_it_ends_with_the_first_message_that_is_taken_and_is_told_anew_when_it_begins_again() -> None:
    found = observed((0.0, 7, True), (20.0, 7, True), (22.0, 8, True), (40.0, 8, True))
    assert found == [(0, False), (20, True), (0, False), (18, True)]
