"""The coordinator's handle on the parts of a distributed run: dispatch, start, poll, cancel."""

import math
import time
from collections.abc import Hashable
from contextlib import suppress
from datetime import UTC, datetime
from uuid import UUID

from django.db.models import Q
from django.utils.translation import gettext as _

from benchmarks.analysis.latency import store
from benchmarks.engines.base import Progress
from benchmarks.errors import QueueDown
from benchmarks.models import FINAL, Run, Sample, Status
from benchmarks.models.metrics import SAMPLE_METRICS, Merge
from benchmarks.runs.distributed.merge_samples import Merger
from benchmarks.runs.execution import latency_exchange, reaper, synchronized_start
from benchmarks.runs.execution.ending import Stopped
from benchmarks.runs.execution.latency_exchange import Latencies
from benchmarks.runs.execution.recorder import Recorder
from benchmarks.runs.live import publisher
from benchmarks.runs.submission import dispatch
from benchmarks.targets import server_version as versions

AHEAD_S = 1.5  # All parts have to read the start time between its setting and the start.
DISPATCH_AGAIN_S = 3.0
# percentiles of the parts are left out: they come from the exchanged latencies
FIGURES = ("t", *(one.key for one in SAMPLE_METRICS if one.merge != Merge.HISTOGRAM))


class PartFailed(Stopped):
    """A part could not go on, so that the whole lacks the figures of one generator."""

    status = Status.FAILED


class Participants:
    """The parts of one run, and the recorder of the whole."""

    def __init__(self, run: Run, recorder: Recorder) -> None:
        self.run, self.recorder = run, recorder
        self.starts_at = 0.0  # monotonic
        self._dispatched_at = 0.0
        self._reaped_at = -math.inf
        self._places: dict[UUID, tuple[int, int]] = dict.fromkeys(run.parts.values_list("pk", flat=True), (0, 0))
        self._merger = Merger(self._places, float(run.options.get("progress") or 1))

    def parts(self) -> list[Run]:
        """Return the parts as they are in the database now, in order."""
        return list(self.run.parts.select_related("cluster", "pool").order_by("number"))

    def dispatch_parts(self) -> None:
        """Dispatch each part that waits to its generator; a message may be lost, and a second one does no harm."""
        self._dispatched_at = time.monotonic()
        for part in self.parts():
            if part.is_unclaimed_part:
                dispatch.dispatch(part)

    def is_ready(self) -> bool:
        """Test whether every part waits for the start; raise `PartFailed` where one has ended."""
        if time.monotonic() - self._dispatched_at > DISPATCH_AGAIN_S:
            self.dispatch_parts()
        return all(part.ready_at for part in self._unfailed_parts())

    def why_not_ready(self, waited_s: float) -> PartFailed:
        """Return the error that names the parts which were not ready in time."""
        reasons = [_why_late(part, waited_s) for part in self.parts() if not part.ready_at]
        return PartFailed("; ".join([*reasons, _("nothing was started")]))

    def start(self) -> None:
        """Set the start time of all parts and the whole; raise `PartFailed` where a part is gone."""
        server_version = versions.of_server(self.run)
        self._unfailed_parts()
        clock = synchronized_start.read_clock()
        self.starts_at = time.monotonic() + AHEAD_S
        start_at: datetime = clock.common(self.starts_at)
        ready = self.run.parts.filter(status=Status.STARTING, ready_at__isnull=False, start_at=None)
        if ready.update(start_at=start_at) != len(self._places):
            raise PartFailed(_("a part ended before the start, so that not all could start together"))
        self.recorder.begin(self.starts_at, status=Status.RUNNING, start_at=start_at, server_version=server_version)
        text = _("all %(count)s generators start at %(time)s UTC")
        self.report(text % {"count": len(self._places), "time": f"{start_at.astimezone(UTC):%H:%M:%S.%f}"})

    def has_ended(self) -> bool:
        """Test whether every part succeeded; raise `PartFailed` where one failed."""
        return all(part.status in FINAL for part in self._unfailed_parts())

    def have_final_states(self) -> bool:
        """Test whether every part has a final state."""
        return all(part.status in FINAL for part in self._after_reaping())

    def _unfailed_parts(self) -> list[Run]:
        parts = self._after_reaping()
        for part in parts:
            if part.status in FINAL and part.status != Status.SUCCEEDED:
                raise PartFailed(_why_gone(part))
        return parts

    def _after_reaping(self) -> list[Run]:
        """Return the parts, after ending those whose worker's lease ran out; Redis may be away, which ends none."""
        parts = self.parts()
        is_due = time.monotonic() - self._reaped_at > reaper.CHECK_EVERY_S
        if is_due and Run.objects.expired().filter(pk__in=[part.pk for part in parts]).exists():
            self._reaped_at = time.monotonic()
            with suppress(QueueDown):
                reaper.reap_when_settled()
            return self.parts()
        return parts

    def merge(self) -> None:
        """Store the intervals that all parts have passed by now."""
        for part, samples in self._new_samples().items():
            last = samples[-1]
            self._places[part] = (last.attempt, last.seq)
            latencies = latency_exchange.receive(part, last.attempt, [sample.seq for sample in samples])
            for sample, known in zip(samples, latencies, strict=True):
                progress = Progress(**{name: getattr(sample, name) for name in FIGURES})
                self._merger.add(part, progress, known, key=(part, sample.seq))
        for interval in self._merger.completed_intervals():
            self.recorder.sample(interval, self.recorder.began + interval.t)

    def correct(self) -> None:
        """Write the percentiles that the parts' logs complete at their end; raises `Fenced`."""
        late: dict[Hashable, Latencies] = {
            (part, seq): latencies
            for part, (attempt, _seq) in self._places.items()
            for seq, latencies in latency_exchange.receive_late(part, attempt).items()
        }
        if figures := self._merger.corrected(late):
            store.correct(self.run, self.recorder.sample_seqs, figures)

    def _new_samples(self) -> dict[UUID, list[Sample]]:
        """Return the samples since the last call, by part and in order."""
        new = Q()
        for part, (attempt, seq) in self._places.items():
            new |= Q(run=part) & (Q(attempt=attempt, seq__gt=seq) | Q(attempt__gt=attempt))
        by_part: dict[UUID, list[Sample]] = {}
        for sample in Sample.objects.filter(new).order_by("attempt", "seq"):
            by_part.setdefault(sample.run_id, []).append(sample)
        return by_part

    def cancel_parts(self) -> None:
        """Ask every part that still runs to end; one that was never taken up ends at once."""
        for part in self.parts():
            if part.status not in FINAL and part.request_cancel():
                publisher.publish_end(part)

    def report(self, words: str) -> None:
        """Publish a line to live viewers, and keep it in the log of the whole."""
        self.recorder.line("stderr", words)
        self.recorder.log(words, time.monotonic())


def _why_gone(part: Run) -> str:
    words = {"generator": part.generator, "status": part.get_status_display(), "error": part.error}
    if part.error:
        return _("generator %(generator)s: its part ended (%(status)s): %(error)s") % words
    return _("generator %(generator)s: its part ended (%(status)s) without a reason") % words


def _why_late(part: Run, waited_s: float) -> str:
    words = {"generator": part.generator, "seconds": f"{waited_s:.0f}"}
    if part.is_unclaimed_part:
        return _("generator %(generator)s did not start its part within %(seconds)s s") % words
    return _("generator %(generator)s was not prepared within %(seconds)s s") % words
