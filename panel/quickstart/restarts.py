"""Restart policy: exponential back-off, and none after five ends within a minute."""

from dataclasses import dataclass, field

# StartLimitBurst= and StartLimitIntervalSec= of systemd.unit(5), measured with a clock of its own.
START_LIMIT_BURST = 5
START_LIMIT_INTERVAL_S = 60.0
FIRST_BACK_OFF_S = 0.5


@dataclass
class Restarts:
    """The ends of one program within the last minute (monotonic seconds), and the next restart."""

    ends: list[float] = field(default_factory=list)
    due: float | None = None
    gave_up: bool = False

    def ended(self, now: float) -> float | None:
        """Record an end; return the seconds until the restart, doubled each time, or None if there is none."""
        self.ends = [*(end for end in self.ends if now - end < START_LIMIT_INTERVAL_S), now]
        if len(self.ends) >= START_LIMIT_BURST:
            self.gave_up = True
            return None
        back_off = FIRST_BACK_OFF_S * 2.0 ** (len(self.ends) - 1)
        self.due = now + back_off
        return back_off

    def request(self, now: float) -> None:
        """Start it again at once, without counting an end."""
        self.due = now

    def is_due(self, now: float) -> bool:
        """Tell whether to start it now; true once per end."""
        if self.due is None or now < self.due:
            return False
        self.due = None
        return True
