"""Logs that a load program writes of its transactions, one line each: where they are, and what is read from them."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, Protocol


class LoggedTransaction(NamedTuple):
    """One transaction that ended at `at_us` (Unix time in microseconds).

    Under a rate its latency counts from the scheduled start, and `lag_us` of it passed before the transaction began.
    """

    at_us: int
    latency_us: int
    lag_us: int = 0


class LogReader(Protocol):
    """Reads one log file as it grows."""

    def feed(self, chunk: bytes) -> list[LoggedTransaction]:
        """Return the transactions whose lines this chunk completes; never raise."""


@dataclass(frozen=True, slots=True)
class LogFiles:
    """The logs that a program writes into its private home: a pattern of their names, and a reader for each."""

    pattern: str
    reader: Callable[[], LogReader]
    scheduled: bool = False  # The lines carry the lag behind the scheduled start.
    sampling_rate: float = 1.0  # the share of the transactions that is logged
    statements: float = 1.0  # lower bound of the statements of a transaction; each is a round trip
