"""Tasks of workers: carry a run out, reap and dispatch runs, and register generators."""

from celery import shared_task
from django.conf import settings

from benchmarks.experiments import dispatch as experiment_dispatch
from benchmarks.experiments import lifecycle
from benchmarks.generators import heartbeats, registration
from benchmarks.models import Run
from benchmarks.results import retention
from benchmarks.runs.distributed import coordinator
from benchmarks.runs.execution import reaper, runner
from benchmarks.runs.submission import dispatch, in_flight
from benchmarks.schedules import due, notices, regressions, weekly


@shared_task
def run_benchmark(run_id: str) -> None:
    """Carry out the run if this delivery is the one that claims it, then send the next that is due."""
    run = Run.objects.claim(run_id, settings.GENERATOR)
    in_flight.end(run_id)
    if run:
        coordinator.execute(run) if run.is_spread else runner.execute(run)
        # Without it, a short run's successor would wait for beat after Redis lost its memory.
        heartbeats.report_alive()
    dispatch.dispatch_due()  # of a run that was refused too: this generator is still idle
    if run and run.experiment_id:
        experiment_dispatch.request_advance()


@shared_task(expires=30)
def advance_experiments() -> None:
    """Carry the experiments on, each by its next steps."""
    lifecycle.advance_all()


@shared_task(expires=5)
def start_due_schedules() -> None:
    """Start what schedules repeat now."""
    due.start_due()


@shared_task(expires=30)
def notify_of_nights() -> None:
    """Queue notices of what nights and the last week showed, and send those that are due."""
    regressions.judge_ended_nights()
    weekly.queue_due()
    notices.send_due()


@shared_task(expires=3600)
def forget_old_runs() -> None:
    """Remove the runs that are older than their retention."""
    retention.delete_old_runs()


@shared_task(expires=20)
def reap_and_dispatch() -> None:
    """End what dead workers left, and send again what is due, since the queue may have lost it."""
    reaper.reap_when_settled()
    dispatch.dispatch_due()


@shared_task
def register_generator() -> None:
    """Register this worker; each sends itself this task when it starts."""
    registration.register()


@shared_task
def describe_generator() -> None:
    """Update this worker's record of its engines, files and round trips."""
    registration.describe()


@shared_task
def ask_generators() -> None:
    """Ask every live worker to update its record."""
    dispatch.ask_generators()
