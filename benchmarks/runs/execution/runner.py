"""Carries a claimed run to its final state: starts the program, records its output, ends it when it must end."""

import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from queue import Empty, Queue

from django.conf import settings
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from benchmarks.analysis.latency import sampling, store
from benchmarks.engines import engine
from benchmarks.errors import Fenced
from benchmarks.generators import machines
from benchmarks.library.scripts import dry_run, privileges, sampled
from benchmarks.models import Purpose, Run, Status
from benchmarks.models.options import RunOptions
from benchmarks.processes.command import ROOT_CERTIFICATE, Command
from benchmarks.processes.machines import Load, Machine
from benchmarks.processes.process import QUEUED_EVENTS, Line, StreamEnd, drain
from benchmarks.runs import observers, setup
from benchmarks.runs.execution import early_end, ending, stages, synchronized_start, worker_shutdown
from benchmarks.runs.execution.ending import (
    Cancelled,
    DeadlinePassed,
    EndState,
    HostLost,
    RateChanged,
    Stopped,
    ThresholdMissed,
    WorkerStopped,
    incomplete,
    with_leftovers,
)
from benchmarks.runs.execution.outages import AWAY, retry_until_available
from benchmarks.runs.execution.recorder import Recorder
from benchmarks.runs.execution.stages import StageResult
from benchmarks.runs.live import publisher
from benchmarks.runs.observers import probes
from benchmarks.runs.observers.base import LoadContext, ObservedFigures
from benchmarks.runs.observers.pool import PoolObservation
from benchmarks.runs.observers.probes import ServerProbe
from benchmarks.runs.setup.base import SetupContext
from benchmarks.targets import datasets, partial_datasets, resolve, sessions
from benchmarks.targets import server_version as versions
from core.lib.crypto import SealBroken
from core.lib.errors import DomainError
from pools.clusters import connect, login_errors
from pools.clusters.endpoints import Endpoint

log = logging.getLogger(__name__)
CHECK_S = 0.4  # longest delay until a cancel is noticed
VERSION_CHARACTERS = 200
HELD_PIPES_S = 5.0  # time after the program's end for other processes that still hold its pipes
TRANSACTIONS_CEILING_S = 6 * 3600.0
MOST_PREPARATIONS = 5  # where the metadata database goes away before the load begins
PREPARING_S, PREPARED_BYTES_A_SECOND = 600.0, 1_600_000  # a slow disk's, keys and vacuum included


def execute(run: Run) -> None:
    """Carry out a run that this worker claimed; it gets exactly one final state, whatever happens."""
    run_to_completion(run, _prepare_and_run)


def run_to_completion(run: Run, carry_out: Callable[[Run, Recorder], EndState]) -> None:
    """Conduct a run, and set the final state that it reached or that its failure means."""
    recorder = Recorder(run)
    try:
        end_state = carry_out(run, recorder)
    except Fenced as error:
        log.warning("run %s: %s; its load was ended and nothing more is written", run.pk, error)
        return
    except Stopped as stop:
        end_state = _broken_off(run, stop.status, str(stop))
    except (DomainError, SealBroken, OSError) as error:
        end_state = _broken_off(run, Status.FAILED, str(error))
    except Exception as error:
        log.exception("run %s ended by an error of the panel", run.pk)
        text = _("the panel failed (%(error)s): see the worker's log") % {"error": type(error).__name__}
        end_state = incomplete(Status.FAILED, text)
    if retry_until_available(lambda: run.finish(end_state.status, **end_state.values)):
        publisher.publish_end(run)
    log.info("run %s: %s %s", run.pk, run.status, run.error)


def _broken_off(run: Run, status: Status, error: str) -> EndState:
    return incomplete(status, retry_until_available(partial(with_leftovers, run, error)))


def _prepare_and_run(run: Run, recorder: Recorder) -> EndState:
    """Run the load; prepare it anew where the metadata database went away before it began."""
    for _preparation in range(MOST_PREPARATIONS - 1):
        try:
            return _run_load(run, recorder)
        except AWAY as error:
            if recorder.has_begun:
                raise
            log.warning("run %s: the metadata database went away, it is prepared anew: %s", run.pk, error)
            recorder.wait_for_database()
    return _run_load(run, recorder)


def _run_load(run: Run, recorder: Recorder) -> EndState:
    """Run the program to its end; raise before it starts where it can't or must not."""
    with prepared(run, recorder) as context:
        for name, text in context.command(run.options).files.items():
            context.place.put(name, text)
        if run.purpose == Purpose.PREPARE:
            context.note({"tables_before": partial_datasets.before(run)})
        with setup.steps(context), probes.opened(run) as around:
            # ping and warm-up decide how much of the load to log
            if run.options.get("stages"):
                conclude = partial(stages.ending_of, run, recorder, *_run_stages(recorder, context, around))
            else:
                options, recorder.log_follower = store.planned(run, context.place)
                ended = _run_program(recorder, context.command(options), context, around, allowed_s(run))
                conclude = partial(ending.of_load, run, recorder, *ended)
                if isinstance(ended[1], RateChanged):
                    first = stages.result_of(recorder, options, *ended)
                    _change_rate(recorder, first, 1, ended[1].rate)
                    found = _run_stages(recorder, context, around, first)
                    conclude = partial(stages.ending_of, run, recorder, *found)
    return retry_until_available(conclude)


def _run_stages(
    recorder: Recorder, context: SetupContext, around: ServerProbe, *ended_before: StageResult
) -> tuple[list[StageResult], Stopped | None]:
    """Run the stages one after the other, none after one that did not end well; return why it was stopped, if it was.

    Each has what its process needs of its own: command, log and deadline. Another rate makes more stages of them.
    """
    run, done = recorder.run, [*ended_before]
    while len(done) < len(asked_for := engine(run.engine).stages(run.options)):
        asked = asked_for[len(done)]
        try:
            context.check()
        except Stopped as early:
            if not done:
                raise
            return done, early
        options, recorder.log_follower = store.followed(run.engine, sampling.options_of(run, asked), context.place)
        so_far = stages.so_far(done, options, recorder.t(time.monotonic()) if done else 0.0)
        recorder.begin_stage(len(done) + 1, options, summary=so_far)
        ended = _run_program(recorder, context.command(options), context, around, _allowed_s(run.engine, options))
        done.append(stages.result_of(recorder, options, *ended))
        if done[-1].status != Status.SUCCEEDED:
            return done, ended[1]
        if isinstance(ended[1], RateChanged):
            _change_rate(recorder, done[-1], len(done), ended[1].rate)
    return done, None


def _change_rate(recorder: Recorder, ended: StageResult, number: int, rate: float) -> None:
    """Let the rest of the stage that was ended have the rate that was asked for."""
    run, lasted_s = recorder.run, ended.figures["duration_s"]
    recorder.change_options(engine(run.engine).with_rate(run.options, number, lasted_s, rate or None))


@contextmanager
def prepared(run: Run, recorder: Recorder) -> Iterator[SetupContext]:
    """Prepare the load: find its program and endpoint, and make a private home with the password."""
    _refuse_stopping()
    if recorder.cancel_requested():
        raise Cancelled(_("cancelled before it started"))
    recorder.state(status=Status.STARTING)
    privileges.guard_started(run)
    with machines.of_run(run) as machine, _prepared_on(machine, run, recorder) as context:
        yield context


@contextmanager
def _prepared_on(machine: Machine, run: Run, recorder: Recorder) -> Iterator[SetupContext]:
    program_engine = engine(run.engine)
    program = program_engine.find_on(machine)
    named = program.version_text.removeprefix(f"{program_engine.terms.program} ")
    recorder.state(client_version=named[:VERSION_CHARACTERS])
    if run.purpose == Purpose.PREPARE and run.cluster is not None:
        with connect.connect(run.cluster) as connection:
            versions.refuse_unmakeable(connection, run.engine, run.options, program.version)
    endpoint = resolve.endpoint_of(run)
    machines.guard_address(run, endpoint)
    endpoint = machines.pinned(machine, endpoint)
    values = sampled.drawn(run)
    without_values = sampled.mask(values)
    recorder.mask = lambda line: login_errors.program_line(without_values(line), endpoint)
    with machine.private_home(f"{run.pk.hex}-{run.attempt}", endpoint.password or "", _pem(endpoint)) as home:

        def build(options: RunOptions) -> Command:
            command = program_engine.build_command(
                sampled.with_values(options, values),
                purpose=run.purpose,
                binary=program.path,
                home=home.there,
                endpoint=_reached_from(home.there, endpoint),
                application_name=run.application_name,
                version=program.version,
            )
            return home.confine(command)

        yield SetupContext(run, endpoint, home, recorder, command=build, check=partial(_heartbeat, recorder))


def _pem(endpoint: Endpoint) -> str:
    return Path(endpoint.sslrootcert).read_text(encoding="utf-8") if endpoint.sslrootcert else ""


def _reached_from(home: Path, endpoint: Endpoint) -> Endpoint:
    """Return the same endpoint with its certificate in the private home."""
    return replace(endpoint, sslrootcert=str(home / ROOT_CERTIFICATE)) if endpoint.sslrootcert else endpoint


def _run_program(
    recorder: Recorder, command: Command, context: SetupContext, around: ServerProbe, seconds: float
) -> tuple[int, Stopped | None]:
    """Return the exit code, and why the load was stopped early (None: it was not); after so many seconds it hung."""
    run, events = recorder.run, Queue[object](QUEUED_EVENTS)
    stop: Stopped | None = None
    with _started(recorder, context, command, events) as load:
        try:
            with observers.watching(LoadContext(run, load.pid, context.place, events, around)):
                _record_until_end(load, recorder, seconds)
            if load.lost:
                raise HostLost(load.lost)
        except Stopped as early:
            stop = early
            recorder.state()  # a fresh lease for the time that stopping takes
            load.stop()
            sessions.terminate(run)
        exit_code = load.stop()
        _drain_events(load, recorder)
    if stop is None and recorder.requested_rate.is_open:
        recorder.note_missed_rate()
    recorder.write_pending()
    return exit_code, stop


@contextmanager
def _started(recorder: Recorder, context: SetupContext, command: Command, events: "Queue[object]") -> Iterator[Load]:
    """Start the program once the attempt is known to be current, and end it in any case."""
    at = _begin(recorder, context, command)
    synchronized_start.wait_until(at)
    load = context.place.start(command, events)
    try:
        synchronized_start.note_start(recorder, at)
        yield load
    finally:
        load.stop()


def _begin(recorder: Recorder, context: SetupContext, command: Command) -> float:
    """Record the start of the load, or of a later stage of it; return the monotonic time to start it at."""
    shown = command.shown or command.argv
    if recorder.has_begun:
        recorder.state(command=shown)
        return time.monotonic()
    server_version = versions.of_server(context.run)
    at = synchronized_start.await_start(recorder, context.check)
    recorder.begin(at, status=Status.RUNNING, command=shown, server_version=server_version)
    return at


def allowed_s(run: Run) -> float:
    """Return the seconds after which a run counts as hung: planned time, time for connecting, and grace.

    pgbench checks `-T` between transactions only, so a hung server outlasts it.
    """
    if run.purpose == Purpose.PREPARE:
        return PREPARING_S + datasets.tables_made(run).takes_bytes / PREPARED_BYTES_A_SECOND
    if dry_run.is_dry_run(run):
        return dry_run.LIMIT_S
    return sum(_allowed_s(run.engine, options) for options in engine(run.engine).stages(run.options))


def _allowed_s(engine_name: str, options: RunOptions) -> float:
    """Return those seconds of a load, or of one of its stages."""
    duration = options.get("duration")
    if options.get("transactions") or not duration:
        return TRANSACTIONS_CEILING_S
    starting_s: float = engine(engine_name).terms.starts_within_s
    return starting_s + 1.1 * float(duration) + 10.0 + 0.1 * float(options.get("clients") or 1)


def _record_until_end(load: Load, recorder: Recorder, seconds: float) -> None:
    """Handle events until both streams have ended; raise `Stopped` and `Fenced`."""
    open_streams = {"stdout", "stderr"}
    next_check, gone_at = time.monotonic(), None
    deadline = next_check + seconds
    while open_streams:
        try:
            event = load.events.get(timeout=max(0.0, next_check - time.monotonic()))
            record_event(event, recorder)
            open_streams -= {event.stream} if isinstance(event, StreamEnd) else set()
        except Empty:
            pass
        if (now := time.monotonic()) >= next_check:
            _check(load, recorder)
            if now > deadline and load.exit_code() is None:
                raise DeadlinePassed(_why_late(recorder.run, seconds))
            next_check = now + CHECK_S
            gone_at = gone_at or (now if load.exit_code() is not None else None)
            if gone_at and now - gone_at > HELD_PIPES_S:
                return


def _check(load: Load, recorder: Recorder) -> None:
    """Raise `Stopped` where the load is to end.

    One that has ended is in time, however long the metadata database kept this worker from hearing of it.
    """
    _heartbeat(recorder)
    if load.exit_code() is not None:
        return
    if missed := early_end.why(recorder.run.thresholds, recorder.samples):
        raise ThresholdMissed(missed)
    if (rate := recorder.requested_rate.due) is not None:
        raise RateChanged(rate)


def _why_late(run: Run, seconds: float) -> str:
    if dry_run.is_dry_run(run):
        return dry_run.why_late(run)
    text = _("it did not end within %(seconds)s s: the server or the pooler hung; figures are those until then")
    if run.purpose == Purpose.PREPARE:
        text = _("the dataset was not made within %(seconds)s s: the server hung, or its disk is very slow")
    return text % {"seconds": f"{seconds:,.0f}"}


def _heartbeat(recorder: Recorder) -> None:
    recorder.heartbeat()
    _refuse_stopping()
    if recorder.cancel_requested():
        raise Cancelled(synchronized_start.why_ended(recorder.run))


def _refuse_stopping() -> None:
    """Raise `WorkerStopped` where the time is over that this worker gives its runs to end."""
    if worker_shutdown.ends_runs():
        text = _(
            "its worker on generator %(generator)s was stopped, and the load did not end within the %(seconds)s s of "
            "POOLDECK_DRAIN_SECONDS; figures are those until then"
        )
        raise WorkerStopped(text % {"generator": settings.GENERATOR, "seconds": settings.DRAIN_SECONDS})


def record_event(event: object, recorder: Recorder) -> None:
    """Record a line of the program, or an observation."""
    match event:
        case Line(stream, printed, at):
            text = recorder.mask(printed)
            recorder.line(stream, text)
            if stream == engine(recorder.run.engine).terms.stream:
                _record_line(text, at, recorder)
        case PoolObservation() | ObservedFigures():
            recorder.observe(event)


def _record_line(text: str, at: float, recorder: Recorder) -> None:
    parsed = engine(recorder.run.engine).parse_line(text, recorder.run.options)
    if parsed.sample is not None:
        recorder.sample(parsed.sample, at - parsed.late_s)
    if parsed.percent is not None:
        recorder.progress(parsed.percent)
        _note_tables(recorder)
    if parsed.worth_reporting:
        recorder.log(text, at)


def _note_tables(recorder: Recorder) -> None:
    """Note once which tables a preparation has made, in case the server can't be asked at its end."""
    run, is_noted = recorder.run, "tables_made" in recorder.run.conditions
    if run.purpose != Purpose.PREPARE or is_noted or recorder.table_checks >= partial_datasets.MOST_CHECKS:
        return
    recorder.table_checks += 1
    if oids := partial_datasets.made(run):
        recorder.state(conditions={**run.conditions, "tables_made": oids})


def _drain_events(load: Load, recorder: Recorder) -> None:
    """Handle what arrived before the end, including the last lines of a stopped load."""
    load.join()
    for event in drain(load.events):
        record_event(event, recorder)
    if load.dropped_lines:
        text = ngettext(
            "(%(count)s line was left out: it came faster than it could be stored)",
            "(%(count)s lines were left out: they came faster than they could be stored)",
            load.dropped_lines,
        )
        recorder.line("stderr", text % {"count": load.dropped_lines})
    if recorder.log_follower:
        recorder.log_follower.close()
        if why := recorder.log_follower.broken:
            recorder.line("stderr", _("(percentiles are left out: %(why)s)") % {"why": why})
    recorder.flush()
