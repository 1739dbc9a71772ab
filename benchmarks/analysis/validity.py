"""Whether a run's figures may be compared: rules over what is known of it, each with its reason in a sentence; pure.

A load program prints a plausible rate after most failures (pgbench a `tps =` line), so exit code, aborts, time and
counts are judged together.
"""

import signal
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median
from typing import Any

from benchmarks.engines.base import Output, ProgramTerms, Progress
from benchmarks.models import Purpose, Validity

TIME_REACHED = 0.98  # of the duration; the rest is the last transactions' and the clock's
BUSIER = 1.10  # than there are clients can't be; published runs of pgbench 9.6 to 18 keep within 1.01
# Below this share of the clients something else held them up. Slow transactions keep 0.97 and more at work with 5
# clients a thread; with 10 a thread 0.87 was measured and with 50 a thread 0.74 (15.18 and 18.4 on two busy cores).
BUSY_SHARE, BUSY_SHARE_OF_CROWDED_THREADS, CROWDED = 0.85, 0.70, 5
# Between two transactions a client waits while its thread serves the others: 3 to 8 µs for each of them, 18 µs with a
# hundred on two cores (15.18). Beside transactions of 0.1 ms that is much, and yet no fault (0.83 with 5 a thread).
TURN_MS, BUSY_SHARE_BETWEEN_TURNS = 0.05, 0.60
FEW = 10  # transactions of a client
OVERRUN_SHARE, OVERRUN_S = 1.10, 1.0
LATENCY_STEP_MS = 0.001  # what pgbench rounds a latency to
FAILED_SHARE = SKIPPED_SHARE = 0.01
RATE_KEPT = 0.95
LATE_MS = 1_000.0
CONNECTING_SHARE = 0.10
ERROR_CHARACTERS = 200


@dataclass(frozen=True, slots=True)
class Evidence:
    """All that is known of a run; `exit_code` is None for an imported output."""

    output: Output
    options: dict[str, Any]
    exit_code: int | None
    progress: Sequence[Progress]

    @property
    def terms(self) -> ProgramTerms:
        """How its program is spoken of."""
        return self.output.terms

    def figure(self, name: str) -> float | None:
        """A number of the summary; None where it was not printed or was a NaN."""
        value = self.output.summary.get(name)
        return value if isinstance(value, int | float) else None

    @property
    def clients(self) -> float | None:
        """How many were asked for."""
        return self.options.get("clients") or self.figure("clients")

    @property
    def duration_s(self) -> float | None:
        """How long the load was asked to last; None where transactions were counted instead."""
        return self.options.get("duration") or self.figure("duration_s")

    @property
    def interval_s(self) -> float | None:
        """The progress interval; of an import what most of its lines keep to."""
        between = [later.t - earlier.t for earlier, later in pairwise(self.progress)]
        return self.options.get("progress") or (median(between) if between else None)

    @property
    def connecting_s(self) -> float:
        """How long the clients took to connect before the load (14 and later print it)."""
        return (self.figure("initial_connection_ms") or 0.0) / 1000

    @property
    def elapsed_s(self) -> float | None:
        """How long the program worked, connecting included: what it counted over the rate it printed."""
        rate = self.figure("tps_including_connections") or self.figure("tps")
        transactions = self.figure("transactions")
        return transactions / rate + self.connecting_s if rate and transactions else None


Rule = Callable[[Evidence], Iterator[str]]


def judge(
    output: Output,
    *,
    options: dict[str, Any],
    exit_code: int | None = None,
    purpose: str = Purpose.LOAD,
    progress: Sequence[Progress] | None = None,
    doubts: Sequence[str] = (),
) -> tuple[Validity, list[str]]:
    """The verdict and its reasons; `valid` has none.

    `progress` are the samples as they were received (by default those in the output, which may have been capped);
    `options` of an import is empty, its exit code None: what can't be known is not held against it. `doubts` are those
    that the program can't tell of: what went wrong around the load.
    """
    evidence = Evidence(output, options, exit_code, output.samples if progress is None else progress)
    incomplete, suspect = (_DATASET_RULES, ()) if purpose == Purpose.PREPARE else (_INCOMPLETE_RULES, _SUSPECT_RULES)
    broken = [reason for rule in incomplete for reason in rule(evidence)]
    doubts = [*(reason for rule in suspect for reason in rule(evidence)), *doubts]
    if broken:
        return Validity.INCOMPLETE, broken + doubts
    return (Validity.SUSPECT if doubts else Validity.VALID), doubts


def _ended_badly(run: Evidence) -> Iterator[str]:
    if run.exit_code is None or run.exit_code == 0:
        return
    how = f"was ended by {_signal_name(-run.exit_code)}" if run.exit_code < 0 else f"left with code {run.exit_code}"
    error = "" if run.output.aborted else _first_error(run.output)
    yield f"{run.terms.program} {how}{error}"


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _first_error(output: Output) -> str:
    return f": {output.errors[0].strip()[:ERROR_CHARACTERS]}" if output.errors else ""


def _counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def _aborted(run: Evidence) -> Iterator[str]:
    gave_up = len(run.output.aborted_clients)
    if gave_up:
        worker = run.terms.worker
        of_all = f"{gave_up:,} of {run.clients:,} {worker}s" if run.clients else _counted(gave_up, worker)
        yield f"{of_all} aborted, so fewer than asked for made these figures{_first_error(run.output)}"
    elif run.output.aborted:
        yield "the run was aborted: its figures cover only the time before"


def _no_summary(run: Evidence) -> Iterator[str]:
    if not run.output.has_summary:
        lines = _counted(len(run.progress), run.terms.interval)
        error = "" if run.exit_code or run.output.aborted else _first_error(run.output)  # told there already
        yield f"{run.terms.program} printed no summary, only {lines}{error}"


def _nothing_done(run: Evidence) -> Iterator[str]:
    if run.figure("transactions") != 0:
        return
    asked, failed = run.duration_s, run.figure("failed")
    if failed:
        yield f"no {run.terms.unit} was processed, {failed:,} failed{_first_error(run.output)}"
    elif asked and run.progress and run.progress[0].t >= asked:
        yield (
            f"no {run.terms.unit} was processed: connecting took the whole {asked:,} s; "
            f"use fewer {run.terms.worker}s or a longer time"
        )
    else:
        yield f"no {run.terms.unit} was processed"


def _ended_early(run: Evidence) -> Iterator[str]:
    asked, elapsed = run.duration_s, run.elapsed_s
    # under -R the last start may lie before the end by some intervals of the schedule
    slack = run.terms.slow_start_s + (0.1 + 5 / run.options["rate"] if run.options.get("rate") else 0.1)
    if asked and elapsed is not None and elapsed < asked * TIME_REACHED - slack:
        yield f"the load lasted {elapsed:,.1f} s of {asked:,} s"


def _transactions_missing(run: Evidence) -> Iterator[str]:
    expected, processed = run.figure("transactions_expected"), run.figure("transactions")
    if not expected or not processed:
        return
    accounted = processed + (run.figure("failed") or 0) + (run.figure("skipped") or 0)
    if accounted < expected:
        yield f"{accounted:,.0f} of {expected:,.0f} {run.terms.unit}s were done"


def _many_failed(run: Evidence) -> Iterator[str]:
    failed, processed = run.figure("failed") or 0, run.figure("transactions") or 0
    if failed > FAILED_SHARE * (failed + processed):
        total = failed + processed
        # pgbench counts failures without a word; where there are kinds of errors, the first of each was told in words
        why = _first_error(run.output) if processed and run.output.summary.get("errors") else ""
        share = f"{failed / total:.1%}"
        yield f"{failed:,} of {total:,} {run.terms.unit}s failed ({share}){why}; tps counts only the others"


def _many_skipped(run: Evidence) -> Iterator[str]:
    skipped, processed = run.figure("skipped") or 0, run.figure("transactions") or 0
    if skipped > SKIPPED_SHARE * (skipped + processed):
        share = skipped / (skipped + processed)
        late = f"{skipped:,} {run.terms.unit}s ({share:.1%}) were skipped as too late"
        yield f"{late}: the rate is beyond what was reached"


def _overloaded(run: Evidence) -> Iterator[str]:
    lag_ms, tps, rate = run.figure("lag_avg_ms"), run.figure("tps"), run.options.get("rate")
    if rate and tps is not None:
        starts = rate * (run.duration_s or run.elapsed_s or 1)
        if tps < rate * (RATE_KEPT - 3 / starts**0.5):  # starts are drawn at random: three deviations aside
            outcome = "and what was late was skipped" if run.figure("skipped") else "so latency grew with time"
            yield f"overloaded: {tps:,.1f} of {rate:,.1f} {run.terms.unit}s/s were reached, {outcome}"
            return
    if lag_ms is not None and lag_ms > LATE_MS:
        yield f"overloaded: {run.terms.unit}s started {lag_ms / 1000:,.1f} s late on average, so latency grew with time"


def _ended_late(run: Evidence) -> Iterator[str]:
    asked, elapsed = run.duration_s, run.elapsed_s
    if asked and elapsed is not None and elapsed > asked * OVERRUN_SHARE + OVERRUN_S:
        yield f"the load lasted {elapsed:,.1f} s instead of {asked:,} s: some {run.terms.unit}s did not end in time"


def _busier_than_possible(run: Evidence) -> Iterator[str]:
    """Little's law: rate × time in the system = clients at work, and no client has two transactions at once."""
    busy, clients, latency_ms = run.figure("effective_clients"), run.clients, run.figure("latency_avg_ms")
    if busy and clients and latency_ms and busy > clients * (BUSIER + LATENCY_STEP_MS / latency_ms):
        yield f"tps × latency gives {busy:,.1f} {run.terms.worker}s at work, more than the {clients:,} there were"


def _idle_clients(run: Evidence) -> Iterator[str]:
    """The same law from below, where a client has nothing else to do than its next transaction.

    Under -R it waits for its start, under -C for its turn (a thread makes one connection at a time); what the time
    of failed transactions or of aborted clients was, no program says. In a run of a few transactions its beginning
    and end are most of the time.
    """
    if (counted := run.options.get("transactions") or run.figure("transactions_per_client")) and counted < FEW:
        return
    busy, clients = run.figure("effective_clients"), run.clients
    reconnects = run.options.get("connect") or run.figure("average_connection_ms") is not None
    scheduled = run.figure("lag_avg_ms") is not None or bool(run.options.get("rate"))
    if busy is None or not clients or reconnects or scheduled or run.figure("failed") or run.output.aborted:
        return
    if busy < clients * _least_busy_share(run, clients, busy):
        yield (
            f"tps × latency gives only {busy:,.1f} of {clients:,} {run.terms.worker}s at work: "
            f"{run.terms.program} itself was the bottleneck ({run.terms.busier}), or some {run.terms.worker}s hung"
        )


def _least_busy_share(run: Evidence, clients: float, busy: float) -> float:
    """The share of the clients that has to be at work: less where the others but wait for their thread's turn."""
    a_thread, tps = clients / (run.options.get("threads") or run.figure("threads") or 1), run.figure("tps")
    if tps and (clients - busy) / tps * 1000 <= TURN_MS * a_thread:
        return BUSY_SHARE_BETWEEN_TURNS
    return BUSY_SHARE_OF_CROWDED_THREADS if a_thread > CROWDED else BUSY_SHARE


def _gaps(run: Evidence) -> Iterator[str]:
    interval = run.interval_s
    if not interval:
        return
    for earlier, later in pairwise(run.progress):
        if later.t - earlier.t > 1.5 * interval + 0.5:
            yield (
                f"nothing was heard for {later.t - earlier.t:,.1f} s after t = {earlier.t:,.1f} s; "
                f"progress was due every {interval:g} s"
            )


def _silent_ends(run: Evidence) -> Iterator[str]:
    interval, asked = run.interval_s, run.duration_s
    if not interval or not asked or not run.progress:
        return
    first, last = run.progress[0].t, run.progress[-1].t
    if first > run.connecting_s + 1.5 * interval + 0.5 + interval:
        yield f"the first progress came after {first:,.1f} s; it was due every {interval:g} s"
    if asked - last > 2.5 * interval + 0.5:  # a program may leave the last line out
        yield f"progress ended at t = {last:,.1f} s of {asked:,} s"


def _stalls(run: Evidence) -> Iterator[str]:
    busy = [sample for sample in run.progress if sample.tps is not None and sample.lag_ms is None]
    begun = next((index for index, sample in enumerate(busy) if sample.tps), 0)
    still = sum(sample.tps == 0 for sample in busy[begun:])
    slow_anyway = (run.figure("latency_avg_ms") or 0) / 1000 > (run.interval_s or 0)
    if still and not slow_anyway:
        yield f"in {still:,} of {len(busy):,} progress intervals no {run.terms.unit} ended"


def _connecting_took_long(run: Evidence) -> Iterator[str]:
    if run.duration_s and run.connecting_s > CONNECTING_SHARE * run.duration_s:
        yield f"connecting took {run.connecting_s:,.1f} s of {run.duration_s:,} s: the load was that much shorter"


def _not_prepared(run: Evidence) -> Iterator[str]:
    if not run.output.prepared:
        rows = f" after {run.output.prepared_rows:,} rows" if run.output.prepared_rows else ""
        yield f"the dataset was not finished{rows}"


_DATASET_RULES: tuple[Rule, ...] = (_ended_badly, _not_prepared)
_INCOMPLETE_RULES: tuple[Rule, ...] = (
    _ended_badly,
    _aborted,
    _no_summary,
    _nothing_done,
    _ended_early,
    _transactions_missing,
)
_SUSPECT_RULES: tuple[Rule, ...] = (
    _many_failed,
    _many_skipped,
    _overloaded,
    _ended_late,
    _busier_than_possible,
    _idle_clients,
    _gaps,
    _silent_ends,
    _stalls,
    _connecting_took_long,
)
