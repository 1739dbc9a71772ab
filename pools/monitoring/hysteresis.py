"""When an event opens (above its upper threshold for a while) and closes (below its lower one); pure."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum


@dataclass(frozen=True)
class Rule:
    """Opens at `opens_at` or more for `for_s` seconds, closes below `closes_at`, which is not above `opens_at`."""

    opens_at: float
    closes_at: float
    for_s: float = 0.0


class Move(StrEnum):
    """The steps of a subject's event at a new value."""

    NONE = "none"
    BREW = "brew"  # the threshold is crossed, but not long enough yet
    FORGET = "forget"  # the value went back before that
    OPEN = "open"
    CLOSE = "close"


def move(rule: Rule, value: float, now: datetime, crossed_at: datetime | None, is_open: bool) -> Move:
    """Return the step for a value; `crossed_at` is when it crossed the upper threshold, None where it did not.

    Between the thresholds an open event stays open, and one that has not opened yet is forgotten.
    """
    if is_open:
        return Move.CLOSE if value < rule.closes_at else Move.NONE
    if value < rule.opens_at:
        return Move.FORGET if crossed_at else Move.NONE
    if now - (crossed_at or now) >= timedelta(seconds=rule.for_s):
        return Move.OPEN
    return Move.NONE if crossed_at else Move.BREW
