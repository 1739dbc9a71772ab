"""Whether this worker takes the messages of its queues: one that sends heartbeats may take none, and it alone can tell.

Celery and kombu limit how many messages a worker may have. Where their count is wrong, or the connection that brings
the messages is dead without anybody's notice, the worker waits for ever beside queues that fill.
"""

STALLED_AFTER_S = 10.0  # a worker with room for a message takes it within milliseconds


class Consumption:
    """What this worker's heartbeats saw of its queues and of its work."""

    def __init__(self) -> None:
        self.places = 1  # messages that it may have at a time
        self.stalled_s = 0.0
        self._taken = -1
        self._since = 0.0

    def observe(self, now: float, taken: int, *, could_take: bool) -> bool:
        """Set `stalled_s`, for how many seconds it has taken no message although it could; return whether that began.

        `taken` counts the messages that it has taken since its start; `could_take` tells that some wait and that it has
        room for one. `now` is monotonic. Less than `STALLED_AFTER_S` is no stall.
        """
        if taken != self._taken or not could_take:
            self._taken, self._since = taken, now
        was_stalled, lasted_s = bool(self.stalled_s), now - self._since
        self.stalled_s = lasted_s if lasted_s >= STALLED_AFTER_S else 0.0
        return bool(self.stalled_s) and not was_stalled
