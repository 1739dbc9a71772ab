"""The verbs of a pooler's console on one of its pools, as each kind has them, and what its columns mean."""

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True)
class Column:
    """What a column of SHOW means; `unit` is `us`, `s`, `bytes`, `count`, or empty for what is shown as it is."""

    meaning: str
    unit: str = ""
    alarms: bool = False  # anything but 0 asks for a look


@dataclass(frozen=True)
class Condition:
    """Whether the console holds a pool's clients back (paused), or refuses new ones (disabled)."""

    paused: bool
    disabled: bool


@dataclass(frozen=True)
class Blocker:
    """A server connection that a PAUSE waits for, and the client it is linked to; empty texts where there is none.

    Times are the console's own texts. `query` and what follows are PostgreSQL's words on the server connection,
    absent where the cluster does not know it.
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


@dataclass(frozen=True)
class Connections:
    """How many a pool has: `outdated` server connections wait to be closed once their client lets them go."""

    clients: int
    servers: int
    outdated: int = 0


class Controls(Protocol):
    """An open console; pools by name. All raise `ConsoleRefused` with its words and `PoolerUnreachable`."""

    def condition(self, name: str) -> Condition:
        """What SHOW says of it; refused where the console knows no such pool."""

    def pause(self, name: str, deadline_s: float) -> bool:
        """Hold new transactions back and wait for the running ones; False once the time is up, and still pausing."""

    def blockers(self, name: str) -> list[Blocker]:
        """What a PAUSE of it waits for now."""

    def resume(self, name: str) -> None:
        """Let its clients go on; no error where they do."""

    def kill(self, name: str) -> None:
        """Drop its clients and its server connections at once."""

    def reconnect(self, name: str) -> None:
        """Replace each of its server connections as soon as no client uses it."""

    def disable(self, name: str) -> None:
        """Refuse new clients."""

    def enable(self, name: str) -> None:
        """Let new clients in again."""

    def connections(self, name: str) -> Connections:
        """How many it has now."""
