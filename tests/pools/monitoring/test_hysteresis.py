"""When events open and close, as a table."""

from datetime import UTC, datetime, timedelta

import pytest

from pools.monitoring.hysteresis import Move, Rule, move

RULE = Rule(opens_at=5, closes_at=2, for_s=30)
NOW = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("value", "crossed_s_ago", "is_open", "step"),
    [
        # nothing yet
        (0, None, False, Move.NONE),
        (4.9, None, False, Move.NONE),
        (5, None, False, Move.BREW),
        (9, None, False, Move.BREW),
        # crossed, and waited for
        (5, 29, False, Move.NONE),
        (5, 30, False, Move.OPEN),
        (99, 3600, False, Move.OPEN),
        (4.9, 29, False, Move.FORGET),
        (0, 3600, False, Move.FORGET),
        # open: it stays between the bounds, however long
        (9, 31, True, Move.NONE),
        (4.9, 31, True, Move.NONE),
        (2, 3600, True, Move.NONE),
        (1.9, 31, True, Move.CLOSE),
        (0, 31, True, Move.CLOSE),
    ],
)
def test_an_event_opens_over_its_upper_bound_for_a_while_and_closes_under_its_lower(
    value, crossed_s_ago, is_open, step
):
    crossed_at = None if crossed_s_ago is None else NOW - timedelta(seconds=crossed_s_ago)
    assert move(RULE, value, NOW, crossed_at, is_open) == step


def test_without_a_duration_it_opens_at_once():
    assert move(Rule(1, 1), 1, NOW, None, False) == Move.OPEN


def test_a_value_that_swings_about_the_upper_bound_opens_once():
    steps, crossed_at, is_open = [], None, False
    for second, value in enumerate([5, 6, 4, 5, 6, 5, 4, 5, 4, 3, 5, 1]):
        now = NOW + timedelta(seconds=20 * second)
        step = move(RULE, value, now, crossed_at, is_open)
        steps.append(step)
        crossed_at = now if step == Move.BREW else None if step in (Move.FORGET, Move.CLOSE) else crossed_at
        is_open = (is_open or step == Move.OPEN) and step != Move.CLOSE
    assert [step for step in steps if step != Move.NONE] == [
        Move.BREW,
        Move.FORGET,
        Move.BREW,
        Move.OPEN,
        Move.CLOSE,
    ]


def test_a_value_that_falls_opens_under_its_bound_and_closes_over_the_other():
    rule = Rule(opens_at=30, closes_at=40, falls=True)
    assert [move(rule, value, NOW, None, False) for value in (31, 30, -5)] == [Move.NONE, Move.OPEN, Move.OPEN]
    assert [move(rule, value, NOW, NOW, True) for value in (29, 40, 41)] == [Move.NONE, Move.NONE, Move.CLOSE]
