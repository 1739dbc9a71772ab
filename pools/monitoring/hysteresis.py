"""When an event opens and closes: over its upper bound for a while, and not before it is under its lower one; pure."""

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
    """What becomes of a subject's event."""

    NONE = "none"
    BREW = "brew"  # the bound is crossed, not long enough yet
    FORGET = "forget"  # it went back before it was long enough
    OPEN = "open"
    CLOSE = "close"


def move(rule: Rule, value: float, now: datetime, crossed_at: datetime | None, is_open: bool) -> Move:
    """The step for a value; `crossed_at` is since when it has been over the upper bound, None where it was not.

    Between the bounds an open event stays open, and one that brews is forgotten.
    """
    if is_open:
        return Move.CLOSE if value < rule.closes_at else Move.NONE
    if value < rule.opens_at:
        return Move.FORGET if crossed_at else Move.NONE
    if now - (crossed_at or now) >= timedelta(seconds=rule.for_s):
        return Move.OPEN
    return Move.NONE if crossed_at else Move.BREW
