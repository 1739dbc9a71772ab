"""The pools of an experiment: made as large as the budget allows, applied, and removed."""

from collections.abc import Mapping
from uuid import UUID

from django.utils.translation import gettext as _

from benchmarks.errors import BenchmarksError
from benchmarks.experiments import poolers
from benchmarks.experiments.playbook import ArmSpec
from benchmarks.experiments.resources.needed import (
    AUTH_METHODS,
    RequiredResource,
    cluster_of,
    database_of,
    maker_of,
    pool_key,
)
from benchmarks.models import Experiment, ExperimentResource, ResourceKind
from pools import task_queue
from pools.inventory import budget
from pools.inventory import pools as pool_changes
from pools.models import LIVE_STATES, Cluster, Pool, Pooler, PoolState
from pools.poolers import driver


def make(experiment: Experiment, need: RequiredResource) -> UUID:
    """Create it, and return its id; raises `PoolsError`, or `BenchmarksError` where there is no pooler or no room."""
    cluster, pooler = cluster_of(experiment), poolers.find(experiment, need.values["kind"])
    if pooler is None:
        raise BenchmarksError(poolers.no_pooler_found(need.values["kind"], cluster))
    wanted = need.values["size"]
    size = wanted if driver(pooler).shares_connections else size_within_budget(cluster, wanted, pooler)
    values: pool_changes.PoolValues = {
        "name": need.name,
        "pooler": pooler,
        "cluster": cluster,
        "database": database_of(experiment),
        "user": need.values["user"],
        "mode": need.values["mode"],
        "size": size,
    }
    _require_room(cluster, pooler, size)
    note_smaller_size(experiment, wanted, size)
    method = AUTH_METHODS.get(need.values["auth"], "")
    return pool_changes.create(values, experiment.author, made_for=maker_of(experiment), auth_method=method).pk


def _require_room(cluster: Cluster, pooler: Pooler, size: int) -> None:
    """Raise `BenchmarksError` with what to free where a pooler that shares connections may open more than are left.

    It takes as many, whatever the size of the pool: with a part of them the arm would measure something else.
    """
    if not driver(pooler).shares_connections:
        return
    free = budget.of_cluster(cluster).free
    needed = budget.needed_by(Pool(pooler=pooler, cluster=cluster, size=size))
    if free is not None and needed > free:
        text = _(
            "%(pooler)s may open %(needed)s connections, and the budget of %(cluster)s has %(free)s left: free "
            "%(short)s by making pools smaller or removing some, or raise max_connections"
        )
        numbers = {"needed": needed, "free": free, "short": needed - free}
        raise BenchmarksError(text % {"pooler": pooler, "cluster": cluster, **numbers})


def note_smaller_size(experiment: Experiment, wanted: int, size: int) -> None:
    """Note that a pool is smaller than its arm is called for."""
    text = _("The pool of %(wanted)s has %(size)s connections here: the budget of %(cluster)s has no more left.")
    note = text % {"wanted": wanted, "size": size, "cluster": experiment.cluster_name}
    if size < wanted and note not in experiment.notes:
        experiment.write(notes=[*experiment.notes, note])


def size_within_budget(cluster: Cluster, wanted: int, pooler: Pooler) -> int:
    """Return the size asked for, or what the budget has left where that is less; 1 at least.

    Each process that shares the pooler's port opens as many.
    """
    free = budget.of_cluster(cluster).free
    return wanted if free is None else max(1, min(wanted, free // pooler.process_count))


def pending_pools(experiment: Experiment) -> tuple[list[str], dict[str, str]]:
    """Return the keys of its pools that are not applied yet, and why those that were refused can't be used, by key."""
    pending: list[str] = []
    refused: dict[str, str] = {}
    for row in experiment.resources.filter(kind=ResourceKind.POOL, removed_at=None):
        pool = pool_of(row)
        if pool is None:
            refused[row.key] = _("its pool was removed during the experiment")
        elif pool.state == PoolState.PENDING:
            pending.append(row.key)
        elif pool.state not in LIVE_STATES:
            refused[row.key] = pool.state_reason or str(pool.get_state_display())
    return pending, refused


def retry_refused_pools(experiment: Experiment, refused: Mapping[str, str]) -> bool:
    """Request the apply of its refused pools for the second and last time; False where each had it, or is gone.

    On a busy host a login can time out, which is no fault of the pool.
    """
    again = []
    for row in experiment.resources.filter(kind=ResourceKind.POOL, key__in=refused, removed_at=None, error=""):
        if pool := pool_of(row):
            row.error = refused[row.key]
            row.save(update_fields=["error"])
            again.append(pool)
    task_queue.ask_again(again, experiment.author)
    return bool(again)


def is_being_applied(experiment: Experiment, arm: ArmSpec) -> bool:
    """Return whether an apply, of whatever cause, has yet to end of the pool that an arm goes through, if any."""
    row = experiment.resources.filter(kind=ResourceKind.POOL, key=pool_key(arm), removed_at=None).first()
    pool = pool_of(row) if row else None
    return pool is not None and pool.state == PoolState.PENDING


def pool_of(row: ExperimentResource) -> Pool | None:
    """Return its record; where a crash came before its id was written down, the one made for the experiment.

    Others may have a pool of that name on another pooler.
    """
    if row.record:
        return Pool.objects.filter(pk=row.record).first()
    return Pool.objects.filter(name=row.name, made_for=maker_of(row.experiment)).first()


def remove(experiment: Experiment, row: ExperimentResource) -> bool:
    """Request its removal; return whether it is gone."""
    pool = pool_of(row)
    if pool is None:
        return True
    if pool.removal_requested_at is None:
        pool_changes.remove(pool, experiment.author)
    return not Pool.objects.filter(pk=pool.pk).exists()
