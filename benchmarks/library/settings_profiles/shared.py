"""Settings that stay in force between the runs of an experiment: arms that need the same ones share one restart.

Only what needs a restart stays. Whatever else a profile sets is taken back after each run, as it costs a reload only.
"""

from collections.abc import Mapping

from django.db import transaction
from django.utils import timezone

from benchmarks.library.settings_profiles import apply
from benchmarks.models import AppliedProfile, Experiment, Run
from core.lib.polling import poll
from pools.clusters import connect
from pools.errors import ClusterUnreachable
from pools.models import Cluster

UP_AGAIN_WITHIN_S = 30.0  # a caller waits so long for a server that the panel restarts; PostgreSQL takes 1 to 5 s


def stays(row: AppliedProfile) -> bool:
    """Return whether it stays for the next run of its experiment, which takes it over or back."""
    measuring = Experiment.objects.measuring().filter(runs=row.run_id)
    return row.restarted and measuring.exists()


def take_over(run: Run, cluster: Cluster, values: Mapping[str, str]) -> AppliedProfile | None:
    """Adopt the settings that an earlier run of the experiment left in force; None where those differ.

    Then it is taken back, so that the settings wanted now can be put in force.
    """
    row = _left_by(run, cluster)
    if row is None:
        return None
    if dict(row.values) != dict(values) or not apply.follows(cluster, values):
        apply.take_back(row)
        return None
    with transaction.atomic():
        AppliedProfile.objects.filter(pk=row.pk).update(restored_at=timezone.now())
        kept = {"values": row.values, "before": row.before, "restarted": True}
        return AppliedProfile.objects.create(run=run, cluster=cluster, **kept)


def end_before(run: Run) -> None:
    """Take back what an earlier run of the experiment left in force, before a run that has no profile."""
    if run.cluster and (row := _left_by(run, run.cluster)):
        apply.take_back(row)


def end_of(experiment: Experiment) -> list[str]:
    """Take back all that its runs left in force; return why something could not be, in sentences."""
    profiles = AppliedProfile.objects.filter(run__experiment=experiment, restored_at=None).select_related(
        "cluster", "run"
    )
    return [row.error for row in profiles if not apply.take_back(row)]


def is_up_again(cluster: Cluster) -> bool:
    """Wait for a server that does not answer because the panel restarts it; False where that is not why, or too long.

    A run asked for meanwhile waits this way, instead of being refused.
    """
    if not AppliedProfile.objects.filter(cluster=cluster, restored_at=None, restarted=True).exists():
        return False
    return poll(lambda: _answers(cluster), UP_AGAIN_WITHIN_S)


def _answers(cluster: Cluster) -> tuple[bool, bool]:
    try:
        connect.connect(cluster, application_name=apply.APPLICATION_NAME).close()
    except ClusterUnreachable:
        return False, False
    return True, True


def _left_by(run: Run, cluster: Cluster) -> AppliedProfile | None:
    rows = AppliedProfile.objects.filter(cluster=cluster, restored_at=None, run__experiment=run.experiment_id)
    return rows.exclude(run=run).select_related("run", "cluster").first() if run.experiment_id else None
