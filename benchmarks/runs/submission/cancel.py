"""Ending a run before its time."""

from benchmarks.models import FINAL, Run
from benchmarks.runs.live import publisher


def cancel(run: Run) -> None:
    """Ask for its end: a queued run ends now and its watchers hear so, an active one ends when its worker sees it.

    A part ends with the whole that it belongs to, and the other way round.
    """
    whole = run.parent or run
    if whole.request_cancel():
        publisher.publish_end(whole)
    if run.parent is not None:
        run.refresh_from_db()


def end_parts_left(wholes: list[Run]) -> None:
    """Ask the parts of runs that have ended to end too; one that nobody carries out ends now."""
    for part in Run.objects.filter(parent__in=wholes).exclude(status__in=FINAL):
        if part.request_cancel():
            publisher.publish_end(part)
