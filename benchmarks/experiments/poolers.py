"""The pooler on which an experiment makes its pools of a kind, and the words for it."""

from django.utils.translation import gettext as _

from benchmarks.models import Experiment
from core.accounts.access import used_by
from pools.models import Cluster, Pool, Pooler, PoolerKind
from pools.poolers import KINDS, driver


def find(experiment: Experiment, kind: str) -> Pooler | None:
    """Return the pooler that a pool of this kind is made on: the one asked for, else the first that can carry it.

    It is one that the team of the experiment has, or that is shared with it. Of a kind that serves one cluster, only
    one whose pools, if it has any, lead to this cluster.
    """
    chosen = experiment.pooler
    if chosen is not None and chosen.kind == kind:
        return chosen
    team = experiment.owning_team
    usable = Pooler.objects.filter(used_by(Pooler, team.pk if team else None), kind=kind)
    for pooler in usable.exclude(config_dir="").order_by("created_at"):
        others = Pool.objects.wanted().filter(pooler=pooler).exclude(cluster=experiment.cluster)
        if not driver(pooler).serves_one_cluster or not others.exists():
            return pooler
    return None


def no_pooler_found(kind: str, cluster: Cluster) -> str:
    """Return that no pooler of this kind can carry an experiment's pools, with the remedy."""
    words = {"kind": PoolerKind(kind).label, "cluster": cluster}
    if KINDS[kind].serves_one_cluster:
        return _("no %(kind)s is registered that serves cluster %(cluster)s: register one") % words
    return _("no %(kind)s with a configuration folder is registered: register one") % words


def needed(kind: str) -> str:
    """Return a clause naming the poolers that a playbook with pools of this kind needs registered."""
    words = {"kind": PoolerKind(kind).label}
    if KINDS[kind].serves_one_cluster:
        return _("a %(kind)s that serves the cluster") % words
    return _("a %(kind)s with a configuration folder") % words
