"""Ends what a dead worker left behind: runs whose lease ran out, their sessions on the server, their folders here."""

import logging

from benchmarks import live, process, sessions
from benchmarks.models import Run, Validity

log = logging.getLogger(__name__)


def reap() -> list[Run]:
    """The runs that were found lost; their samples stay, their sessions are ended and watchers are told."""
    lost = [run for run in Run.objects.expired().select_related("cluster", "pool") if _lose(run)]
    for run in lost:
        log.warning("run %s: %s", run.pk, run.error)
        live.publish_end(run)
        sessions.terminate(run)
    remove_left_homes()
    return lost


def _lose(run: Run) -> bool:
    since = f"{run.lease_until:%H:%M:%S %Z}" if run.lease_until else "its start"
    error = (
        f"its worker on generator {run.generator or '?'} was lost: it renewed its lease until {since} and then no "
        "more (killed, or cut off from the panel's database); figures are those until then"
    )
    return run.lose(error=error, validity=Validity.INCOMPLETE, reasons=["the worker was lost before the load ended"])


def remove_left_homes() -> None:
    """Remove this host's folders of attempts that have ended; those of another panel's runs are not ours to judge."""
    for owner, folder in process.left_homes().items():
        run_id, _, attempt = owner.partition("-")
        run = Run.objects.filter(pk=run_id).first()
        if run is not None and (run.is_final or run.attempt > int(attempt)):
            log.info("run %s: the folder its worker left is removed", run.pk)
            process.remove_home(folder)
