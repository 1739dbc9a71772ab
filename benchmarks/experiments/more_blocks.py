"""Measures more blocks of an experiment: one that goes on gets a longer plan, one that has ended is set up again."""

from django.db import transaction
from django.utils.translation import gettext as _

from benchmarks.errors import IllegalTransition
from benchmarks.experiments import dispatch, library, order, start
from benchmarks.experiments.advice import sweep
from benchmarks.experiments.start import MOST_REPEATS, InvalidExperiment
from benchmarks.models import Experiment, ExperimentState, Phase
from benchmarks.models.columns import ExperimentColumns
from benchmarks.runs.submission.submit import require_queue


def measure_more(experiment: Experiment, blocks: int, confirm: str = "", *, is_admin: bool) -> None:
    """Have so many blocks more measured, whatever is decided before them; what was measured stays.

    Somebody who asks for more has seen the figures: from then on the intervals are always-valid ones, which hold
    however often they are looked at. `is_admin` is whether that person holds the scope admin: the runs have no more
    rights than both who started it and who asks for more. Raises `InvalidExperiment`, `NotAllowed`,
    `IllegalTransition`, `Unconfirmed` and `QueueDown`.
    """
    if not 1 <= blocks <= MOST_REPEATS:
        message = _("%(value)s is out of range: use 1 to %(most)s") % {"value": blocks, "most": MOST_REPEATS}
        raise InvalidExperiment({"blocks": [message]})
    cluster, arms = experiment.cluster, start.arms_of(experiment)
    library.refuse_settings(arms, is_admin=is_admin)
    if cluster is not None and cluster.protected and confirm != cluster.name:
        existing = experiment.advice.get("existing")
        raise start.unconfirmed(cluster, start.changes(library.spec_of(experiment), arms, cluster, existing))
    require_queue()
    with transaction.atomic():
        locked = Experiment.objects.select_for_update().get(pk=experiment.pk)
        if why := refusal(locked):
            raise IllegalTransition(why)
        if locked.has_ended:
            locked.resources.all().delete()  # they are removed, and made again under the same names
        columns = _longer_plan(locked, [arm.key for arm in arms], blocks)
        columns["by_admin"] = locked.by_admin and is_admin
        locked.write(**columns)
        transaction.on_commit(dispatch.request_advance)
    experiment.refresh_from_db()


def refusal(experiment: Experiment) -> str:
    """Return why no more blocks can be measured now; empty where they can."""
    values = {"experiment": experiment, "cluster": experiment.cluster_name}
    if sweep.expected_clients(experiment) is not None:
        return _("%(experiment)s swept sizes, not blocks: ask again with more minutes") % values
    if experiment.cluster is None:
        return _("cluster %(cluster)s was removed: there is nothing left to measure") % values
    if _is_removing(experiment):
        return _("%(experiment)s is removing what it made: ask for more blocks once that is done") % values
    return ""


def _is_removing(experiment: Experiment) -> bool:
    if experiment.has_ended:
        return experiment.resources.filter(removed_at=None).exists()
    return experiment.phase == Phase.TEARDOWN or experiment.cancel_requested_at is not None


def _longer_plan(experiment: Experiment, arms: list[str], blocks: int) -> ExperimentColumns:
    """Return the columns of an experiment with so many blocks more.

    Those that one with a budget had left are counted among them. A block that was cut short is not made up for: its
    arms would be measured at different times.
    """
    width, planned = len(experiment.plan[0]), len(experiment.plan)
    begun = -(-experiment.step // width)
    if not experiment.has_ended:
        blocks_in_all = (max(begun, experiment.wanted_blocks) if experiment.budget else planned) + blocks
        return {**_plan(experiment, arms, max(blocks_in_all, planned)), "wanted_blocks": blocks_in_all}
    return {
        **_plan(experiment, arms, begun + blocks),
        "wanted_blocks": begun + blocks,
        "step": begun * width,
        "state": ExperimentState.QUEUED,
        "phase": Phase.SETUP,
        "outcome": "",
        "reasons": [],
        "cancel_requested_at": None,
        "finished_at": None,
    }


def _plan(experiment: Experiment, arms: list[str], total: int) -> ExperimentColumns:
    return {"plan": order.longer(experiment.plan, arms, total, experiment.seed), "repeats": total}
