"""Cancels runs."""

from benchmarks.models import FINAL, Run
from benchmarks.runs.live import publisher


def cancel(run: Run) -> None:
    """Cancel a run: a queued one ends now and viewers are notified, an active one ends at its worker's next check.

    A part ends with its whole, and the whole with its part.
    """
    coordinated = run.parent or run
    if coordinated.request_cancel():
        publisher.publish_end(coordinated)
    if run.parent is not None:
        run.refresh_from_db()


def cancel_parts_of(runs: list[Run]) -> None:
    """Cancel the parts of runs that have ended; one that nobody carries out ends now."""
    for part in Run.objects.filter(parent__in=runs).exclude(status__in=FINAL):
        if part.request_cancel():
            publisher.publish_end(part)
