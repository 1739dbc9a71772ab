"""What workers do for runs: carry one out, and look after all of them every few seconds."""

from celery import shared_task
from django.conf import settings

from benchmarks import dispatching, reaping, runner
from benchmarks.models import Run


@shared_task
def run_benchmark(run_id: str) -> None:
    """Carry out the run if this delivery is the one that claims it, then send the next that is due."""
    if run := Run.objects.claim(run_id, settings.GENERATOR):
        runner.execute(run)
        dispatching.dispatch_due()


@shared_task(expires=20)
def reap_and_dispatch() -> None:
    """End what dead workers left, and send again what is due: the queue may have lost it."""
    reaping.reap()
    dispatching.dispatch_due()
