"""Validity of a run's figures: rules over its output and options, each with its reason as a sentence; pure.

A load program prints a plausible rate after most failures (pgbench a `tps =` line), so the rules check exit code,
aborts, time and counts together.
"""

import signal
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from benchmarks.engines.base import Output, ProgramTerms, Progress
from benchmarks.models import Purpose, Validity
from benchmarks.models.options import RunOptions

TIME_REACHED = 0.98  # share of the duration; the last transactions and the clock may take the rest
BUSIER = 1.10  # times the clients is impossible; published runs of pgbench 9.6 to 18 keep within 1.01
# Where a smaller share of the clients was busy, something other than the server delayed them. Slow
# transactions keep 0.97 and more busy with 5 clients a thread; 0.87 was measured with 10 a thread and 0.74 with 50
# (15.18 and 18.4 on two busy cores).
BUSY_SHARE, BUSY_SHARE_OF_CROWDED_THREADS, CROWDED = 0.85, 0.70, 5
# Between two transactions a client waits while its thread serves the others: 3 to 8 µs for each of them, 18 µs with a
# hundred on two cores (15.18). That is much beside transactions of 0.1 ms, and still no fault (0.83 with 5 a thread).
TURN_MS, BUSY_SHARE_BETWEEN_TURNS = 0.05, 0.60
FEW = 10  # transactions of a client
OVERRUN_SHARE, OVERRUN_S = 1.10, 1.0
LATENCY_STEP_MS = 0.001  # pgbench rounds latencies to this
FAILED_SHARE = SKIPPED_SHARE = 0.01
RATE_KEPT = 0.95
LATE_MS = 1_000.0
# load that must remain, as a share of the duration and in seconds, once all clients have connected; in a load of a
# second or so, such as a short stage, another share
LEAST_LOAD_SHARE, LEAST_LOAD_S, LEAST_SHARE_OF_SHORT = 0.25, 1.0, 0.75
ERROR_CHARACTERS = 200


@dataclass(frozen=True, slots=True)
class Evidence:
    """Output, options and progress of a run; `exit_code` is None for an imported output."""

    output: Output
    options: RunOptions
    exit_code: int | None
    progress: Sequence[Progress]

    @property
    def terms(self) -> ProgramTerms:
        return self.output.terms

    def figure(self, name: str) -> float | None:
        """Return a number of the summary; None where it was not printed or was a NaN."""
        value = self.output.summary.get(name)
        return value if isinstance(value, int | float) else None

    @property
    def clients(self) -> float | None:
        """The requested number of clients."""
        return self.options.get("clients") or self.figure("clients")

    @property
    def duration_s(self) -> float | None:
        """The duration asked for; None where a number of transactions was asked for instead."""
        return self.options.get("duration") or self.figure("duration_s")

    @property
    def interval_s(self) -> float | None:
        """The progress interval; for an import, the median distance of its lines."""
        between = [later.t - earlier.t for earlier, later in pairwise(self.progress)]
        return self.options.get("progress") or (median(between) if between else None)

    @property
    def connecting_s(self) -> float:
        """The time in which all clients connected before the load (pgbench 14 and later print it)."""
        return (self.figure("initial_connection_ms") or 0.0) / 1000

    @property
    def elapsed_s(self) -> float | None:
        """The program's running time, connecting included: its count of transactions over the rate that it printed."""
        rate = self.figure("tps_including_connections") or self.figure("tps")
        transactions = self.figure("transactions")
        return transactions / rate + self.connecting_s if rate and transactions else None


Rule = Callable[[Evidence], Iterator[str]]


def judge(
    output: Output,
    *,
    options: RunOptions,
    exit_code: int | None = None,
    purpose: str = Purpose.LOAD,
    progress: Sequence[Progress] | None = None,
    doubts: Sequence[str] = (),
) -> tuple[Validity, list[str]]:
    """Return the validity of a run and the reasons for it; a valid run has none.

    `progress` are the samples as received (default: those in the output, which may have been capped). An imported
    output has no `options` and no exit code; rules that need them are skipped. `doubts` are reasons that the output
    can't show: faults of the set-up around the load.
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
    words = {"program": run.terms.program, "code": run.exit_code, "signal": _signal_name(-run.exit_code)}
    text = _("%(program)s was ended by %(signal)s") if run.exit_code < 0 else _("%(program)s exited with code %(code)s")
    yield _with_error(text % words, "" if run.output.aborted else _first_error(run.output))


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return _("signal %(number)s") % {"number": number}


def _first_error(output: Output) -> str:
    return output.errors[0].strip()[:ERROR_CHARACTERS] if output.errors else ""


def _with_error(sentence: str, error: str) -> str:
    """Add the program's own error message to a sentence about it."""
    return _("%(sentence)s: %(error)s") % {"sentence": sentence, "error": error} if error else sentence


def _aborted(run: Evidence) -> Iterator[str]:
    if gave_up := len(run.output.aborted_clients):
        text = run.terms.workers.aborted_of_all if run.clients else run.terms.workers.aborted
        words = {"aborted": f"{gave_up:,}", "all": f"{run.clients or 0:,}"}
        yield _with_error(text % words, _first_error(run.output))
    elif run.output.aborted:
        yield _("the run was aborted: its figures cover only the time before")


def _no_summary(run: Evidence) -> Iterator[str]:
    if not run.output.has_summary:
        text = _("%(program)s printed no summary; progress lines received: %(count)s")
        words = {"program": run.terms.program, "count": f"{len(run.progress):,}"}
        stated = run.exit_code or run.output.aborted  # another reason carries the error already
        yield _with_error(text % words, "" if stated else _first_error(run.output))


def _nothing_done(run: Evidence) -> Iterator[str]:
    if run.figure("transactions") != 0:
        return
    duration_s, failed = run.duration_s, run.figure("failed")
    if failed:
        yield _with_error(run.terms.units.all_failed % {"failed": f"{failed:,}"}, _first_error(run.output))
    elif duration_s and run.progress and run.progress[0].t >= duration_s:
        yield run.terms.workers.only_connected % {"duration": f"{duration_s:,}"}
    else:
        yield str(run.terms.units.none_done)


def _ended_early(run: Evidence) -> Iterator[str]:
    duration_s, elapsed = run.duration_s, run.elapsed_s
    # Under -R the last start may come some intervals of the schedule before the end.
    rate = run.options.get("rate")
    slack = run.terms.slow_start_s + (0.1 + 5 / rate if rate else 0.1)
    if duration_s and elapsed is not None and elapsed < duration_s * TIME_REACHED - slack:
        yield _("the load lasted %(elapsed)s s of %(asked)s s") % {
            "elapsed": f"{elapsed:,.1f}",
            "asked": f"{duration_s:,}",
        }


def _transactions_missing(run: Evidence) -> Iterator[str]:
    expected, processed = run.figure("transactions_expected"), run.figure("transactions")
    if not expected or not processed:
        return
    accounted = processed + (run.figure("failed") or 0) + (run.figure("skipped") or 0)
    if accounted < expected:
        yield run.terms.units.missing % {"done": f"{accounted:,.0f}", "expected": f"{expected:,.0f}"}


def _many_failed(run: Evidence) -> Iterator[str]:
    failed, processed = run.figure("failed") or 0, run.figure("transactions") or 0
    if failed <= FAILED_SHARE * (failed + processed):
        return
    total = failed + processed
    words = {"failed": f"{failed:,}", "all": f"{total:,}", "share": f"{failed / total:.1%}"}
    # pgbench counts failures without a message; programs that count errors by kind print the first of each
    if processed and run.output.summary.get("errors") and (error := _first_error(run.output)):
        yield run.terms.units.failed_with_error % (words | {"error": error})
    else:
        yield run.terms.units.failed % words


def _many_skipped(run: Evidence) -> Iterator[str]:
    skipped, processed = run.figure("skipped") or 0, run.figure("transactions") or 0
    if skipped > SKIPPED_SHARE * (skipped + processed):
        numbers = {"skipped": f"{skipped:,}", "share": f"{skipped / (skipped + processed):.1%}"}
        yield run.terms.units.skipped % numbers


def _overloaded(run: Evidence) -> Iterator[str]:
    lag_ms, tps, rate = run.figure("lag_avg_ms"), run.figure("tps"), run.options.get("rate")
    if rate and tps is not None and _is_below(rate, tps, run):
        text = run.terms.units.overloaded_and_skipped if run.figure("skipped") else run.terms.units.overloaded
        yield text % {"tps": f"{tps:,.1f}", "rate": f"{rate:,.1f}"}
    elif lag_ms is not None and lag_ms > LATE_MS:
        yield run.terms.units.started_late % {"lag": f"{lag_ms / 1000:,.1f}"}


def _is_below(rate: float, tps: float, run: Evidence) -> bool:
    """Test whether the rate was missed by more than the random draw of starts explains: three standard deviations."""
    starts = rate * (run.duration_s or run.elapsed_s or 1)
    return bool(tps < rate * (RATE_KEPT - 3 / starts**0.5))


def _ended_late(run: Evidence) -> Iterator[str]:
    duration_s, elapsed = run.duration_s, run.elapsed_s
    if duration_s and elapsed is not None and elapsed > duration_s * OVERRUN_SHARE + OVERRUN_S:
        yield run.terms.units.ended_late % {"elapsed": f"{elapsed:,.1f}", "asked": f"{duration_s:,}"}


def _busier_than_possible(run: Evidence) -> Iterator[str]:
    """Apply Little's law: rate × time in the system = busy clients, and no client has two transactions at once."""
    busy, clients, latency_ms = run.figure("effective_clients"), run.clients, run.figure("latency_avg_ms")
    if busy and clients and latency_ms and busy > clients * (BUSIER + LATENCY_STEP_MS / latency_ms):
        yield run.terms.workers.too_busy % {"busy": f"{busy:,.1f}", "all": f"{clients:,}"}


def _idle_clients(run: Evidence) -> Iterator[str]:
    """Apply the same law as a lower bound, where a client has nothing to do but its next transaction.

    Under -R a client waits for its start, under -C for its turn (a thread makes one connection at a time). No program
    prints the time of failed transactions or of aborted clients: a failed one may have kept one client busy all the
    time, and not more. In a run of few transactions, its beginning and end are most of its time.
    """
    if (counted := run.options.get("transactions") or run.figure("transactions_per_client")) and counted < FEW:
        return
    busy, clients = run.figure("effective_clients"), run.clients
    reconnects = run.options.get("connect") or run.figure("average_connection_ms") is not None
    scheduled = run.figure("lag_avg_ms") is not None or bool(run.options.get("rate"))
    if busy is None or not clients or reconnects or scheduled or run.output.aborted:
        return
    if busy + (run.figure("failed") or 0) < clients * _least_busy_share(run, clients, busy):
        names = {"program": run.terms.program, "remedy": run.terms.busier}
        yield run.terms.workers.idle % (names | {"busy": f"{busy:,.1f}", "all": f"{clients:,}"})


def _least_busy_share(run: Evidence, clients: float, busy: float) -> float:
    """Return the share of clients that must be busy: less where the others only wait for their thread's turn."""
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
            text = _("no progress for %(gap)s s after t = %(t)s s; it was due every %(interval)s s")
            gap = {"gap": f"{later.t - earlier.t:,.1f}", "t": f"{earlier.t:,.1f}"}
            yield text % (gap | {"interval": f"{interval:g}"})


def _silent_ends(run: Evidence) -> Iterator[str]:
    interval, duration_s = run.interval_s, run.duration_s
    if not interval or not duration_s or not run.progress:
        return
    first, last = run.progress[0].t, run.progress[-1].t
    if first > run.connecting_s + 1.5 * interval + 0.5 + interval:
        text = _("the first progress came after %(first)s s; it was due every %(interval)s s")
        yield text % {"first": f"{first:,.1f}", "interval": f"{interval:g}"}
    if duration_s - last > 2.5 * interval + 0.5:  # a program may leave the last line out
        yield _("progress ended at t = %(last)s s of %(asked)s s") % {
            "last": f"{last:,.1f}",
            "asked": f"{duration_s:,}",
        }


def _stalls(run: Evidence) -> Iterator[str]:
    busy = [sample for sample in run.progress if sample.tps is not None and sample.lag_ms is None]
    begun = next((index for index, sample in enumerate(busy) if sample.tps), 0)
    still = sum(sample.tps == 0 for sample in busy[begun:])
    slow_anyway = (run.figure("latency_avg_ms") or 0) / 1000 > (run.interval_s or 0)
    if still and not slow_anyway:
        yield run.terms.units.stalled % {"still": f"{still:,}", "all": f"{len(busy):,}"}


def _connecting_took_long(run: Evidence) -> Iterator[str]:
    """Doubt a load of which connecting left little: its figures leave that time out, so that some of it does no harm.

    pgbench 14 and later take the rate from the moment when all clients are connected ("without initial connection
    time"), and end at the duration all the same.
    """
    if not run.duration_s or not run.connecting_s:
        return
    least_s = max(LEAST_LOAD_SHARE * run.duration_s, min(LEAST_LOAD_S, LEAST_SHARE_OF_SHORT * run.duration_s))
    if run.duration_s - run.connecting_s < least_s:
        text = _("connecting took %(connecting)s s of %(duration)s s: too short a load was left")
        yield text % {"connecting": f"{run.connecting_s:,.1f}", "duration": f"{run.duration_s:,}"}


def _not_prepared(run: Evidence) -> Iterator[str]:
    if run.output.prepared:
        return
    if rows := run.output.prepared_rows:
        yield ngettext(
            "the dataset was not finished after %(rows)s row", "the dataset was not finished after %(rows)s rows", rows
        ) % {"rows": f"{rows:,}"}
    else:
        yield _("the dataset was not finished")


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
