"""Asks a question of a pool, an entry or a cluster once more, by the very sweep that answered it before.

The sizes, clients and durations are those of that sweep, so that its answers can be compared; what the budget or the
minutes would choose now may be others.
"""

import uuid
from dataclasses import dataclass

from django.contrib.auth.models import User
from django.db import transaction
from django.utils.translation import gettext as _

from benchmarks.errors import Refused
from benchmarks.experiments import dispatch, library, order, start
from benchmarks.experiments.advice import sweep, through_entry
from benchmarks.models import Experiment, ExternalEndpoint
from benchmarks.models.advice import AdviceRecord
from benchmarks.runs.submission import limits
from benchmarks.runs.submission.submit import require_queue
from core.accounts.access import Access
from pools.models import Cluster, Entry, Pool


@dataclass(frozen=True, kw_only=True)
class Repetition:
    """An advice that is asked for again, by whom, and the id of the experiment that answers it."""

    experiment: Experiment
    author: User
    confirm: str = ""
    experiment_id: uuid.UUID

    @property
    def cluster(self) -> Cluster:
        """The cluster that is loaded. Raises `Refused` where it was removed."""
        if self.experiment.cluster is None:
            raise Refused(_("cluster %(name)s was removed") % {"name": self.experiment.cluster_name})
        return self.experiment.cluster


def ask_again(request: Repetition) -> Experiment:
    """Queue the sweep. Raises `Refused`, `InvalidExperiment`, `InvalidOptions`, `Unconfirmed` and `QueueDown`."""
    asked, cluster = request.experiment, request.cluster
    _require_subject(asked.advice, Access(request.author))
    arms = start.arms_of(asked)
    clients = sweep.expected_clients(asked) or min(arm.options["clients"] or 0 for arm in arms)
    for arm in [one for one in arms if one.options["clients"] == clients] or arms:
        limits.check(request.author, cluster, {**arm.options, **asked.dataset})
    if cluster.protected and request.confirm != cluster.name:
        spec_changes = start.changes(library.spec_of(asked), arms, cluster, asked.advice.get("existing"))
        raise start.unconfirmed(cluster, spec_changes)
    require_queue()
    seed = uuid.uuid4().int % 2**31
    keys = [arm.key for arm in arms]
    is_swept = sweep.expected_clients(asked) is not None
    plan = sweep.plan_of(arms, clients, seed) if is_swept else order.blocks(keys, sweep.REPEATS, seed)
    with transaction.atomic():
        experiment = Experiment.objects.enqueue(
            pk=request.experiment_id,
            playbook=asked.playbook,
            definition=asked.definition,
            cluster=cluster,
            cluster_name=cluster.name,
            team_id=cluster.team_id,
            pooler=asked.pooler,
            repeats=len(plan),
            seed=seed,
            dataset=asked.dataset,
            plan=plan,
            advice=_question_of(asked.advice),
            author=request.author,
        )
        transaction.on_commit(dispatch.request_advance)
    return experiment


def _question_of(advice: AdviceRecord) -> AdviceRecord:
    """Return the question of an advice without what its sweep found."""
    question: AdviceRecord = {**advice, "round": 1}
    question.pop("cells", None)
    question.pop("recommendation", None)
    return question


def _require_subject(advice: AdviceRecord, access: Access) -> None:
    """Raise `Refused` where the pool or the entry is gone, or is not the author's to see any more."""
    pool, entry = advice.get("pool"), advice.get("entry")
    if pool and not access.visible(Pool.objects.wanted()).filter(pk=pool).exists():
        raise Refused(_("the pool that the advice is for was removed"))
    if entry:
        found = access.visible(Entry.objects.all()).filter(pk=entry).select_related("pooler", "cluster").first()
        login = access.visible(ExternalEndpoint.objects.all()).filter(pk=advice["external"]).exists()
        if found is None or not login:
            raise Refused(_("the entry that the advice is for, or its login, was removed"))
        through_entry.check(found)
