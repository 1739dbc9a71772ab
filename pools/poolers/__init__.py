"""The kinds of poolers: one folder and one line here each."""

from pools.models import PoolerKind
from pools.poolers.base import Kind
from pools.poolers.pgbouncer.driver import PgBouncer
from pools.poolers.pgpool.driver import Pgpool

KINDS: dict[str, Kind] = {
    PoolerKind.PGBOUNCER: PgBouncer(),
    PoolerKind.PGPOOL: Pgpool(),
}
