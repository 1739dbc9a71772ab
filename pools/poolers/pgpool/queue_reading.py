"""Reads who has the children of a Pgpool-II: by PCP, which takes none of them, so that it answers while all serve.

Clients beyond num_init_children wait in the kernel's queue, which nothing counts.
"""

from collections.abc import Iterator, Sequence

from pools.errors import PoolerUnreachable
from pools.models import Mode, Pooler
from pools.poolers.pgpool import pcp, sql
from pools.poolers.pgpool.sql import Rows
from pools.poolers.pool_queue import ClientOfServer, Limit, PoolQueue, ServerConnection

CHILDREN = "num_init_children"
WAITS = pcp.WAITS.decode()


def read(pooler: Pooler, name: str) -> PoolQueue:
    """Return who has the children, and the connections of one database. Raises `PoolerUnreachable`."""
    rows = _rows(pooler)
    servers = list(_servers(rows))
    return PoolQueue(
        name,
        waiting=0,
        mode=Mode.SESSION,
        servers=tuple(one for one in servers if one.pool == name),
        elsewhere=tuple(one for one in servers if one.pool != name),
        client_limits=(_limit(pooler, rows),),
        counts_waiting=False,
    )


def _rows(pooler: Pooler) -> Rows:
    """Return the rows of SHOW POOL_POOLS; by a login of SQL, which takes a child, only where PCP gives none."""
    try:
        return pcp.pools(pooler)
    except PoolerUnreachable:
        return sql.others(sql.show(pooler, "pool_pools"), pooler.admin_user)


def _limit(pooler: Pooler, rows: Rows) -> Limit:
    children = {str(row["pool_pid"]): str(row.get("status") or "") for row in rows}
    taken = {str(row["pool_pid"]) for row in rows if sql.is_taken(row)}
    used = sum(pid in taken or status not in ("", WAITS) for pid, status in children.items())
    return Limit(CHILDREN, pooler.facts.get(CHILDREN) or len(children), used, further_wait=True)


def _servers(rows: Sequence[dict[str, object]]) -> Iterator[ServerConnection]:
    """Yield the connections to all backends, each with its client while it has one."""
    for row in rows:
        if row["database"] and str(row["pool_backendpid"]).isdigit() and str(row["pool_backendpid"]) != "0":
            user, is_taken = str(row["username"]), sql.is_taken(row)
            client = ClientOfServer(user, "", "") if is_taken else None
            pid, state = int(str(row["pool_backendpid"])), "active" if is_taken else "idle"
            yield ServerConnection(str(row["database"]), user, state, pid, 0, client)
