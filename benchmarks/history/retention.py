"""Forgets runs that are older than they are to be kept; a baseline and what it is measured by stay."""

import logging
from datetime import timedelta

from django.conf import settings
from django.utils import timezone

from benchmarks.models import FINAL, Run

log = logging.getLogger(__name__)

AT_ONCE = 50  # a run may have 100,000 rows, and other writers wait for SQLite meanwhile


def forget_old() -> int:
    """Remove runs that ended more than POOLDECK_RUN_DAYS ago, with all their rows; how many were removed.

    0 days keeps all. A run over several generators goes with its parts, never without them.
    """
    if not settings.RUN_DAYS:
        return 0
    before = timezone.now() - timedelta(days=settings.RUN_DAYS)
    old = Run.objects.filter(status__in=FINAL, finished_at__lt=before, parent=None, is_baseline=False).order_by(
        "number"
    )
    removed = 0
    while found := list(old.values_list("pk", flat=True)[:AT_ONCE]):
        Run.objects.filter(pk__in=found).delete()
        removed += len(found)
    if removed:
        log.info("%d runs that ended before %s were removed", removed, before.isoformat(timespec="minutes"))
    return removed
