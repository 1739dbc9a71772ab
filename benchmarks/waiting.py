"""What a queued run waits for, and for about how long."""

from dataclasses import dataclass

from django.db.models import Q
from django.utils import timezone

from benchmarks.models import ACTIVE, Run, Status


@dataclass(frozen=True)
class Waiting:
    """The run that goes first, how many come before this one, and the seconds left of it (None: not known)."""

    run: Run
    ahead: int
    left_s: float | None


def waits_for(run: Run) -> Waiting | None:
    """Why a queued run has not started; None when nothing stands before it but a free generator's next look."""
    if run.status != Status.QUEUED:
        return None
    same_place = Q(cluster=run.cluster_id) | Q(group=run.group) if run.group else Q(cluster=run.cluster_id)
    earlier = Run.objects.filter(status=Status.QUEUED, number__lt=run.number).filter(same_place)
    first = Run.objects.filter(status__in=ACTIVE).select_related("cluster").order_by("number").first()
    first = first or earlier.order_by("number").first()
    if first is None:
        return None
    return Waiting(first, earlier.count(), left_s(first))


def left_s(run: Run) -> float | None:
    """Seconds until the planned end of an active run's load, never below 0; None when no time was planned."""
    duration = run.options.get("duration")
    if run.status not in ACTIVE or not duration or run.options.get("transactions"):
        return None
    began = run.load_began_at or run.started_at
    spent = (timezone.now() - began).total_seconds() if began else 0.0
    return max(0.0, float(duration) - spent)
