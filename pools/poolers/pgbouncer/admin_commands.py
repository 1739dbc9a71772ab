"""PgBouncer's console verbs on one pool: PAUSE, RESUME, KILL, RECONNECT, DISABLE, ENABLE and KILL_CLIENT."""

import re
from collections.abc import Callable

from django.utils.translation import gettext as _

from pools.errors import ConsoleRefused, NotLive
from pools.models import Pooler
from pools.poolers.admin_commands import Blocker, Condition, Connections
from pools.poolers.pgbouncer import console, pool_clients
from pools.poolers.pool_queue import PoolClient

VERBS = ("pause", "resume", "reconnect", "disable", "enable", "kill")
BARE_WORD = re.compile(r"[A-Za-z0-9_]+")
LONGEST_ARGUMENT = 63  # bytes, quotes included: the console reads an argument into 64 (its admin.c)
CLOSED_BY_PAUSE = frozenset({"idle", "used", "login", "new"})  # server states that a PAUSE does not wait for


class PgBouncerControls:
    """See `pools.poolers.admin_commands.Controls`."""

    reached: tuple[str, ...] = ()

    def __init__(
        self, pooler: Pooler, connection: console.Console, again: Callable[[Pooler], console.Console] = console.open
    ) -> None:
        self.pooler, self.connection, self.again = pooler, connection, again

    def condition(self, name: str) -> Condition:
        """Read the columns paused and disabled of SHOW DATABASES."""
        for row in console.rows(self.connection, "databases"):
            if row["name"] == name:
                return Condition(paused=bool(row["paused"]), disabled=bool(row["disabled"]))
        raise NotLive(
            _("pooler %(pooler)s has no pool %(name)s: it has to be applied first")
            % {"pooler": self.pooler, "name": name}
        )

    def pause(self, name: str, deadline_s: float) -> bool:
        """PAUSE over a console login of its own, whose end ends the waiting and not the pause.

        PgBouncer answers once no paused pool at all is busy, so that another pool's pause may hold the answer back:
        this one is paused when it has no server connection left.
        """
        with self.again(self.pooler) as waiting:
            try:
                console.command(waiting, f"PAUSE {_argument(name)}", within_s=deadline_s)
            except console.NoAnswer:
                return self.condition(name).paused and not self._busy_servers(name)
        return True

    def blockers(self, name: str) -> list[Blocker]:
        """List the busy rows of SHOW SERVERS, each with its linked row of SHOW CLIENTS."""
        servers = self._busy_servers(name)
        clients = {row["ptr"]: row for row in console.rows(self.connection, "clients")} if servers else {}
        return [_blocker(server, clients.get(server["link"], {})) for server in servers]

    def resume(self, name: str) -> None:
        """RESUME, unless it is not paused."""
        if self.condition(name).paused:
            console.command(self.connection, f"RESUME {_argument(name)}")

    def kill(self, name: str) -> None:
        """KILL, which leaves the pool paused in every release up to 1.25."""
        console.command(self.connection, f"KILL {_argument(name)}")

    def reconnect(self, name: str) -> None:
        console.command(self.connection, f"RECONNECT {_argument(name)}")

    def disable(self, name: str) -> None:
        """DISABLE; forgotten when PgBouncer starts anew."""
        console.command(self.connection, f"DISABLE {_argument(name)}")

    def enable(self, name: str) -> None:
        console.command(self.connection, f"ENABLE {_argument(name)}")

    def connections(self, name: str) -> Connections:
        """Count the rows of SHOW CLIENTS and SHOW SERVERS; RECONNECT marks the latter with close_needed."""
        clients = [row for row in console.rows(self.connection, "clients") if row["database"] == name]
        servers = self._servers(name)
        return Connections(len(clients), len(servers), sum(1 for row in servers if row["close_needed"]))

    def clients(self, name: str) -> list[PoolClient]:
        return [client for client in pool_clients.of_console(self.connection) if client.pool == name]

    def kill_client(self, client: PoolClient) -> bool:
        """KILL_CLIENT, which also closes its server connection."""
        return pool_clients.kill(self.connection, client)

    def _servers(self, name: str) -> console.Rows:
        return [row for row in console.rows(self.connection, "servers") if row["database"] == name]

    def _busy_servers(self, name: str) -> console.Rows:
        return [row for row in self._servers(name) if row["state"] not in CLOSED_BY_PAUSE]


def _argument(name: str) -> str:
    """Quote the name for the console: letters, digits and _ bare, all else in double quotes (its admin.c)."""
    argument = name if BARE_WORD.fullmatch(name) else '"' + name.replace('"', '""') + '"'
    if len(argument) > LONGEST_ARGUMENT:
        raise ConsoleRefused(
            _(
                "PgBouncer's console takes no quoted name of %(count)s characters, and %(name)s has to be "
                "quoted: give the pool a name of at most %(longest)s, or of letters, digits and _ alone"
            )
            % {"count": len(name), "name": name, "longest": LONGEST_ARGUMENT - 2}
        )
    return argument


def _blocker(server: console.Row, client: console.Row) -> Blocker:
    def text(column: str) -> str:
        return str(client.get(column) or "")

    return Blocker(
        user=text("user") or str(server["user"] or ""),
        application=text("application_name"),
        address=f"{text('addr')}:{text('port')}" if client else "",
        state=str(server["state"]),
        connected_at=text("connect_time"),
        requested_at=text("request_time") or str(server["request_time"] or ""),
        server_pid=int(str(server["remote_pid"] or 0)),
    )
