"""Writes what a running attempt produces: samples, output and state, first to the database, then to the live stream."""

import logging
import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from functools import cached_property
from typing import TypeVar, Unpack

from django.conf import settings
from django.db import transaction
from django.db.models import Case, F, Q, QuerySet, TextField, Value, When
from django.db.models.functions import Concat
from django.utils import timezone
from django.utils.translation import gettext as _

from benchmarks.analysis.latency.log_follower import Follower
from benchmarks.engines import engine
from benchmarks.engines.base import Progress
from benchmarks.models import FINAL, Observation, PoolSample, Run, RunOutput, Sample
from benchmarks.models.columns import RunColumns
from benchmarks.models.options import RunOptions
from benchmarks.models.runs import LEASE
from benchmarks.runs.execution import latency_exchange
from benchmarks.runs.execution.latency_exchange import Latencies
from benchmarks.runs.execution.outages import AWAY, Unsent, close_connection, retry_until_available
from benchmarks.runs.execution.requested_rate import RequestedRate
from benchmarks.runs.live import events, publisher
from benchmarks.runs.observers.base import ObservedFigures
from benchmarks.runs.observers.pool import PoolObservation
from benchmarks.runs.observers.summary import ObservationTotals

log = logging.getLogger(__name__)
T = TypeVar("T")

RENEW_S = LEASE.total_seconds() / 3
FLUSH_S = 3.0
# Observations wait for a sample to be written with: a write takes processor time from the load.
OBSERVATIONS_WAIT_S = 1.5
LOG_LINES_A_SECOND = 20  # published; all of them, up to the cap, are kept in the output
STATES_A_SECOND = 4


class Output:
    """The program's output: held whole up to the cap, sent to the database in pieces."""

    def __init__(self, cap_bytes: int) -> None:
        self.truncated = False
        self._cap = cap_bytes
        self._kept: dict[str, list[str]] = {"stdout": [], "stderr": []}
        self._sizes = {"stdout": 0, "stderr": 0}
        self._stage_from = {"stdout": 0, "stderr": 0}
        self._unsent: dict[str, list[str]] = {"stdout": [], "stderr": []}

    def add(self, stream: str, line: str) -> None:
        """Keep a line while its stream is under the cap."""
        size = len(line.encode()) + 1
        if self._sizes[stream] + size > self._cap:
            self.truncated = True
            return
        self._sizes[stream] += size
        self._kept[stream].append(line + "\n")
        self._unsent[stream].append(line + "\n")

    def text_of(self, stream: str) -> str:
        """Return all that was kept of a stream."""
        return "".join(self._kept[stream])

    def begin_stage(self) -> None:
        """Begin the output of the next process of the load."""
        self._stage_from = {stream: len(lines) for stream, lines in self._kept.items()}

    def of_stage(self, stream: str) -> str:
        """Return what was kept of a stream since the last stage began."""
        return "".join(self._kept[stream][self._stage_from[stream] :])

    def requeue(self, news: dict[str, str]) -> None:
        """Put back what could not be sent, so that it is first the next time."""
        for stream, text in news.items():
            self._unsent[stream].insert(0, text)

    def pop_unsent(self) -> dict[str, str]:
        """Return the events added since the last call, by stream; streams without new events are left out."""
        news = {stream: "".join(lines) for stream, lines in self._unsent.items() if lines}
        self._unsent = {"stdout": [], "stderr": []}
        return news


class Recorder:
    """The one writer of an attempt; every write is fenced, renews the lease and is one transaction.

    Raises `Fenced` as soon as the attempt has ended elsewhere. While the database is away, writes are buffered and the
    live stream goes on. All its events share one sequence, so that a viewer notices a gap; the clock `t` is the load's
    own: seconds since `began` (monotonic).
    """

    def __init__(self, run: Run) -> None:
        self.run = run
        self.began = time.monotonic()
        self.has_begun = False  # the load may run, or may have run
        self.output = Output(settings.OUTPUT_CAP_BYTES)
        self.samples: list[Progress] = []
        self.sample_seqs: list[int] = []
        self.log_follower: Follower | None = None  # follows the load's log of transactions
        # A load with stages is several processes with a clock of their own each.
        self.stage_samples: list[Progress] = []  # of the present one, on its own clock
        self.stage_began_s = 0.0  # its beginning on the run's clock
        self._clock_is_set = False  # its first progress line came
        self.requested_rate = RequestedRate(run.options)
        self.table_checks = 0  # for the tables that a preparation makes
        self.mask: Callable[[str], str] = str  # hides what readers of the run's output may not see
        # The load's clock stood at 0 then, by the progress line that came with the least delay: on a busy host some
        # lines come late, and two at once would leave an interval of no length between them.
        self._zero = math.inf
        self._seq = 0
        self._written_at = time.monotonic()
        self._flushed_at = time.monotonic()
        self._state_published_at = 0.0
        self._log_second, self._log_lines = 0, 0
        self._observations: list[PoolObservation | ObservedFigures] = []  # observations that are not written yet
        self._observations_stored_at = time.monotonic()
        # The first sample shows when a slow-starting load began.
        self._beginning_unknown = bool(engine(run.engine).terms.slow_start_s)
        self.observed_totals = ObservationTotals()
        self._unsent = Unsent()

    def t(self, at: float) -> float:
        """Return a monotonic time as seconds on the load's clock."""
        return max(0.0, round(at - self.began, 3))

    def begin(self, at: float, **values: Unpack[RunColumns]) -> None:
        """Record that the load starts at `at` (monotonic); its first progress line sets the clock more precisely.

        Raises where the database can't be written: only an attempt that is known to be current may start a load.
        """
        self.began = at
        columns: RunColumns = {**values, "load_began_at": self._wall_clock(at)}
        self.state(**columns)
        if self._unsent.since is not None:
            self.write_pending()
        self.has_begun = True

    def begin_stage(self, number: int, asked: RunOptions, **values: Unpack[RunColumns]) -> None:
        """Record that the next process of the load starts: its clock, samples and output begin anew.

        Waits for the database where it is away, and raises `Fenced`: a later stage too is started only by an attempt
        that is known to be current.
        """
        self.stage_samples, self._clock_is_set, self._zero = [], False, math.inf
        self.requested_rate.begin_stage(number, asked)
        self.stage_began_s = self._after_last_sample(self.t(time.monotonic())) if self.has_begun else 0.0
        self.output.begin_stage()
        self.state(**values)
        if self._unsent.since is not None:
            self.write_pending()

    def _wall_clock(self, at: float) -> datetime:
        return timezone.now() - timedelta(seconds=time.monotonic() - at)

    def state(self, **values: Unpack[RunColumns]) -> None:
        """Write values of the run and publish its state."""
        self._write(values)
        self._state_published_at = time.monotonic()
        self._publish("state", events.state_payload(self.run))

    def progress(self, percent: float) -> None:
        """Record how much of a dataset is made; published a few times a second at most."""
        if time.monotonic() - self._state_published_at >= 1 / STATES_A_SECOND or percent >= 100:
            self.state(progress_percent=percent)

    def sample(self, progress: Progress, at: float) -> None:
        """Record one progress line that arrived at `at`: its row, then its event."""
        values = {} if self._clock_is_set else self._set_clock(at - progress.t)
        length = progress.t - (self.stage_samples[-1].t if self.stage_samples else 0.0)
        self.stage_samples.append(progress)
        self.requested_rate.end_interval(progress.t)
        if self.stage_began_s:
            progress = replace(progress, t=round(progress.t + self.stage_began_s, 3))
        if self.log_follower:
            self._zero = min(self._zero, at - progress.t)
            transactions = (progress.tps or 0.0) * length
            progress = replace(progress, **self.log_follower.end_interval(self._zero + progress.t, transactions))
        self.samples.append(progress)
        row = Sample(run=self.run, attempt=self.run.attempt, seq=self._next_seq(), **_sample_columns(progress))
        self.sample_seqs.append(row.seq)
        if self.log_follower and self.log_follower.intervals.is_complete and self.run.parent_id is not None:
            self._publish_latencies(self.log_follower, row.seq, self.log_follower.intervals.last)
        if self._beginning_unknown:
            self._observations = [observation for observation in self._observations if observation.at >= self.began]
            self._beginning_unknown = False
        self._write_rows(values, row)

    def _set_clock(self, zero: float) -> RunColumns:
        """Set the clock of the present process to 0 at this monotonic time; the first one's clock is the run's.

        pgbench 14 and later start their clock before they connect.
        """
        self._clock_is_set = True
        if self.stage_began_s:
            self.stage_began_s = self._after_last_sample(self.t(zero))
            return {}
        self.began = zero
        return {"load_began_at": self._wall_clock(zero)}

    def _after_last_sample(self, t: float) -> float:
        """Return a time on the run's clock, which is late where the first line of the load came late."""
        return max(t, self.samples[-1].t) if self.samples else t

    def _publish_latencies(self, follower: Follower, seq: int, latencies_us: Sequence[int]) -> None:
        """Publish the latencies of a part's sample to its coordinator."""
        latency_exchange.publish(
            self.run.pk, self.run.attempt, seq, Latencies(latencies_us, follower.files.sampling_rate)
        )

    def publish_late_latencies(self) -> None:
        """Publish, at the end of a part, the latencies of the intervals whose log was not complete when they ended."""
        follower = self.log_follower
        if self.run.parent_id is None or follower is None or follower.broken:
            return
        for place, latencies_us in follower.intervals.changed_latencies().items():
            self._publish_latencies(follower, self.sample_seqs[place], latencies_us)

    def observe(self, observation: PoolObservation | ObservedFigures) -> None:
        """Buffer one observation; it is written with the next sample, `heartbeat` or `flush`."""
        self._observations.append(observation)

    def _store_observations(self) -> None:
        if self._observations and not self._beginning_unknown:
            self._write_rows({})

    def _write_rows(self, values: RunColumns, *samples: Sample) -> None:
        """Write samples and the buffered observations, then publish them."""
        rows: list[events.Row] = [*samples, *map(self._observation_row, self._observations)]
        self._observations, self._observations_stored_at = [], time.monotonic()
        self._write(values, rows)
        for row in rows:
            if isinstance(row, Observation):
                self.observed_totals.add(row)
        publisher.publish_all(self.run.pk, map(events.row_event, rows))

    def _observation_row(self, observation: PoolObservation | ObservedFigures) -> events.Row:
        place = {"run": self.run, "attempt": self.run.attempt, "seq": self._next_seq(), "t": self.t(observation.at)}
        if isinstance(observation, PoolObservation):
            return PoolSample(**place, **observation.figures)
        return Observation(**place, kind=observation.kind, figures=observation.figures)

    def line(self, stream: str, text: str) -> None:
        """Keep a line of output, within the cap."""
        self.output.add(stream, text)

    def log(self, text: str, at: float) -> None:
        """Publish a line to live viewers, unless too many came in this second."""
        if int(at) != self._log_second:
            self._log_second, self._log_lines = int(at), 0
        self._log_lines += 1
        if self._log_lines <= LOG_LINES_A_SECOND:
            self._publish("log", {"t": self.t(at), "line": text})

    def heartbeat(self) -> None:
        """Write observations that no sample came for, renew the lease and send the output, where due."""
        if self.log_follower:
            self.log_follower.read()
        now = time.monotonic()
        if now - self._observations_stored_at >= OBSERVATIONS_WAIT_S:
            self._store_observations()
        if now - self._written_at >= RENEW_S:
            self._write({})
        if now - self._flushed_at >= FLUSH_S:
            self.flush()

    def flush(self) -> None:
        """Send the observations and the output that the database lacks."""
        self._store_observations()
        self._flushed_at = time.monotonic()
        if self._unsent.since is not None:
            return
        news = self.output.pop_unsent()
        if not news:
            return
        try:
            self._send_output(news)
        except AWAY as error:
            self.output.requeue(news)
            self._unsent.note(error)

    def _send_output(self, news: dict[str, str]) -> None:
        with transaction.atomic():
            self.run.write()
            RunOutput.objects.get_or_create(run=self.run)
            added = {stream: Concat(F(stream), Value(text), output_field=TextField()) for stream, text in news.items()}
            RunOutput.objects.filter(run=self.run).update(truncated=self.output.truncated, **added)

    def retry_until_available(self, action: Callable[[], T]) -> T:
        """Return the result of what is safe to repeat, once the metadata database is there."""
        return retry_until_available(action)

    def wait_for_database(self) -> None:
        """Wait until the metadata database is back, and renew the lease there; raises `Fenced`."""
        close_connection()
        self.write_pending()

    def write_pending(self) -> None:
        """Write all that the database lacks; wait for it where it is away."""
        retry_until_available(self._send_unsent)
        self.flush()

    def cancel_requested(self) -> bool:
        """Test whether somebody asked for the end of the run, and note the rate that somebody asked for."""
        if not self._unsent.may_try:
            return False
        try:
            found = list(self._requested.all())  # a new query, whose rows were not read yet
        except AWAY as error:
            self._unsent.note(error)
            return False
        for _is_ended, rate, stage in found:
            if rate is not None and self.requested_rate.receive(rate, stage or 1):
                self.note_missed_rate()
        return any(is_ended for is_ended, _rate, _stage in found)

    def note_missed_rate(self) -> None:
        """Say that the load did not take the rate that was asked for."""
        text = _("(the rate was not changed to %(rate)s/s: the stage ended first)")
        if not (rate := self.requested_rate.rate):
            text = _("(the limit of the rate was not lifted: the stage ended first)")
        self.line("stderr", text % {"rate": f"{rate:,.10g}"})
        self.log(text % {"rate": f"{rate:,.10g}"}, time.monotonic())

    def change_options(self, options: RunOptions) -> None:
        """Note that the load goes on with these options, which have the rate that was asked for."""
        self.run.options = options
        self.state(options=options)

    @cached_property
    def _requested(self) -> QuerySet[Run, tuple[bool, float | None, int | None]]:
        """The run where its end or another rate was asked for, as (whether it is to end, the rate, its stage).

        It is built once, since it is read a few times a second.
        """
        cancelled = Q(cancel_requested_at__isnull=False)
        if self.run.parent_id is not None:  # a part ends with its whole, for whatever reason that ended
            cancelled |= Q(parent__status__in=FINAL)
        asked = self.run.current_attempt().filter(cancelled | Q(requested_rate__isnull=False))
        return asked.annotate(is_ended=Case(When(cancelled, then=True), default=False)).values_list(
            "is_ended", "requested_rate", "requested_rate_stage"
        )

    def _write(self, values: RunColumns, rows: Sequence[events.Row] = ()) -> None:
        self._unsent.values |= values
        self._unsent.rows += rows
        if not self._unsent.may_try:
            return
        try:
            self._send_unsent()
        except AWAY as error:
            self._unsent.note(error)

    def _send_unsent(self) -> None:
        rows, again = self._unsent.rows, self._unsent.since is not None
        with transaction.atomic():
            self.run.write(**self._unsent.values)
            # `again`: rows of a commit whose answer was lost exist already
            samples, pool_samples = _rows_of(rows, Sample), _rows_of(rows, PoolSample)
            Sample.objects.bulk_create(samples, ignore_conflicts=again)
            PoolSample.objects.bulk_create(pool_samples, ignore_conflicts=again)
            Observation.objects.bulk_create(_rows_of(rows, Observation), ignore_conflicts=again)
        self._unsent.clear()
        self._written_at = time.monotonic()

    def _next_seq(self) -> int:
        self._seq += 1
        return self._seq

    def _publish(self, name: str, payload: Mapping[str, object]) -> None:
        self._send(name, self._next_seq(), payload)

    def _send(self, name: str, seq: int, payload: Mapping[str, object]) -> None:
        publisher.publish(self.run.pk, name, events.event_id(self.run.attempt, seq), payload)


def _rows_of(rows: Sequence[events.Row], kind: type[events.AnyRow]) -> list[events.AnyRow]:
    return [row for row in rows if isinstance(row, kind)]


def _sample_columns(progress: Progress) -> events.Figures:
    columns: events.Figures = {name: getattr(progress, name) for name in events.SAMPLE_FIELDS}
    return columns | {"failed": progress.failed or 0}
