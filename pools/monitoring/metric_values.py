"""The watched values: figures of the consoles, and results of checks and applies."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from uuid import NAMESPACE_URL, UUID, uuid5

from django.db.models import Count, Q
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from core.audit.stream import state
from pools.clusters import topology
from pools.config_files import folder_owner
from pools.inventory import budget
from pools.models import (
    Cluster,
    ClusterState,
    Entry,
    EventKind,
    NodeRole,
    Pool,
    Pooler,
    PoolState,
    SubjectType,
)
from pools.models.poolers import taking_clients
from pools.monitoring import certificates, refused_logins
from pools.monitoring.certificates import End
from pools.monitoring.core_watch import ProcessUse
from pools.monitoring.refused_logins import Refusals
from pools.monitoring.sampler import ConsoleSnapshot
from pools.poolers import KINDS
from pools.poolers.advisory import Advisory

NOTHING_KNOWN: Mapping[UUID, ProcessUse] = MappingProxyType({})
NO_LOG_READ: Mapping[UUID, Refusals] = MappingProxyType({})
TRAIL_ID = uuid5(NAMESPACE_URL, "pooldeck:audit-trail")  # the one subject of its kind


@dataclass(frozen=True)
class Value:
    """A measured value of one subject, and the sentence for its event."""

    kind: EventKind
    subject_type: SubjectType
    subject_id: UUID
    subject_name: str
    value: float
    message: str
    pooler_id: UUID | None = None

    @property
    def key(self) -> tuple[str, UUID]:
        """The kind and subject, of which at most one event is open."""
        return (self.kind, self.subject_id)


def all_values(
    snapshots: Mapping[UUID, ConsoleSnapshot],
    cores: Mapping[UUID, ProcessUse] = NOTHING_KNOWN,
    logins: Mapping[UUID, Refusals] = NO_LOG_READ,
) -> Iterator[Value]:
    """Yield every value that is known now, in a handful of queries; a pool of a silent console has none."""
    are_refused = Q(pools__state__in=REFUSED, pools__made_for="")
    poolers = list(Pooler.objects.only(*OF_POOLERS).annotate(refused=Count("pools", filter=are_refused)))
    answered = {one.pk: (one, found) for one in poolers if (found := snapshots.get(one.pk)) and not found.error}
    drifted = set(Pooler.objects.filter(pools__state=PoolState.DRIFTED).values_list("pk", flat=True))
    kept, ends = folder_owner.of_all(poolers), certificates.first_of_poolers()
    for pooler in poolers:
        yield from _of_pooler(pooler, snapshots.get(pooler.pk), pooler.pk in drifted)
        yield from _of_owner(pooler, kept.get(pooler.pk))
        yield from _of_clients(pooler, snapshots.get(pooler.pk))
        yield from _of_core(pooler, cores.get(pooler.pk))
        yield from _of_logins(pooler, logins.get(pooler.pk))
        yield from _of_release(pooler)
        yield _of_certificate((SubjectType.POOLER, pooler.pk, pooler.name), ends.get(pooler.pk), pooler.pk)
    clusters = list(Cluster.objects.select_related("status").prefetch_related("nodes"))
    down, lags = _down(clusters), {cluster.pk: _lag(cluster) for cluster in clusters}
    for pool in Pool.objects.wanted().of_people().only(*OF_POOLS):
        if pool.cluster_id not in down:  # The event of an unreachable cluster says why its pools fail.
            yield _of_failing(pool)
        if pool.target == NodeRole.STANDBY:
            yield from _of_reads(pool, lags[pool.cluster_id])
        if pool.pooler_id in answered:
            yield from _of_queue(*answered[pool.pooler_id], (SubjectType.POOL, pool.pk, pool.name), pool.size)
    for entry in Entry.objects.unmanaged().only(*OF_ENTRIES):
        if entry.pooler_id in answered:
            subject = (SubjectType.ENTRY, entry.pk, entry.name)
            yield from _of_queue(*answered[entry.pooler_id], subject, entry.size or 0)
    yield from _of_clusters(clusters, lags)
    yield _of_trail()


REFUSED = (PoolState.FAILED, PoolState.ROLLED_BACK)
OF_POOLERS = (
    "name",
    "kind",
    "config_dir",
    "delivery",
    "server_version",
    "settings_state",
    "processes",
    "needs_restart",
    "drift",
)
OF_POOLS = ("name", "size", "state", "state_reason", "target", "cluster", "pooler")
OF_ENTRIES = ("name", "size", "pooler")


def _of_queue(
    pooler: Pooler, snapshot: ConsoleSnapshot, subject: tuple[SubjectType, UUID, str], size: int
) -> Iterator[Value]:
    """Yield the number of clients waiting for a connection of a pool or entry, and the longest wait in seconds."""
    figures = snapshot.figures.get(subject[2])
    waiting, wait_s = (figures.cl_waiting, figures.maxwait_ms / 1000) if figures else (0, 0.0)
    if not waiting and not wait_s:  # Nobody waits: events close without a sentence, and most of ten thousand are so.
        yield Value(EventKind.WAITING, *subject, 0, "", pooler.pk)
        yield Value(EventKind.MAXWAIT, *subject, 0.0, "", pooler.pk)
        return
    text = ngettext(
        "%(waiting)s client waits for one of the %(size)s server connections",
        "%(waiting)s clients wait for one of the %(size)s server connections",
        waiting,
    )
    message = text % {"waiting": waiting, "size": size * taking_clients(pooler.processes)}
    yield Value(EventKind.WAITING, *subject, waiting, message, pooler.pk)
    message = _("the first client in the queue has waited for %(wait)s s") % {"wait": f"{wait_s:.1f}"}
    yield Value(EventKind.MAXWAIT, *subject, wait_s, message, pooler.pk)


def _of_clients(pooler: Pooler, snapshot: ConsoleSnapshot | None) -> Iterator[Value]:
    """Yield the share of the clients that the whole pooler lets in, in percent; nothing where it does not tell them."""
    if snapshot is None or snapshot.error or not snapshot.most_clients:
        return
    percent = 100 * snapshot.clients / snapshot.most_clients
    text = _("%(clients)s of the %(most)s clients that %(setting)s allows are connected (%(percent)s %%)")
    words = {"clients": snapshot.clients, "most": snapshot.most_clients, "percent": f"{percent:.0f}"}
    message = text % (words | {"setting": KINDS[pooler.kind].clients_setting})
    yield Value(EventKind.CLIENT_LIMIT, SubjectType.POOLER, pooler.pk, pooler.name, percent, message, pooler.pk)


def _of_core(pooler: Pooler, busiest: ProcessUse | None) -> Iterator[Value]:
    """Yield the share of one core that the busiest process uses or waits for, in percent; nothing if unknown."""
    if busiest is None:
        return
    use, subject = busiest.use, (SubjectType.POOLER, pooler.pk, pooler.name)
    text = _("process %(pid)d used %(running)s %% of the one core that it can use, and waited %(waiting)s %% for it")
    words = {"pid": busiest.pid, "running": f"{100 * use.running:.0f}", "waiting": f"{100 * use.waiting:.0f}"}
    yield Value(EventKind.CORE, *subject, min(100.0, 100 * use.wanted), text % words, pooler.pk)


def _of_logins(pooler: Pooler, refusals: Refusals | None) -> Iterator[Value]:
    """Yield the logins refused within a minute; nothing while its log can't be read: they go on, or are over.

    Of a pooler whose log will never be read an event that is open closes.
    """
    subject = (SubjectType.POOLER, pooler.pk, pooler.name)
    if refused_logins.obstacle(pooler):
        yield Value(EventKind.LOGINS, *subject, 0, "", pooler.pk)
    elif refusals and not refusals.unknown:
        message = refusals.message if refusals.reasons else ""
        yield Value(EventKind.LOGINS, *subject, refusals.per_minute, message, pooler.pk)


def _of_release(pooler: Pooler) -> Iterator[Value]:
    """Yield the number of published vulnerabilities of the pooler's release; nothing while that is unknown."""
    if not pooler.server_version:
        return
    found = KINDS[pooler.kind].advisories(pooler.server_version)
    message = _release_message(pooler.server_version, found) if found else ""
    subject = (SubjectType.POOLER, pooler.pk, pooler.name)
    yield Value(EventKind.VULNERABLE, *subject, len(found), message, pooler.pk)


def _release_message(version: str, found: Sequence[Advisory]) -> str:
    text = ngettext(
        "%(version)s has %(count)s published vulnerability (%(names)s), fixed in %(fixed_in)s; a distribution's "
        "package may have the fix",
        "%(version)s has %(count)s published vulnerabilities (%(names)s), all fixed in %(fixed_in)s; a distribution's "
        "package may have some of the fixes",
        len(found),
    )
    names = ", ".join(one.cve for one in found)
    return text % {"version": version, "count": len(found), "names": names, "fixed_in": found[0].fixed_in}


def _of_certificate(subject: tuple[SubjectType, UUID, str], end: End | None, pooler_id: UUID | None = None) -> Value:
    """Return the days until the first certificate given for a pooler or a cluster ends; infinite without one."""
    return Value(EventKind.CERTIFICATE, *subject, certificates.days_left(end), end.sentence if end else "", pooler_id)


def _of_trail() -> Value:
    """Return how long the audit trail could not be sent to one of its targets, in seconds; 0 without targets."""
    failing = [one for one in state.states() if one.failing_since]
    longest_s = max((one.failing_s for one in failing), default=0.0)
    message = "; ".join(one.sentence for one in failing)
    return Value(EventKind.UNSENT, SubjectType.TRAIL, TRAIL_ID, _("audit trail"), longest_s, message)


def _of_failing(pool: Pool) -> Value:
    """Return the value of an applied pool: above 0 while clients can't use it."""
    subject, is_failing = (SubjectType.POOL, pool.pk, pool.name), pool.state == PoolState.FAILING
    return Value(EventKind.FAILING, *subject, is_failing, pool.state_reason, pool.pooler_id)


def _of_pooler(pooler: Pooler, snapshot: ConsoleSnapshot | None, drifted: bool) -> Iterator[Value]:
    subject = (SubjectType.POOLER, pooler.pk, pooler.name)
    if snapshot:
        yield Value(EventKind.POOLER_DOWN, *subject, bool(snapshot.error), snapshot.error, pooler.pk)
    yield _of_refusals(pooler, subject)
    is_adrift = drifted or pooler.settings_state == PoolState.DRIFTED or bool(pooler.drift)
    yield Value(EventKind.DRIFT, *subject, is_adrift, _drift_message(pooler), pooler.pk)
    names = ", ".join(one["name"] for one in pooler.needs_restart)
    message = _("it reads %(settings)s only at its start") % {"settings": names}
    yield Value(EventKind.RESTART, *subject, bool(names), message, pooler.pk)


def _drift_message(pooler: Pooler) -> str:
    if not pooler.drift:
        return _("it differs from what the panel applied; see its page")
    first = pooler.drift[0]
    text = _("it differs from what the panel applied: %(where)s: %(what)s; see its page")
    return text % {"where": first["where"], "what": first["what"]}


def _of_owner(pooler: Pooler, owner: folder_owner.FolderOwner | None) -> Iterator[Value]:
    """Yield the seconds since a worker last inspected the pooler's files, once something was applied."""
    if owner and owner.last_seen_at and not pooler.is_watched:
        subject = (SubjectType.POOLER, pooler.pk, pooler.name)
        text = _("its configuration files have not been checked for %(seconds)s s: %(reason)s")
        message = text % {"seconds": f"{owner.silence_s:.0f}", "reason": owner.reason}
        yield Value(EventKind.UNSEEN, *subject, owner.silence_s, message, pooler.pk)


def _of_refusals(pooler: Pooler, subject: tuple[SubjectType, UUID, str]) -> Value:
    """Return the number of refused pools, the pooler's settings counted as one more."""
    refused: int = getattr(pooler, "refused", 0)
    settings = pooler.settings_state in REFUSED
    return Value(EventKind.NOT_APPLIED, *subject, refused + settings, _refusal_message(refused, settings), pooler.pk)


def _refusal_message(count: int, settings: bool) -> str:
    if not count:
        return _("not live: its settings; the reason is on their page")
    if settings:
        text = ngettext(
            "not live: %(count)s pool and its settings; the reasons are on their pages",
            "not live: %(count)s pools and its settings; the reasons are on their pages",
            count,
        )
    else:
        text = ngettext(
            "not live: %(count)s pool; the reason is on its page",
            "not live: %(count)s pools; the reasons are on their pages",
            count,
        )
    return text % {"count": count}


def _down(clusters: Iterable[Cluster]) -> set[UUID]:
    """Return the ids of those whose last check got no answer."""
    checked = ((cluster.pk, getattr(cluster, "status", None)) for cluster in clusters)
    return {pk for pk, status in checked if status and status.state == ClusterState.UNREACHABLE}


@dataclass(frozen=True)
class Lag:
    """The lag of the slowest standby of a cluster in seconds: 0 without standbys, None where no check tells it."""

    seconds: float | None
    standby: str = ""


def _lag(cluster: Cluster) -> Lag:
    standbys = topology.standbys(cluster)
    if not standbys:
        return Lag(0.0)
    lags = [Lag(lag_s, str(place)) for place in standbys if (lag_s := place.found.lag_s) is not None]
    return max(lags, key=lambda lag: lag.seconds or 0, default=Lag(None))


def _of_reads(pool: Pool, lag: Lag) -> Iterator[Value]:
    """Yield the age in seconds of the rows that clients of a read pool may get."""
    if lag.seconds is not None:
        text = _("its clients may read rows that are %(lag)s s old: standby %(standby)s is behind the primary")
        message = text % {"lag": f"{lag.seconds:.0f}", "standby": lag.standby} if lag.seconds else ""
        yield Value(EventKind.READ_LAG, SubjectType.POOL, pool.pk, pool.name, lag.seconds, message, pool.pooler_id)


def _of_clusters(clusters: Sequence[Cluster], lags: Mapping[UUID, Lag]) -> Iterator[Value]:
    budgets = budget.of_clusters(clusters)
    of_standbys = budget.of_clusters((cluster for cluster in clusters if cluster.nodes.all()), target=NodeRole.STANDBY)
    for cluster in clusters:
        subject = (SubjectType.CLUSTER, cluster.pk, cluster.name)
        status = getattr(cluster, "status", None)
        if status:
            is_down = status.state == ClusterState.UNREACHABLE
            yield Value(EventKind.CLUSTER_DOWN, *subject, is_down, status.error)
        yield _of_certificate(subject, certificates.of_authority(cluster))
        yield from _of_budgets(subject, budgets[cluster.pk], of_standbys.get(cluster.pk))
        if (lag_s := lags[cluster.pk].seconds) is not None:
            message = _("a standby is %(lag)s s behind") % {"lag": f"{lag_s:.0f}"}
            yield Value(EventKind.LAG, *subject, lag_s, message)


def _of_budgets(
    subject: tuple[SubjectType, UUID, str], of_primary: budget.Budget, of_standbys: budget.Budget | None
) -> Iterable[Value]:
    """Return one value of a cluster: the share given on its fullest server, each standby judged alone.

    Pools of experiments go by themselves: they are no reason for a warning.
    """
    judged = [
        (of_primary, _("%(given)s of %(available)s connections are allocated to pools (%(percent)s %%)")),
        (
            of_standbys,
            _("%(given)s of %(available)s connections of each standby are allocated to pools (%(percent)s %%)"),
        ),
    ]
    shares = [(100 * one.lasting / one.available, one, text) for one, text in judged if one and one.available]
    if not shares:
        return []
    percent, one, text = max(shares, key=lambda it: it[0])
    message = text % {"given": one.lasting, "available": one.available, "percent": f"{percent:.0f}"}
    if others := one.unmanaged.connections:
        params = {"message": message, "others": others}
        message = _("%(message)s, %(others)s of them to entries that are not managed here") % params
    return [Value(EventKind.BUDGET, *subject, percent, message)]
