"""Interface to the console commands on a pool (PAUSE, RESUME, KILL, …) and to the columns of SHOW."""

from dataclasses import dataclass
from typing import Protocol

from django.utils.functional import Promise

from pools.poolers.pool_queue import PoolClient


@dataclass(frozen=True)
class Column:
    """The meaning of a SHOW column; `unit` is `us`, `s`, `bytes`, `count`, or empty for a value shown as it is."""

    meaning: str | Promise
    unit: str = ""
    alarms: bool = False  # pages highlight any value but 0


@dataclass(frozen=True)
class Condition:
    """The console's condition of a pool: clients held back (paused), new ones refused (disabled).

    Of several processes that share a port, it is paused where any of them is; `differs` says which are not alike.
    """

    paused: bool
    disabled: bool
    differs: str = ""


@dataclass(frozen=True)
class Blocker:
    """A server connection that a PAUSE waits for, and the client it is linked to; empty texts where there is none.

    Times are the console's own texts. `activity`, `query` and `transaction_s` are PostgreSQL's values for the server
    connection, absent where the cluster does not know it. `process` has it, where several share the port.
    """

    user: str
    application: str
    address: str
    state: str
    connected_at: str
    requested_at: str
    server_pid: int
    activity: str = ""
    query: str = ""
    transaction_s: float | None = None
    process: str = ""


@dataclass(frozen=True)
class Connections:
    """Counts of a pool's connections: `outdated` server connections close once their client releases them."""

    clients: int
    servers: int
    outdated: int = 0


class Controls(Protocol):
    """An open console; pools by name. All methods raise `ConsoleRefused` with its message, and `PoolerUnreachable`.

    `reached` names the processes that its commands reach, where several share the port.
    """

    reached: tuple[str, ...]

    def condition(self, name: str) -> Condition:
        """Return its condition; raise `ConsoleRefused` where the console has no such pool."""

    def pause(self, name: str, deadline_s: float) -> bool:
        """Hold new transactions back and wait for the running ones; False at the deadline, while it still pauses."""

    def blockers(self, name: str) -> list[Blocker]:
        """List the server connections that a PAUSE of it waits for now."""

    def resume(self, name: str) -> None:
        """Resume its clients; no error where it is not paused."""

    def kill(self, name: str) -> None:
        """Drop its clients and its server connections at once."""

    def reconnect(self, name: str) -> None:
        """Replace each of its server connections once no client uses it."""

    def disable(self, name: str) -> None:
        """Refuse new clients."""

    def enable(self, name: str) -> None:
        """Accept new clients again."""

    def connections(self, name: str) -> Connections:
        """Count the client and server connections of a pool, by their state."""

    def clients(self, name: str) -> list[PoolClient]:
        """List the clients of a pool."""

    def kill_client(self, client: PoolClient) -> bool:
        """Disconnect one client if it is still the same; return whether it was there."""
