"""The rate that somebody asked for while a stage of a load went on."""

from benchmarks.models.options import LEAST_REST_S, RunOptions


class RequestedRate:
    """The latest request for another rate (0: without a limit), which is for one stage: no later one takes it."""

    def __init__(self, options: RunOptions) -> None:
        self.rate: float | None = None
        self._of_stage = 0  # that it is for
        self._has_ended_interval = False  # since it was asked for
        self.begin_stage(1, options)

    def begin_stage(self, number: int, options: RunOptions) -> None:
        """Follow the stage with this number (from 1); a load without stages is the first."""
        self._stage, self._present_rate = number, options.get("rate") or 0.0
        self._duration_s, self._reached_s = float(options.get("duration") or 0), 0.0
        self._has_ended_interval = False

    def end_interval(self, t: float) -> None:
        """Note that an interval of the stage ended at `t`, in seconds on its own clock."""
        self._has_ended_interval, self._reached_s = True, t

    def receive(self, rate: float, stage: int) -> bool:
        """Take the request that the run has; return whether it is a new one that came too late for its stage."""
        if (rate, stage) == (self.rate, self._of_stage):
            return False
        self.rate, self._of_stage, self._has_ended_interval = rate, stage, False
        return stage < self._stage

    @property
    def is_open(self) -> bool:
        """Whether a rate was asked for that the present stage does not have."""
        return self._of_stage == self._stage and self.rate != self._present_rate

    @property
    def due(self) -> float | None:
        """The rate at which the load is to go on now; None where there is none.

        An interval has to end first, since the figures of what was until then come from the intervals, and the rest of
        the stage has to be long enough to be measured.
        """
        has_time = self._duration_s - self._reached_s >= LEAST_REST_S
        return self.rate if self.is_open and self._has_ended_interval and has_time else None
