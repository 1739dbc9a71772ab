"""Logs in straight to the servers behind a pool, and tells those that are full or away from those that refuse."""

from collections.abc import Iterator
from contextlib import contextmanager

from pools.clusters import connect
from pools.clusters.login_errors import Cause
from pools.clusters.topology import Address
from pools.errors import ClusterUnreachable
from pools.models import Pool
from pools.poolers.base import ClusterBusy

NOBODY_THERE = frozenset(
    {Cause.DNS, Cause.REFUSED, Cause.TIMEOUT, Cause.NO_ROUTE, Cause.NO_SOCKET}
)  # then no login to the cluster can work
BUSY = frozenset({Cause.FULL, Cause.NOT_READY})  # nor then, but by itself it will again


def connected(pool: Pool, role: str, password: str, at: Address | None = None) -> connect.Connection:
    """A direct login to the pool's database on one server; raises `ClusterBusy`, `ClusterUnreachable`."""
    with busy_described(pool):
        return connect.connect(pool.cluster, at=at, database=pool.database, user=role, password=password)


@contextmanager
def busy_described(pool: Pool) -> Iterator[None]:
    """Make `ClusterBusy` of what passes by itself."""
    try:
        yield
    except ClusterUnreachable as error:
        if error.cause in BUSY:
            raise ClusterBusy({pool.route: f"cluster {pool.cluster} lets nobody in for now: {error}"}) from error
        raise


def report_unreachable(pool: Pool, error: ClusterUnreachable) -> str:
    """What to say of servers of which none answers."""
    return f"cluster {pool.cluster} does not answer: {error}"
