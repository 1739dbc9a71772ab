"""Deletes runs that are older than the retention period; baselines stay, and what schedules repeat."""

import logging
from datetime import timedelta
from uuid import UUID

from django.conf import settings
from django.db.models import Q
from django.utils import timezone

from benchmarks.models import FINAL, Observation, PoolSample, Run, Sample

log = logging.getLogger(__name__)

AT_ONCE, ROWS_AT_ONCE = 10, 5_000  # a day-long run has 500,000 rows, and a delete blocks other SQLite writers


def delete_old_runs() -> int:
    """Delete runs that ended more than POOLDECK_RUN_DAYS days ago, with all their rows; return their number.

    0 days keeps all runs. A distributed run is deleted together with its parts.
    """
    if not settings.RUN_DAYS:
        return 0
    before = timezone.now() - timedelta(days=settings.RUN_DAYS)
    ended = Run.objects.filter(status__in=FINAL, finished_at__lt=before, parent=None)
    old = ended.filter(is_baseline=False, schedules=None).order_by("number")
    removed = 0
    while found := list(old.values_list("pk", flat=True)[:AT_ONCE]):
        for run_id in Run.objects.filter(Q(pk__in=found) | Q(parent__in=found)).values_list("pk", flat=True):
            _remove_most_rows(run_id)
        Run.objects.filter(pk__in=found).delete()
        removed += len(found)
    if removed:
        log.info("%d runs that ended before %s were removed", removed, before.isoformat(timespec="minutes"))
    return removed


def _remove_most_rows(run_id: UUID) -> None:
    """Delete most samples and observations in separately committed steps; the last rows go with the run."""
    for rows in (Sample, PoolSample, Observation):
        its = rows.objects.filter(run=run_id).order_by("pk")
        while (next_key := its.values_list("pk", flat=True)[ROWS_AT_ONCE : ROWS_AT_ONCE + 1].first()) is not None:
            its.filter(pk__lt=next_key).delete()
