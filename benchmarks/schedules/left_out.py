"""The nights that no trend has, each with the reason."""

from collections.abc import Sequence
from dataclasses import dataclass

from django.utils.translation import gettext as _

from benchmarks.models import Run, ScheduledStart, StartState


@dataclass(frozen=True)
class LeftOut:
    """A due time without a figure, and why it has none."""

    start: ScheduledStart
    reason: str


def why(start: ScheduledStart, runs: Sequence[Run]) -> str:
    """Return why no figure of a start is in the trend; empty while it is not known yet.

    Figures of runs that are not valid are left out, since a load that was disturbed would look like a change.
    """
    if start.state == StartState.MISSED:
        return _("Missed: %(reason)s") % {"reason": start.reason}
    if start.state == StartState.CLAIMED or not all(run.is_final for run in runs):
        return ""
    if not runs:
        return _("Its run was removed.")
    return "; ".join(map(_of_run, runs))


def _of_run(run: Run) -> str:
    """Return the verdict on a run, with its first reason."""
    verdict = run.get_validity_display() or run.get_status_display()
    reason = next(iter([*run.reasons, run.error]), "") or _("it has no figure that a trend shows")
    return _("%(run)s is %(verdict)s: %(reason)s") % {"run": run, "verdict": verdict, "reason": reason}
