"""When a program that ended is started again: soon at first, ever later, and not after five ends in a minute."""

from dataclasses import dataclass, field

# as systemd's StartLimitBurst= and StartLimitIntervalSec= (systemd.unit(5)) in a clock of its own
START_LIMIT_BURST = 5
START_LIMIT_INTERVAL_S = 60.0
FIRST_BACK_OFF_S = 0.5


@dataclass
class Restarts:
    """The ends of one program within the last minute, in seconds of one clock, and what they lead to."""

    ends: list[float] = field(default_factory=list)
    due: float | None = None
    gave_up: bool = False

    def ended(self, now: float) -> float | None:
        """Note an end; the seconds until the next start, twice as many each time, or None where it is given up."""
        self.ends = [*(end for end in self.ends if now - end < START_LIMIT_INTERVAL_S), now]
        if len(self.ends) >= START_LIMIT_BURST:
            self.gave_up = True
            return None
        back_off = FIRST_BACK_OFF_S * 2.0 ** (len(self.ends) - 1)
        self.due = now + back_off
        return back_off

    def is_due(self, now: float) -> bool:
        """Whether it is to be started now; true once for each end."""
        if self.due is None or now < self.due:
            return False
        self.due = None
        return True
