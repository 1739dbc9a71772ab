"""Reads who has the children of a Pgpool-II: by PCP, which takes none of them, so that it answers while all serve.

Clients beyond num_init_children wait in the kernel's queue, which nothing counts.
"""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping

from core.lib.crypto import SealBroken
from pools.errors import PoolerUnreachable
from pools.models import Mode, Pooler, Revision
from pools.poolers.faults import Rejected
from pools.poolers.pgpool import node_admin, pcp, render, sql
from pools.poolers.pgpool.sql import Rows
from pools.poolers.pool_queue import ClientOfServer, Limit, PoolQueue, ServerConnection

CHILDREN = "num_init_children"
WAITS = pcp.WAITS.decode()
USUAL_PORT = "5432"  # of a backend without backend_port
UNKNOWN_ADDRESS = "", 0
Row = Mapping[str, object]


def read(pooler: Pooler, name: str) -> PoolQueue:
    """Return who has the children, and the connections of one database. Raises `PoolerUnreachable`."""
    rows = _rows(pooler)
    servers = list(_servers(pooler, rows))
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


def _servers(pooler: Pooler, rows: Rows) -> Iterator[ServerConnection]:
    """Yield the connections to all backends, each with its client while it has one."""
    connected = [row for row in rows if _is_connected(row)]
    numbers = {str(row["backend_id"]) for row in connected}
    addresses = _addresses(pooler, numbers) if len(numbers) > 1 else {}
    of_slots = Counter(map(_slot, connected))
    for row in connected:
        user, is_taken = str(row["username"]), sql.is_taken(row)
        yield ServerConnection(
            pool=str(row["database"]),
            user=user,
            state="active" if is_taken else "idle",
            pid=int(str(row["pool_backendpid"])),
            local_port=0,
            client=ClientOfServer(user, "", "") if is_taken else None,
            server=addresses.get(str(row["backend_id"]), UNKNOWN_ADDRESS) if len(numbers) > 1 else None,
            is_one_of_several=of_slots[_slot(row)] > 1,
        )


def _is_connected(row: Row) -> bool:
    pid = str(row["pool_backendpid"])
    return bool(row["database"]) and pid.isdigit() and pid != "0"


def _slot(row: Row) -> tuple[str, str]:
    """Return what the connections of one client have in common: its child, and the place in the child's pool."""
    return str(row["pool_pid"]), str(row["pool_id"])


def _addresses(pooler: Pooler, numbers: Collection[str]) -> Mapping[str, tuple[str, int]]:
    """Return host and port of backends by their number: of the files that were applied last, else as it tells them.

    Those that neither names are left out.
    """
    values = render.values_in(_applied_text(pooler))
    written = {number: values.get(f"backend_hostname{number}") for number in numbers}
    if all(written.values()):
        ports = {number: values.get(f"backend_port{number}", USUAL_PORT) for number in numbers}
        return {one: (host or "", int(ports[one])) for one, host in written.items()}
    try:
        return pcp.backends(pooler, numbers)
    except (PoolerUnreachable, Rejected):
        return _shown_addresses(pooler)


def _applied_text(pooler: Pooler) -> str:
    applied = Revision.objects.live_on(pooler)
    try:
        return applied.files.get(render.MAIN, "") if applied else ""
    except SealBroken:
        return ""


def _shown_addresses(pooler: Pooler) -> Mapping[str, tuple[str, int]]:
    """Return those of SHOW POOL_NODES, which takes a child."""
    try:
        return {str(node.number): (node.host, node.port) for node in node_admin.of_pooler(pooler)}
    except PoolerUnreachable:
        return {}
