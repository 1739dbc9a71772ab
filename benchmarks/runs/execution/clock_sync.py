"""One clock for many hosts: that of Redis, as each process reads it by its own monotonic one."""

import time
from dataclasses import dataclass
from datetime import UTC, datetime

import redis

from benchmarks.generators.heartbeats import asking_redis

READINGS = 9


@dataclass(frozen=True)
class Clock:
    """How far Redis's clock (a Unix time) is ahead of this process's monotonic one, and how wrong that may be."""

    ahead_s: float
    error_s: float

    def common(self, monotonic: float) -> datetime:
        """A monotonic time of this process on the common clock."""
        return datetime.fromtimestamp(monotonic + self.ahead_s, UTC)

    def monotonic(self, common: datetime) -> float:
        """A time of the common clock on this process's monotonic one."""
        return common.timestamp() - self.ahead_s


def read_clock() -> Clock:
    """The clock by the quickest of a few readings; the hosts' own clocks may differ. Raises `QueueDown`."""
    with asking_redis() as client:
        client.ping()  # connecting is no part of a reading
        return best([_reading(client) for _ in range(READINGS)])


def best(readings: list[tuple[float, float, float]]) -> Clock:
    """Of (asked at, answered at, answer) the one that took least: its middle is when Redis looked, at most half off."""
    asked, answered, said = min(readings, key=lambda reading: reading[1] - reading[0])
    return Clock(said - (asked + answered) / 2, (answered - asked) / 2)


def _reading(client: "redis.Redis") -> tuple[float, float, float]:
    asked = time.monotonic()
    seconds, microseconds = client.time()
    return asked, time.monotonic(), int(seconds) + int(microseconds) / 1e6
