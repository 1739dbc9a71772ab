"""The clients of a PgBouncer, and KILL_CLIENT, which disconnects one of them (1.24 and later)."""

from collections.abc import Iterator

from pools.models import Pooler
from pools.poolers.pgbouncer import console
from pools.poolers.pgbouncer.queue_reading import address_of, consoles, now_of, text_of, waited_s
from pools.poolers.pgbouncer.stats import number
from pools.poolers.pool_queue import WAITING, PoolClient

CONSOLE = "pgbouncer"  # the database of those who use the console


def read(pooler: Pooler) -> list[PoolClient]:
    """List the clients of all its pools and processes. Raises `PoolerUnreachable`."""
    with consoles(pooler) as found:
        return [client for connection, _pid in found for client in of_console(connection)]


def of_console(connection: console.Console) -> Iterator[PoolClient]:
    """Yield the clients of one process. Raises `PoolerUnreachable`."""
    rows = console.rows(connection, "clients")
    pids = {row["ptr"]: number(row.get("remote_pid")) for row in console.rows(connection, "servers")}
    now = now_of(rows)
    for row in rows:
        if row["database"] != CONSOLE:
            yield PoolClient(
                pool=text_of(row, "database"),
                user=text_of(row, "user"),
                application=text_of(row, "application_name"),
                address=address_of(row),
                state=text_of(row, "state"),
                waited_s=waited_s(row, now) if row["state"] == WAITING else 0.0,
                number=text_of(row, "id"),
                connected_at=text_of(row, "connect_time"),
                server_pid=pids.get(row.get("link")) or None,
            )


def kill(connection: console.Console, client: PoolClient) -> bool:
    """Disconnect the client if this process has it now; return whether it had. Raises `ConsoleRefused`.

    The number alone is no client: another process of the same port, and the same one after a restart, gives it again.
    """
    known = client.number, client.connected_at, client.pool, client.user, client.address
    for one in of_console(connection):
        if one.number.isdigit() and (one.number, one.connected_at, one.pool, one.user, one.address) == known:
            console.command(connection, f"KILL_CLIENT {one.number}")
            return True
    return False
