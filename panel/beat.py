"""The scheduler of beat, which tells that it lives: a panel whose beat hangs checks and applies nothing."""

import time
from typing import Any

from celery.beat import PersistentScheduler

from benchmarks.generators import heartbeats

EVERY_S = 2


class Scheduler(PersistentScheduler):
    """Celery's own, with a heartbeat; beat ticks at least as often as its most frequent task is due."""

    max_interval = 2
    _reported_at = 0.0

    def tick(self, *args: Any, **named: Any) -> float:
        """Send what is due, and the heartbeat every `EVERY_S`; return the seconds until the next tick."""
        due_s: float = super().tick(*args, **named)
        if time.monotonic() - self._reported_at >= EVERY_S:
            heartbeats.report_beat()
            self._reported_at = time.monotonic()
        return min(due_s, EVERY_S)
