"""How a load ended: the reasons to end it early, and the final state with the columns that go with it."""

import re
from dataclasses import dataclass, field

from django.utils.translation import gettext as _

from benchmarks.analysis import validity
from benchmarks.analysis.latency import store
from benchmarks.engines import engine
from benchmarks.engines.base import Output
from benchmarks.models import Purpose, Run, Status, Validity
from benchmarks.models.columns import EndColumns
from benchmarks.models.summaries import Summary, with_figures
from benchmarks.runs import setup
from benchmarks.runs.execution.recorder import Recorder
from benchmarks.targets import datasets, partial_datasets

# A message of a program after its name, such as `bwrap: Can't find …`; neither a progress line nor the server's
# message.
MESSAGE = re.compile(r"\s*(?!progress:|pgbench:)[a-z./][\w./-]*: \S")


class Stopped(Exception):
    """The load must end early."""

    status: Status


class Cancelled(Stopped):
    """Somebody cancelled the run."""

    status = Status.CANCELLED


class DeadlinePassed(Stopped):
    """The load far exceeded its planned time."""

    status = Status.TIMED_OUT


class WorkerStopped(Stopped):
    """The worker was asked to stop, and the time that its runs had to end is over."""

    status = Status.LOST  # as if it was killed, but with its reason and all its figures; experiments try again


class ThresholdMissed(Stopped):
    """A threshold that ends the run was missed for as long as it allows."""

    status = Status.FAILED


class RateChanged(Stopped):
    """The load goes on at another rate, in another process; 0: without a limit."""

    status = Status.SUCCEEDED

    def __init__(self, rate: float) -> None:
        super().__init__()
        self.rate = rate


class HostLost(Stopped):
    """The connection to the host that ran the load was lost."""

    status = Status.FAILED


@dataclass(frozen=True)
class EndState:
    """A final state and the columns that go with it."""

    status: Status
    values: EndColumns = field(default_factory=EndColumns)


def incomplete(status: Status, error: str, columns: EndColumns | None = None) -> EndState:
    """Return the ending of a run that failed or was stopped before its load finished."""
    return EndState(status, {**(columns or {}), "error": error, "validity": Validity.INCOMPLETE, "reasons": [error]})


def of_load(run: Run, recorder: Recorder, exit_code: int, stop: Stopped | None) -> EndState:
    """Return the ending of a load, from the exit code and its output."""
    output = engine(run.engine).read_output(recorder.output.text_of("stdout"), recorder.output.text_of("stderr"))
    observed = recorder.observed_totals.summary()
    columns: EndColumns = {
        "exit_code": exit_code,
        "summary": _summary(run, recorder, output),
        "statements": output.statements,
        "client_version": output.client_version or run.client_version,  # Some programs don't print it.
        "server_version": run.server_version or output.server_version,
        "conditions": {**run.conditions, "meanwhile": observed},
    }
    if stop is not None:
        return incomplete(stop.status, with_leftovers(run, str(stop)), columns)
    contended = recorder.observed_totals.doubts()
    judged, reasons = validity.judge(
        output,
        options=run.options,
        exit_code=exit_code,
        purpose=run.purpose,
        progress=recorder.samples,
        doubts=[*setup.unreliable_because(run.conditions), *contended],
    )
    if contended and reasons == contended:  # an experiment may keep it: see benchmarks.analysis.blocks
        observed["only_contended"] = True
    columns |= {"validity": judged, "reasons": [*reasons, *recorder.observed_totals.warnings(run)]}
    if run.purpose == Purpose.PREPARE and exit_code == 0:
        datasets.keep(run)
        recorder.state(progress_percent=100.0)
        return EndState(Status.SUCCEEDED, columns)
    if exit_code == 0 and output.has_summary and not output.aborted:
        return EndState(Status.SUCCEEDED, columns)
    errors = output.errors or last_message(recorder.output.text_of("stderr"))
    return EndState(Status.FAILED, columns | {"error": with_leftovers(run, why(run, errors, exit_code))})


def _summary(run: Run, recorder: Recorder, output: Output) -> Summary:
    """Return the printed figures with the percentiles of the log or of a printed histogram, which are stored."""
    summary = output.summary
    if len(output.scripts) > 1:
        summary = {**summary, "scripts": output.scripts}
    if recorder.log_follower:
        logged = store.keep(run, recorder.log_follower, recorder.sample_seqs)
        recorder.publish_late_latencies()
        summary = with_figures(summary, logged) if output.summary else {}  # none of a load that was broken off
    if output.latencies:
        run.write()  # raises where the attempt is another's by now
        summary = {**with_figures({}, store.keep_printed(run, output.latencies)), **summary}
    return store.as_shown(summary)


def with_leftovers(run: Run, error: str) -> str:
    """Add to the error of a broken-off preparation what it left of the tables."""
    leftovers = partial_datasets.leave(run) if run.purpose == Purpose.PREPARE else ""
    return f"{error}; {leftovers}" if leftovers else error


def last_message(stderr: str) -> list[str]:
    """Return the last message on stderr of a program by name, where the load program's own errors have none.

    A sandbox, a wrapper or the dynamic linker ends before the load program says anything (`bwrap: Can't …`).
    """
    messages = [line.strip() for line in stderr.splitlines() if MESSAGE.match(line)]
    return messages[-1:]


def why(run: Run, errors: list[str], exit_code: int) -> str:
    """Return the program's first error, else how it ended."""
    if len(errors) > 1:
        text = _("%(error)s (the first of %(count)s such lines, see the log)")
        return text % {"error": errors[0], "count": len(errors)}
    if errors:
        return errors[0]
    words = {"program": run.engine, "code": exit_code, "signal": -exit_code}
    if exit_code >= 0:
        return _("%(program)s ended with exit code %(code)s and printed no reason") % words
    if cause := engine(run.engine).terms.silent_end:
        text = _("%(program)s was ended by signal %(signal)s and printed no reason: %(cause)s")
        return text % (words | {"cause": cause})
    return _("%(program)s was ended by signal %(signal)s and printed no reason") % words
