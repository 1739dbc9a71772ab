"""When an event opens (beyond its threshold for a while) and closes (on the other side of the second one); pure."""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum


@dataclass(frozen=True)
class Rule:
    """Opens at `opens_at` or more for `for_s` seconds, closes below `closes_at`, which is not above `opens_at`.

    For a value that `falls`, such as the days that are left: at `opens_at` or less, and above `closes_at`.
    """

    opens_at: float
    closes_at: float
    for_s: float = 0.0
    falls: bool = False

    def changed(self, opens_at: float, closes_at: float, for_s: float) -> "Rule":
        """Return the rule with other numbers, for a value of the same direction."""
        return replace(self, opens_at=opens_at, closes_at=closes_at, for_s=for_s)

    def is_reached(self, value: float) -> bool:
        """Return whether an event opens at this value, once it has lasted."""
        return value <= self.opens_at if self.falls else value >= self.opens_at

    def is_over(self, value: float) -> bool:
        """Return whether an open event closes at this value."""
        return value > self.closes_at if self.falls else value < self.closes_at


class Move(StrEnum):
    """The steps of a subject's event at a new value."""

    NONE = "none"
    BREW = "brew"  # the threshold is crossed, but not long enough yet
    FORGET = "forget"  # the value went back before that
    OPEN = "open"
    CLOSE = "close"


def move(rule: Rule, value: float, now: datetime, crossed_at: datetime | None, is_open: bool) -> Move:
    """Return the step for a value; `crossed_at` is when it crossed the threshold, None where it did not.

    Between the thresholds an open event stays open, and one that has not opened yet is forgotten.
    """
    if is_open:
        return Move.CLOSE if rule.is_over(value) else Move.NONE
    if not rule.is_reached(value):
        return Move.FORGET if crossed_at else Move.NONE
    if now - (crossed_at or now) >= timedelta(seconds=rule.for_s):
        return Move.OPEN
    return Move.NONE if crossed_at else Move.BREW
