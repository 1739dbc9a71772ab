"""What an engine's log says of single transactions."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, Protocol


class Logged(NamedTuple):
    """One transaction that ended at `at_us` (Unix time in microseconds).

    Under a rate its latency counts from the scheduled start, of which `lag_us` went by before it began.
    """

    at_us: int
    latency_us: int
    lag_us: int = 0


class LogReader(Protocol):
    """Reads one log file as it grows."""

    def feed(self, chunk: bytes) -> list[Logged]:
        """The transactions whose lines this chunk completes; never raises."""


@dataclass(frozen=True, slots=True)
class LogFiles:
    """The logs that a program writes into its private home: their names as a pattern, a reader for each."""

    pattern: str
    reader: Callable[[], LogReader]
    scheduled: bool = False  # whether the lines tell how late a transaction began
    sampling_rate: float = 1.0  # the share of the transactions that is logged
    statements: float = 1.0  # of a transaction on average, at least: each is a round trip
