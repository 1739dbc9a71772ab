"""How the stages of a load ended: the figures of each, and what can be said of all of them together.

The whole has the sums of counts, and means over all transactions. It has no interval of its mean: the samples are those
of different loads.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import cast

from django.utils.translation import gettext as _

from benchmarks.analysis import validity
from benchmarks.analysis.latency import store
from benchmarks.analysis.latency.intervals import Figures
from benchmarks.engines import engine
from benchmarks.engines.base import Output, Progress
from benchmarks.models import LatencyHistogram, Run, Status, Validity
from benchmarks.models.columns import EndColumns
from benchmarks.models.options import RunOptions
from benchmarks.models.summaries import StageSummary, Summary, with_figures
from benchmarks.runs import setup
from benchmarks.runs.execution import ending
from benchmarks.runs.execution.ending import EndState, RateChanged, Stopped, incomplete
from benchmarks.runs.execution.recorder import Recorder

COUNTS = (
    *("transactions", "failed", "serialization_failures", "deadlock_failures", "other_failures"),
    *("retried", "retries", "skipped", "above_latency_limit", "above_latency_limit_of"),
)
MEANS = ("latency_avg_ms", "lag_avg_ms")


@dataclass(frozen=True)
class StageLog:
    """What the log of a stage adds to its run: a histogram, which is not saved, and percentiles of samples by number.

    `is_whole` is False where it was read in part; then it has no histogram.
    """

    histogram: LatencyHistogram | None = None
    is_whole: bool = True
    corrections: Mapping[int, Figures] = field(default_factory=dict)
    figures: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class StageResult:
    """A stage that ended: its figures, and whether they are reliable."""

    status: Status
    error: str
    exit_code: int
    validity: Validity
    reasons: Sequence[str]
    output: Output
    figures: StageSummary
    log: StageLog


def asked_of(options: RunOptions, began_s: float) -> StageSummary:
    """Return a stage without figures: what was asked for, and when it began."""
    asked = StageSummary(
        clients=options.get("clients") or 0, duration_s=options.get("duration") or 0, began_s=round(began_s, 3)
    )
    if rate := options.get("rate"):
        asked["rate"] = rate
    return asked


def so_far(done: Sequence[StageResult], options: RunOptions, began_s: float) -> Summary:
    """Return the run's summary while a stage with these options goes on."""
    return {"stages": [*(one.figures for one in done), asked_of(options, began_s)]}


def result_of(recorder: Recorder, options: RunOptions, exit_code: int, stop: Stopped | None) -> StageResult:
    """Return the result of the stage that ended last."""
    output = engine(recorder.run.engine).read_output(*map(recorder.output.of_stage, ("stdout", "stderr")))
    status, error = _status_of(recorder, output, exit_code, stop)
    log, asked = _log_of(recorder), asked_of(options, recorder.stage_began_s)
    if isinstance(stop, RateChanged):  # the panel ended it: it is judged as one of this duration, by its intervals
        asked["duration_s"] = max(1, round(recorder.stage_samples[-1].t))
        output = replace(output, summary=of_intervals(recorder.stage_samples))
        lasted: RunOptions = {**options, "duration": asked["duration_s"]}
        judged, reasons = validity.judge(output, options=lasted, progress=recorder.stage_samples)
    else:
        judged, reasons = validity.judge(output, options=options, exit_code=exit_code, progress=recorder.stage_samples)
    shown = store.as_shown(with_figures(output.summary, log.figures)) if output.summary else {}
    figures = cast("StageSummary", {**shown, **asked, "status": status.value})
    if error:
        figures["error"] = error
    return StageResult(status, error, exit_code, judged, reasons, output, figures, log)


def of_intervals(samples: Sequence[Progress]) -> Summary:
    """Return the figures of a stage that was ended before its program could print them; pure.

    The means are weighted by the transactions of each interval.
    """
    lengths = [now.t - before for now, before in zip(samples, [0.0, *(one.t for one in samples)], strict=False)]
    counts = [(one.tps or 0.0) * length for one, length in zip(samples, lengths, strict=True)]
    transactions = sum(counts)
    found: dict[str, float] = {"transactions": round(transactions), "tps": round(transactions / samples[-1].t, 6)}
    if all(one.failed is not None for one in samples):
        found["failed"] = sum(one.failed or 0 for one in samples)
    for name, values in (
        ("latency_avg_ms", [one.latency_ms for one in samples]),
        ("lag_avg_ms", [one.lag_ms for one in samples]),
    ):
        weighed = [(value, count) for value, count in zip(values, counts, strict=True) if value is not None]
        if weighed and (weights := sum(count for _value, count in weighed)):
            found[name] = round(sum(value * count for value, count in weighed) / weights, 3)
    return cast("Summary", found)


def _log_of(recorder: Recorder) -> StageLog:
    if (follower := recorder.log_follower) is None:
        return StageLog()
    if follower.broken:
        return StageLog(is_whole=False)
    intervals = follower.intervals
    seqs = recorder.sample_seqs[len(recorder.sample_seqs) - len(recorder.stage_samples) :]
    corrections = {seqs[place]: values for place, values in intervals.changed().items() if values}
    if not intervals.whole.count:
        return StageLog(corrections=corrections)
    rate, encoded = follower.files.sampling_rate, intervals.whole.encoded()
    found = LatencyHistogram(encoded=encoded, count=intervals.whole.count, sampling_rate=rate)
    figures = store.figures_of(intervals, scheduled=follower.files.scheduled)
    return StageLog(found, corrections=corrections, figures=figures)


def _status_of(recorder: Recorder, output: Output, exit_code: int, stop: Stopped | None) -> tuple[Status, str]:
    if stop is not None:
        return stop.status, str(stop)
    if exit_code == 0 and output.has_summary and not output.aborted:
        return Status.SUCCEEDED, ""
    errors = output.errors or ending.last_message(recorder.output.of_stage("stderr"))
    return Status.FAILED, ending.why(recorder.run, errors, exit_code)


def ending_of(run: Run, recorder: Recorder, done: Sequence[StageResult], stop: Stopped | None) -> EndState:
    """Return the ending of a load with stages; `stop` is why it was stopped, maybe between two of them."""
    asked, last = len(run.options["stages"]), done[-1]
    observed = recorder.observed_totals.summary()
    columns: EndColumns = {
        "exit_code": last.exit_code,
        "summary": _summary(run, done, is_whole=stop is None and last.status == Status.SUCCEEDED),
        "client_version": last.output.client_version or run.client_version,
        "server_version": run.server_version or last.output.server_version,
        "conditions": {**run.conditions, "meanwhile": observed},
    }
    if stop is not None:
        return incomplete(stop.status, _of_stage(len(done), asked, str(stop)), columns)
    contended = recorder.observed_totals.doubts()
    reasons = [_of_stage(number, asked, reason) for number, one in enumerate(done, 1) for reason in one.reasons]
    doubts = [*setup.unreliable_because(run.conditions), *contended]
    judged = _validity_of(done, doubts)
    columns |= {"validity": judged, "reasons": [*reasons, *doubts, *recorder.observed_totals.warnings(run)]}
    if last.status == Status.SUCCEEDED:
        return EndState(Status.SUCCEEDED, columns)
    return EndState(Status.FAILED, columns | {"error": _of_stage(len(done), asked, last.error)})


def _validity_of(done: Sequence[StageResult], doubts: Sequence[str]) -> Validity:
    """Return the validity of a run: that of its worst stage."""
    found = {one.validity for one in done} | ({Validity.SUSPECT} if doubts else set())
    return next((one for one in (Validity.INCOMPLETE, Validity.SUSPECT) if one in found), Validity.VALID)


def _of_stage(number: int, asked: int, sentence: str) -> str:
    return _("stage %(number)s of %(asked)s: %(sentence)s") % {"number": number, "asked": asked, "sentence": sentence}


def _summary(run: Run, done: Sequence[StageResult], *, is_whole: bool) -> Summary:
    """Return the figures of each stage and, where all ended well, of the whole; the histogram is stored."""
    logs = [one.log for one in done]
    store.correct_samples(run, {seq: values for one in logs for seq, values in one.corrections.items()})
    kept = [one.histogram for one in logs if one.histogram] if all(one.is_whole for one in logs) else []
    logged = store.keep_merged(run, kept) if kept else {}
    figures = [one.figures for one in done]
    whole = store.as_shown(with_figures(totals_of(figures), logged)) if is_whole else Summary()
    return {**whole, "stages": figures}


def totals_of(figures: Sequence[StageSummary]) -> Summary:
    """Return the figures of all stages together: counts summed, and means weighted by transactions; pure.

    The throughput is all transactions over the time of all stages, without that between them.
    """
    found: dict[str, float] = {name: sum(counts) for name in COUNTS if (counts := _of_all(figures, name))}
    transactions = found.get("transactions", 0)
    seconds = sum(map(_seconds_of, figures))
    if seconds:
        found["tps"] = round(transactions / seconds, 6)
    weights = _of_all(figures, "transactions")
    for name in MEANS:
        if transactions and (values := _of_all(figures, name)):
            weighted = sum(value * weight for value, weight in zip(values, weights, strict=True))
            found[name] = round(weighted / transactions, 3)
    if "failed" in found and (tried := transactions + found["failed"]):
        found["failed_percent"] = round(100 * found["failed"] / tried, 3)
    return cast("Summary", found)


def _of_all(figures: Sequence[StageSummary], name: str) -> list[float]:
    """Return a figure of each stage; none where a stage lacks it."""
    values = [value for one in figures if isinstance(value := one.get(name), int | float)]
    return values if len(values) == len(figures) else []


def _seconds_of(stage: StageSummary) -> float:
    """Return the time of a stage without that of its connecting, as pgbench counts it for its rate."""
    transactions, tps = stage.get("transactions"), stage.get("tps")
    return transactions / tps if transactions and tps else float(stage["duration_s"])
