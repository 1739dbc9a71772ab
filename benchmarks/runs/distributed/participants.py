"""The parts of a run as its leader sees them: called, started, listened to, dismissed."""

import time
from datetime import UTC, datetime
from uuid import UUID

from django.db.models import Q
from django.utils import timezone

from benchmarks.engines.base import Progress
from benchmarks.models import FINAL, Run, Sample, Status
from benchmarks.models.metrics import SAMPLE_METRICS, Merge
from benchmarks.runs.distributed.merge_samples import Merger
from benchmarks.runs.execution import latency_exchange, reaper, synchronized_start
from benchmarks.runs.execution.recorder import Recorder
from benchmarks.runs.execution.runner import Stopped
from benchmarks.runs.live import publisher
from benchmarks.runs.submission import dispatch
from benchmarks.targets import server_version as versions

AHEAD_S = 1.5  # of the mark: all parts have to see it in time
CALL_AGAIN_S = 3.0
# percentiles of the parts are left out: they come from the exchanged latencies
FIGURES = ("t", *(one.key for one in SAMPLE_METRICS if one.merge != Merge.HISTOGRAM))


class PartFailed(Stopped):
    """A part could not go on, so that the whole has no figures of all its generators."""

    status = Status.FAILED


class Participants:
    """The parts of one run, and the recorder of the whole."""

    def __init__(self, run: Run, recorder: Recorder) -> None:
        self.run, self.recorder = run, recorder
        self.mark_at = 0.0  # monotonic
        self._called_at = 0.0
        self._places: dict[UUID, tuple[int, int]] = dict.fromkeys(run.parts.values_list("pk", flat=True), (0, 0))
        self._merger = Merger(self._places, float(run.options.get("progress") or 1))

    def parts(self) -> list[Run]:
        """The parts as the database has them now, in order."""
        return list(self.run.parts.select_related("cluster", "pool").order_by("number"))

    def call(self) -> None:
        """Send each part that waits to its generator; a message may be lost, and a second one does no harm."""
        self._called_at = time.monotonic()
        for part in self.parts():
            if part.waits_to_be_taken_up:
                dispatch.dispatch(part)

    def is_ready(self) -> bool:
        """Whether every part waits for the mark; raises `PartFailed` where one has ended."""
        if time.monotonic() - self._called_at > CALL_AGAIN_S:
            self.call()
        return all(part.ready_at for part in self._living())

    def why_not_ready(self, waited_s: float) -> PartFailed:
        """What kept the others waiting."""
        words = [_why_late(part) for part in self.parts() if not part.ready_at]
        return PartFailed(f"{'; '.join(words)} within {waited_s:.0f} s, so nothing was started")

    def start(self) -> None:
        """Set the mark for all parts and the whole; raises `PartFailed` where one went away meanwhile."""
        server_version = versions.of_server(self.run)
        self._living()
        clock = synchronized_start.read_clock()
        self.mark_at = time.monotonic() + AHEAD_S
        mark: datetime = clock.common(self.mark_at)
        ready = self.run.parts.filter(status=Status.STARTING, ready_at__isnull=False, start_at=None)
        if ready.update(start_at=mark) != len(self._places):
            raise PartFailed("a part went away before the mark, so that not all could start together")
        self.recorder.begin(self.mark_at, status=Status.RUNNING, start_at=mark, server_version=server_version)
        self.report(f"all {len(self._places)} generators start at {mark.astimezone(UTC):%H:%M:%S.%f} UTC")

    def has_ended(self) -> bool:
        """Whether every part came to its own end; raises `PartFailed` where one could not."""
        return all(part.status in FINAL for part in self._living())

    def is_over(self) -> bool:
        """Whether every part has its final state, whatever it is."""
        return all(part.status in FINAL for part in self._after_reaping())

    def _living(self) -> list[Run]:
        parts = self._after_reaping()
        for part in parts:
            if part.status in FINAL and part.status != Status.SUCCEEDED:
                how = part.get_status_display()
                raise PartFailed(f"generator {part.generator}: its part was {how}: {part.error or 'without a reason'}")
        return parts

    def _after_reaping(self) -> list[Run]:
        """The parts, those whose worker is gone ended by that."""
        parts = self.parts()
        now = timezone.now()
        if any(part.lease_until and part.lease_until < now for part in parts):
            reaper.reap()
            return self.parts()
        return parts

    def merge(self) -> None:
        """Write down the intervals that all parts have passed by now."""
        for part, samples in self._news().items():
            last = samples[-1]
            self._places[part] = (last.attempt, last.seq)
            latencies = latency_exchange.take(part, last.attempt, [sample.seq for sample in samples])
            for sample, known in zip(samples, latencies, strict=True):
                self._merger.add(part, Progress(**{name: getattr(sample, name) for name in FIGURES}), known)
        for interval in self._merger.take():
            self.recorder.sample(interval, self.recorder.began + interval.t)

    def _news(self) -> dict[UUID, list[Sample]]:
        """The samples that came since the last look, by part and in order."""
        new = Q()
        for part, (attempt, seq) in self._places.items():
            new |= Q(run=part) & (Q(attempt=attempt, seq__gt=seq) | Q(attempt__gt=attempt))
        found: dict[UUID, list[Sample]] = {}
        for sample in Sample.objects.filter(new).order_by("attempt", "seq"):
            found.setdefault(sample.run_id, []).append(sample)
        return found

    def dismiss(self) -> None:
        """Ask every part that still goes on to end; one that nobody took up ends at once."""
        for part in self.parts():
            if part.status not in FINAL and part.request_cancel():
                publisher.publish_end(part)

    def report(self, words: str) -> None:
        """Tell watchers, and keep it in the log of the whole."""
        self.recorder.line("stderr", words)
        self.recorder.log(words, time.monotonic())


def _why_late(part: Run) -> str:
    taken = "never took its part up" if part.waits_to_be_taken_up else "was not prepared"
    return f"generator {part.generator} {taken}"
