"""The value of everything that is looked after: what the consoles say, and what checks and applies left behind."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from uuid import UUID

from django.db.models import Count, Max, Q

from pools.config_files import folder_owner
from pools.inventory import budget
from pools.models import (
    Cluster,
    ClusterState,
    EventKind,
    NodeRole,
    Pool,
    Pooler,
    PoolState,
    SubjectType,
)
from pools.monitoring.sampler import ConsoleSnapshot


@dataclass(frozen=True)
class Value:
    """A measured value of one subject, and the sentence that an event says of it."""

    kind: EventKind
    subject_type: SubjectType
    subject_id: UUID
    subject_name: str
    value: float
    message: str
    pooler_id: UUID | None = None

    @property
    def key(self) -> tuple[str, UUID]:
        """What there is at most one open event of."""
        return (self.kind, self.subject_id)


def all_values(snapshots: Mapping[UUID, ConsoleSnapshot]) -> Iterator[Value]:
    """Everything that can be told now, in a handful of queries; a pool whose console is silent has no value."""
    poolers = list(Pooler.objects.annotate(refused=Count("pools", filter=Q(pools__state__in=REFUSED))))
    drifted = set(Pooler.objects.filter(pools__state=PoolState.DRIFTED).values_list("pk", flat=True))
    kept = folder_owner.of_all(poolers)
    for pooler in poolers:
        yield from _of_pooler(pooler, snapshots.get(pooler.pk), pooler.pk in drifted)
        yield from _of_owner(pooler, kept.get(pooler.pk))
    for pool in Pool.objects.wanted().select_related("pooler"):
        if (snapshot := snapshots.get(pool.pooler_id)) and not snapshot.error:
            yield from _of_pool(pool, snapshot)
    yield from _of_clusters()


REFUSED = (PoolState.FAILED, PoolState.ROLLED_BACK)


def _of_pool(pool: Pool, snapshot: ConsoleSnapshot) -> Iterator[Value]:
    figures = snapshot.figures.get(pool.name)
    waiting, wait_s = (figures.cl_waiting, figures.maxwait_ms / 1000) if figures else (0, 0.0)
    subject = (SubjectType.POOL, pool.pk, pool.name)
    reported = f"{waiting} clients wait for one of the {pool.size} server connections"
    yield Value(EventKind.WAITING, *subject, waiting, reported, pool.pooler_id)
    reported = f"the first client in the queue has waited for {wait_s:.1f} s"
    yield Value(EventKind.MAXWAIT, *subject, wait_s, reported, pool.pooler_id)


def _of_pooler(pooler: Pooler, snapshot: ConsoleSnapshot | None, drifted: bool) -> Iterator[Value]:
    subject = (SubjectType.POOLER, pooler.pk, pooler.name)
    if snapshot:
        yield Value(EventKind.POOLER_DOWN, *subject, bool(snapshot.error), snapshot.error, pooler.pk)
    yield _of_refusals(pooler, subject)
    is_adrift = drifted or pooler.settings_state == PoolState.DRIFTED or bool(pooler.drift)
    first = "".join(f": {one['where']}: {one['what']}" for one in pooler.drift[:1])
    reported = f"it differs from what the panel applied{first}; see its page"
    yield Value(EventKind.DRIFT, *subject, is_adrift, reported, pooler.pk)
    names = ", ".join(str(one.get("name")) for one in pooler.needs_restart)
    yield Value(EventKind.RESTART, *subject, bool(names), f"it reads {names} at its start only", pooler.pk)


def _of_owner(pooler: Pooler, owner: folder_owner.FolderOwner | None) -> Iterator[Value]:
    """How long nobody can have told of its files, once something was applied."""
    if owner and owner.last_seen_at:
        subject = (SubjectType.POOLER, pooler.pk, pooler.name)
        reported = f"its files were not looked at for {owner.silence_s:.0f} s: {owner.reason}"
        yield Value(EventKind.UNSEEN, *subject, owner.silence_s, reported, pooler.pk)


def _of_refusals(pooler: Pooler, subject: tuple[SubjectType, UUID, str]) -> Value:
    """The settings count as one more than its pools."""
    pools: int = getattr(pooler, "refused", 0)
    settings = pooler.settings_state in REFUSED
    whom = [f"{pools} pool{'s' if pools != 1 else ''}"] * bool(pools) + ["its settings"] * settings
    reported = f"not live: {' and '.join(whom)}; the reason is on their pages"
    return Value(EventKind.NOT_APPLIED, *subject, pools + settings, reported, pooler.pk)


def _of_clusters() -> Iterator[Value]:
    figures = {"lag_s": Max("nodes__lag_s"), "nodes_count": Count("nodes")}
    clusters = list(Cluster.objects.select_related("status").annotate(**figures))
    budgets = budget.of_clusters(clusters)
    of_standbys = budget.of_clusters(
        (cluster for cluster in clusters if getattr(cluster, "nodes_count", 0)), target=NodeRole.STANDBY
    )
    for cluster in clusters:
        subject = (SubjectType.CLUSTER, cluster.pk, cluster.name)
        status = getattr(cluster, "status", None)
        if status:
            is_down = status.state == ClusterState.UNREACHABLE
            yield Value(EventKind.CLUSTER_DOWN, *subject, is_down, status.error)
        yield from _of_budgets(subject, budgets[cluster.pk], of_standbys.get(cluster.pk))
        if (lag_s := getattr(cluster, "lag_s", None)) is not None:
            yield Value(EventKind.LAG, *subject, lag_s, f"a standby is {lag_s:.0f} s behind")


def _of_budgets(
    subject: tuple[SubjectType, UUID, str], of_primary: budget.Budget, of_standbys: budget.Budget | None
) -> Iterable[Value]:
    """One value of a cluster, that of the servers of which the most is given; standbys are judged each alone."""
    judged = [(of_primary, "connections"), (of_standbys, "connections of each standby")]
    found = [(100 * one.allocated / one.available, one, what) for one, what in judged if one and one.available]
    if not found:
        return []
    percent, one, what = max(found, key=lambda it: it[0])
    reported = f"{one.allocated} of {one.available} {what} are given to pools ({percent:.0f} %)"
    return [Value(EventKind.BUDGET, *subject, percent, reported)]
