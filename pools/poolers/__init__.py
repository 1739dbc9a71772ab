"""The kinds of poolers: one folder and one line here each."""

from pools.models import PoolerKind
from pools.poolers.kind import Kind
from pools.poolers.pgbouncer.session import PgBouncer
from pools.poolers.pgpool.session import Pgpool

KINDS: dict[str, Kind] = {
    PoolerKind.PGBOUNCER: PgBouncer(),
    PoolerKind.PGPOOL: Pgpool(),
}
