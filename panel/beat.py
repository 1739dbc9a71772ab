"""The scheduler of beat, which reports that it is alive: a panel whose beat hangs checks and applies nothing."""

import time
from typing import Any

from celery.beat import PersistentScheduler

from benchmarks.generators import heartbeats

EVERY_S = 2


class Scheduler(PersistentScheduler):
    """Celery's own, with a heartbeat."""

    max_interval = EVERY_S  # longest time between two ticks
    _reported_at = 0.0

    def tick(self, *args: Any, **named: Any) -> float:
        """Send what is due, and the heartbeat every `EVERY_S`; return the seconds until the next tick."""
        next_tick_s: float = super().tick(*args, **named)
        if time.monotonic() - self._reported_at >= EVERY_S:
            heartbeats.report_beat()
            self._reported_at = time.monotonic()
        return next_tick_s
