"""Ending a run before its time."""

from benchmarks import live
from benchmarks.models import Run


def cancel(run: Run) -> None:
    """Ask for its end: a queued run ends now and its watchers hear so, an active one ends when its worker sees it."""
    if run.request_cancel():
        live.publish_end(run)
