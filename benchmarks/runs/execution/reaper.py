"""Ends what a dead worker left: runs whose lease ran out, their sessions on the server, their folders on this host.

A worker may hang, or be cut off from the metadata database, while its load goes on: such a run is kept.
"""

import logging
import time
from contextlib import suppress
from datetime import datetime
from pathlib import Path

from django.db.models.functions import Now
from django.utils.translation import gettext as _

from benchmarks.errors import QueueDown
from benchmarks.generators.heartbeats import asking_redis
from benchmarks.library.settings_profiles import apply, shared
from benchmarks.models import FINAL, AppliedProfile, Purpose, Run, Status, Validity
from benchmarks.models.runs import LEASE
from benchmarks.processes import workdir
from benchmarks.runs.execution import runner
from benchmarks.runs.execution.outages import AWAY
from benchmarks.runs.execution.recorder import RENEW_S
from benchmarks.runs.live import publisher
from benchmarks.runs.submission import cancel
from benchmarks.targets import partial_datasets, sessions

log = logging.getLogger(__name__)

PAUSED_KEY = "pooldeck:reaper:rests"
CHECK_EVERY_S = 5.0  # between two looks of the reaper
SLOW_S = 3.0  # A query for a handful of rows that takes longer means that the database hung.
OLD_S = 3 * 86_400.0  # the longest run takes a day
# A worker that died did so this long before its lease ran out, and its load died with it; some of that is left for a
# late renewal. What its sessions began later is of a load that goes on.
DIED_BEFORE_S = LEASE.total_seconds() - RENEW_S - 2.0


def reap_when_settled() -> list[Run]:
    """Reap, unless the database was away within the last lease time: live workers first renew their leases."""
    begun = time.monotonic()
    try:
        Run.objects.expired().exists()
    except AWAY:
        pause()
        raise
    if time.monotonic() - begun > SLOW_S:
        pause()
    with asking_redis() as client:
        if client.exists(PAUSED_KEY):
            return []
    return reap()


def pause() -> None:
    """Reap nothing for a lease's time: the metadata database was away, and live workers first renew their leases."""
    with suppress(QueueDown), asking_redis() as client:  # without Redis nothing is reaped either
        client.set(PAUSED_KEY, "the metadata database was away", ex=round(LEASE.total_seconds()))


def reap() -> list[Run]:
    """End the lost runs and return them; their samples stay, their sessions are ended and viewers are notified."""
    expired = Run.objects.expired().select_related("cluster", "pool").annotate(asked_at=Now())
    silent = [run for run in expired if not is_kept(run, run.asked_at)]  # type: ignore[attr-defined]  # annotated
    lost = [run for run in silent if _end_lost_run(run)]
    cancel.cancel_parts_of([run for run in lost if run.is_spread])
    for run in lost:
        log.warning("run %s: %s", run.pk, run.error)
        publisher.publish_end(run)
        sessions.terminate(run)
        _report_leftovers(run)
    remove_stale_homes()
    restore_settings()
    return lost


def is_kept(run: Run, now: datetime) -> bool:
    """Test whether the load of an expired run goes on, and may: its worker hangs or is cut off, and may come back.

    Its server is asked, see `sessions.goes_on`. `now` is by the metadata database's clock.
    """
    if run.status != Status.RUNNING or run.cancel_requested_at or run.lease_until is None:
        return False
    silent_s = (now - run.lease_until).total_seconds()
    if silent_s > runner.allowed_s(run):
        return False
    load_goes_on = sessions.goes_on(run, within_s=min(silent_s, CHECK_EVERY_S) + DIED_BEFORE_S)
    if load_goes_on:
        log.warning("run %s: its worker is silent, and its load goes on: it is kept", run.pk)
    return load_goes_on


def _end_lost_run(run: Run) -> bool:
    reasons, error = [_("the worker was lost before the load ended")], _why_lost(run)
    if run.is_unclaimed_part:
        reasons = [_("its generator never started it")]
        text = _("generator %(generator)s never started it: see whether its worker runs")
        error = text % {"generator": run.generator}
    return run.mark_lost(validity=Validity.INCOMPLETE, reasons=reasons, error=error)


def _why_lost(run: Run) -> str:
    until = f"{run.lease_until:%H:%M:%S %Z}" if run.lease_until else "?"
    words = {"generator": run.generator or "?", "time": until}
    if run.purpose == Purpose.PREPARE:
        text = _(
            "its worker on generator %(generator)s was lost: its lease ran out at %(time)s without being renewed "
            "(killed, hung, or cut off from the panel's database)"
        )
    elif run.is_spread:
        text = _(
            "the worker that coordinated it was lost: its lease ran out at %(time)s without being renewed (killed, "
            "hung, or cut off from the panel's database); figures are those until then"
        )
    else:
        text = _(
            "its worker on generator %(generator)s was lost: its lease ran out at %(time)s without being renewed "
            "(killed, hung, or cut off from the panel's database); figures are those until then"
        )
    return text % words


def _report_leftovers(run: Run) -> None:
    """Add to a lost preparation's error what it left, which is marked as the panel's."""
    if run.purpose == Purpose.PREPARE and (leftovers := partial_datasets.leave(run)):
        run.error = f"{run.error}; {leftovers}"
        run.save(update_fields=["error"])


def remove_stale_homes() -> None:
    """Remove this host's folders of ended attempts, and those too old for any run."""
    for owner, folder in workdir.left_homes().items():
        run_id, _, attempt = owner.partition("-")
        run = Run.objects.filter(pk=run_id).first()
        ended = run.is_final or run.attempt > int(attempt) if run else _is_old(folder)
        if ended:
            log.info("run %s: the folder its worker left is removed", run_id)
            workdir.remove_home(folder)


def restore_settings() -> None:
    """Restore the server settings of ended runs that did not do so themselves, but what an experiment keeps."""
    for row in AppliedProfile.objects.filter(restored_at=None, run__status__in=FINAL).select_related("cluster", "run"):
        if not shared.stays(row):
            apply.take_back(row)


def _is_old(folder: Path) -> bool:
    with suppress(FileNotFoundError):  # its worker was quicker
        return time.time() - folder.stat().st_mtime > OLD_S
    return False
