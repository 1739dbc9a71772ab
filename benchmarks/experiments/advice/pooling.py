"""What "direct or pooled?" measures: kept connections, reconnecting clients, and more than the server lets in."""

from collections.abc import Mapping
from math import ceil

from django.contrib.auth.models import User

from benchmarks.errors import InvalidOptions
from benchmarks.experiments.advice import grid
from benchmarks.experiments.advice.definition import CROWD, KEPT, RECONNECTING, Clients
from benchmarks.models.options import RunOptions
from benchmarks.runs.submission import limits
from pools.models import Cluster, ClusterStatus

BOTH_FROM, CROWD_FROM = 2, 5  # minutes: with fewer, the runs would be too short to say something
MORE_PERCENT = 10  # clients than the server lets in
MOST_CROWD = 500  # more pgbench connections need more files and memory than a small generator has
BUSY = 3  # times what a login takes: on a host that others use as well


def clients_of(cluster: Cluster, author: User | None, options: RunOptions, minutes: int) -> Clients:
    """Return the ways of connecting that fit the minutes; the ceilings of runs limit the number of clients."""
    if options.get("connect") or minutes < BOTH_FROM:
        return Clients([RECONNECTING])
    crowd = _crowd(cluster) if minutes >= CROWD_FROM else 0
    crowd_s = _many_clients_s(crowd, options.get("duration") or 0)
    if not crowd or not _is_allowed(author, cluster, {**options, "clients": crowd, "duration": crowd_s}):
        return Clients([KEPT, RECONNECTING])
    return Clients([KEPT, RECONNECTING, CROWD], crowd, crowd_s)


def _many_clients_s(crowd: int, duration: int) -> int:
    """Return the seconds of the load with many clients: their logins, and then the shortest duration of a run."""
    return max(duration, ceil(grid.LEAST_S + BUSY * grid.LOGIN_S * crowd))


def arms_of(minutes: int) -> int:
    """Return the number of arms that share these minutes."""
    return 2 if minutes < BOTH_FROM else 4 if minutes < CROWD_FROM else 5


def admitted(cluster: Cluster) -> int | None:
    """Return the connections that the server gives to ordinary clients, without reserves; None while unknown."""
    status = ClusterStatus.objects.filter(cluster=cluster).first()
    if status is None or not status.max_connections:
        return None
    kept = (status.superuser_reserved_connections or 0) + (status.reserved_connections or 0)
    return status.max_connections - kept


def _crowd(cluster: Cluster) -> int:
    limit = admitted(cluster)
    clients = limit + max(1, limit * MORE_PERCENT // 100) if limit else 0
    return clients if clients <= MOST_CROWD else 0


def _is_allowed(author: User | None, cluster: Cluster, options: Mapping[str, object]) -> bool:
    try:
        limits.check(author, cluster, options)
    except InvalidOptions:
        return False
    return True
