"""The kinds of poolers: one folder and one line here each."""

from pools.models import PoolerKind
from pools.poolers.kind import Kind
from pools.poolers.pgbouncer.kind import PgBouncer
from pools.poolers.pgpool.kind import Pgpool

KINDS: dict[str, Kind] = {
    PoolerKind.PGBOUNCER: PgBouncer(),
    PoolerKind.PGPOOL: Pgpool(),
}
