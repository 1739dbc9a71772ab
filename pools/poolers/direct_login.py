"""Logs in directly to the servers behind a pool, and distinguishes full or unreachable ones from those that refuse."""

from collections.abc import Iterator
from contextlib import contextmanager

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from pools.clusters import connect
from pools.clusters.login_errors import Cause
from pools.clusters.topology import Address
from pools.errors import ClusterUnreachable
from pools.models import Pool
from pools.poolers.faults import ClusterBusy

NOBODY_THERE = frozenset(
    {Cause.DNS, Cause.REFUSED, Cause.TIMEOUT, Cause.NO_ROUTE, Cause.NO_SOCKET}
)  # causes with which no login to the cluster can work
BUSY = frozenset({Cause.FULL, Cause.NOT_READY})  # causes with which no login works now, but will later without a change


def connected(pool: Pool, role: str, password: str, at: Address | None = None) -> connect.Connection:
    """Log in directly to the pool's database on one server; raises `ClusterBusy`, `ClusterUnreachable`."""
    with raising_cluster_busy(pool):
        return connect.connect(pool.cluster, at=at, database=pool.database, user=role, password=password)


@contextmanager
def raising_cluster_busy(pool: Pool) -> Iterator[None]:
    """Turn errors that pass without a change into `ClusterBusy`."""
    try:
        yield
    except ClusterUnreachable as error:
        if error.cause in BUSY:
            params = {"cluster": pool.cluster, "error": error}
            reason = _("cluster %(cluster)s refuses all logins for now: %(error)s") % params
            raise ClusterBusy({pool.route: reason}) from error
        raise


def report_unreachable(pool: Pool, error: ClusterUnreachable) -> str:
    """Return the reason for a pool whose servers all do not answer."""
    return _("cluster %(cluster)s does not answer: %(error)s") % {"cluster": pool.cluster, "error": error}


def login_count(logins: int) -> str:
    """Return the detail of a preflight's step: the number of direct logins made."""
    text = ngettext(
        "%(count)d direct login to a pool's database", "%(count)d direct logins to the pools' databases", logins
    )
    return text % {"count": logins}


def logged_in_through(pool: Pool) -> str:
    """Return the login through a pool that an apply made, for its step."""
    return _("%(user)s through %(pool)s") % {"user": pool.login, "pool": pool.name}


def failed_through(pool: Pool, reason: str) -> str:
    """Return why a login through a pool was rejected."""
    params = {"pool": pool.name, "user": pool.login, "reason": reason}
    return _("a login through pool %(pool)s as %(user)s failed: %(reason)s") % params


def skipped_note(count: int) -> str:
    """Return the detail of an apply's step: the number of changed pools that were only read back."""
    text = ngettext("%(count)d more changed pool had no login", "%(count)d more changed pools had no login", count)
    return text % {"count": count}
