"""Asks whether what clusters have still fits the pools that need it: databases, roles and passwords."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from uuid import UUID

from django.db.models import Q, QuerySet

from core.lib.crypto import SealBroken
from pools.clusters import connect, health_check, topology
from pools.clusters.login_errors import Cause
from pools.errors import ClusterUnreachable
from pools.models import AS_APPLIED, Cluster, ClusterState, NodeRole, Pool, PoolFinding, PoolState
from pools.monitoring.catalog import Catalog
from pools.poolers import driver

AT_ONCE = 16
REFUSED = frozenset(
    {Cause.PASSWORD, Cause.NO_PASSWORD, Cause.NO_ROLE, Cause.NO_LOGIN, Cause.NO_DATABASE, Cause.NO_PRIVILEGE}
)  # causes by which a server refuses a login from any address


@dataclass(frozen=True)
class Login:
    """The data that a thread needs to log in for a pool; no `server` where it leads to poolers or an unknown server."""

    pool: Pool
    catalog: Catalog
    role: str
    password: str = field(repr=False)
    server: topology.Address | None

    @property
    def digest(self) -> str:
        """The digest of what the server keeps of the password; empty where that can't be read."""
        return self.catalog.digest(self.role)

    def refusal(self) -> str | None:
        """Log in to the server itself: why it refuses the login, empty if it does not, None if it can't be told."""
        if self.server is None:
            return None
        try:
            cluster, database = self.pool.cluster, self.pool.database
            connect.connect(cluster, at=self.server, database=database, user=self.role, password=self.password).close()
        except ClusterUnreachable as error:
            return str(error) if error.cause in REFUSED else None
        return ""


def applied() -> QuerySet[Pool]:
    """Return the pools whose spec is live, whether or not clients can use them."""
    return Pool.objects.wanted().filter(state__in=AS_APPLIED).select_related("pooler")


def logins_of(pools: Iterable[Pool]) -> list[Login]:
    """Read what logins for these pools need, once for each cluster and role; pools without a password are left out."""
    pools = list(pools)
    clusters = _checked().in_bulk({pool.cluster_id for pool in pools})
    catalogs = {pk: Catalog.of(cluster) for pk, cluster in clusters.items()}
    passwords: dict[tuple[UUID, str], str] = {}
    logins = []
    for pool in pools:
        pool.cluster = clusters[pool.cluster_id]
        role = driver(pool.pooler).probing_role(pool)
        key = pool.cluster_id, role
        if key not in passwords:
            passwords[key] = _password(pool.cluster, role)
        logins.append(Login(pool, catalogs[pool.cluster_id], role, passwords[key], _server(pool)))
    return logins


def recheck_troubled() -> list[UUID]:
    """Check again the clusters that did not answer, or have pools that clients can't use."""
    failing = Pool.objects.wanted().filter(state=PoolState.FAILING).values("cluster")
    troubled = list(_checked().filter(Q(status__state=ClusterState.UNREACHABLE) | Q(pk__in=failing)))
    health_check.check_all(troubled)
    return [cluster.pk for cluster in troubled]


def compare(cluster_ids: Iterable[UUID] | None = None) -> Iterator[PoolFinding]:
    """Yield the faults of pools by the last checks of these clusters (default: all), and each changed password."""
    pools = applied() if cluster_ids is None else applied().filter(cluster__in=cluster_ids)
    changed: dict[tuple[UUID, str], list[Login]] = defaultdict(list)
    for login in logins_of(pools):
        if fault := login.catalog.fault(login.pool):
            yield PoolFinding(login.pool, fault)
        elif login.digest and login.password and login.digest != login.pool.proved_digest:
            changed[login.pool.cluster_id, login.role].append(login)
    with ThreadPoolExecutor(AT_ONCE, thread_name_prefix="password") as threads:
        refusals = threads.map(Login.refusal, [logins[0] for logins in changed.values()])
        for logins, refusal in zip(changed.values(), refusals, strict=True):
            if refusal is not None:
                yield from (PoolFinding(login.pool, refusal, digest=login.digest) for login in logins)


def _checked() -> QuerySet[Cluster]:
    return Cluster.objects.select_related("status").prefetch_related("nodes")


def _password(cluster: Cluster, role: str) -> str:
    try:
        return cluster.password_of(role) or ""
    except SealBroken:
        return ""


def _server(pool: Pool) -> topology.Address | None:
    """Return the server that a pool leads to, the best of several standbys."""
    if driver(pool.pooler).connections_of(pool.pooler) == 0:
        return None
    return next(iter(topology.addresses(pool.cluster, NodeRole(pool.target))), None)
