"""Registry of the kinds of poolers: one folder, and one line here, for each."""

from pools.models import Pooler, PoolerKind
from pools.poolers.base import Driver
from pools.poolers.haproxy.driver import HAProxy
from pools.poolers.pgbouncer.driver import PgBouncer
from pools.poolers.pgpool.driver import Pgpool

KINDS: dict[str, Driver] = {
    PoolerKind.PGBOUNCER: PgBouncer(),
    PoolerKind.PGPOOL: Pgpool(),
    PoolerKind.HAPROXY: HAProxy(),
}


def driver(pooler: Pooler) -> Driver:
    """Return the driver of a pooler's kind."""
    return KINDS[pooler.kind]


def kinds_that(answer: str) -> list[str]:
    """Return the kinds whose driver has a true attribute, such as `is_chainable`."""
    return [kind for kind, driver in KINDS.items() if getattr(driver, answer)]
