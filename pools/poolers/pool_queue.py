"""The queue of one pool as its pooler's console shows it, with the server connections that its clients wait for."""

from dataclasses import dataclass

BUSY_STATES = frozenset({"active", "active_cancel"})  # states of SHOW SERVERS in which a client has the connection
WAITING = "waiting"  # the state of SHOW CLIENTS in which a client has none yet
OPENING_STATES = frozenset({"login", "new"})


@dataclass(frozen=True)
class QueuedClient:
    """A client that waits for a server connection; `number` and `connected_at` as in `ClientOfServer`."""

    user: str
    application: str
    address: str
    waited_s: float
    number: str = ""
    connected_at: str = ""


@dataclass(frozen=True)
class ClientOfServer:
    """A client that has a server connection.

    `number` is its id for KILL_CLIENT (PgBouncer 1.24), else empty. A restart gives numbers anew, so `connected_at`, in
    the console's own words, belongs to it.
    """

    user: str
    application: str
    address: str
    number: str = ""
    connected_at: str = ""


@dataclass(frozen=True)
class PoolClient:
    """A client of a pooler: the pool that it named, its state as in SHOW CLIENTS, the pid of the server that it has.

    `number` and `connected_at` as in `ClientOfServer`; `server_pid` is None while it has no server connection.
    """

    pool: str
    user: str
    application: str
    address: str
    state: str
    waited_s: float
    number: str = ""
    connected_at: str = ""
    server_pid: int | None = None

    @property
    def is_waiting(self) -> bool:
        """Whether it waits for a server connection."""
        return self.state == WAITING


@dataclass(frozen=True)
class ServerConnection:
    """A server connection: the backend's pid, the port of the pooler's end, and the client that has it now.

    `server`: host and port that it leads to as the pooler has them, where the pooler leads to several servers; the host
    is empty where it does not tell. `is_one_of_several`: its client has connections to others of them too.
    """

    pool: str
    user: str
    state: str
    pid: int
    local_port: int
    client: ClientOfServer | None = None
    server: tuple[str, int] | None = None
    is_one_of_several: bool = False

    @property
    def is_busy(self) -> bool:
        """Whether a client has it."""
        return self.state in BUSY_STATES

    @property
    def is_opening(self) -> bool:
        """Whether the pooler is still logging in."""
        return self.state in OPENING_STATES


@dataclass(frozen=True)
class Limit:
    """A limit by the name of its setting, and how much of it is used; 0 stands for no limit.

    `further_wait`: clients beyond it wait in the kernel, where nobody counts them, instead of being refused.
    """

    setting: str
    most: int
    used: int
    further_wait: bool = False

    @property
    def is_reached(self) -> bool:
        """Whether there is a limit, and nothing of it is left."""
        return 0 < self.most <= self.used


@dataclass(frozen=True)
class CoreUse:
    """The shares of a core that a process used, and waited for, in a short time: 1 stands for a whole one."""

    running: float
    waiting: float

    @property
    def wanted(self) -> float:
        """The share that it would have used of a core of its own."""
        return self.running + self.waiting


@dataclass(frozen=True)
class PoolQueue:
    """The queue of one pool at one moment.

    `clients` are those that have waited longest; `waiting` counts all. `client_limits` are those of the pooler and of
    the database. `elsewhere` are connections of the pooler's other pools. Without `sees_servers` the console does not
    list connections, so that those are unknown; without `counts_waiting` it does not count all clients that wait, and
    not how long.
    """

    name: str
    waiting: int
    longest_s: float = 0.0
    mode: str = ""
    clients: tuple[QueuedClient, ...] = ()
    servers: tuple[ServerConnection, ...] = ()
    elsewhere: tuple[ServerConnection, ...] = ()
    server_limits: tuple[Limit, ...] = ()
    client_limits: tuple[Limit, ...] = ()
    server_host: str = ""
    server_port: int | None = None
    unresolved: tuple[str, ...] = ()
    core: CoreUse | None = None
    core_unknown: str = ""
    paused: bool = False
    sees_servers: bool = True
    counts_waiting: bool = True

    @property
    def kernels_queue(self) -> Limit | None:
        """The reached limit beyond which clients wait uncounted."""
        return next((limit for limit in self.client_limits if limit.further_wait and limit.is_reached), None)

    @property
    def is_held_up(self) -> bool:
        """Whether clients wait, or would: those beyond a limit are counted nowhere."""
        return self.waiting > 0 or self.kernels_queue is not None

    @property
    def exhausted(self) -> Limit | None:
        """The reached limit that keeps clients from a server connection."""
        return self.reached_server_limit or self.kernels_queue

    @property
    def usable(self) -> tuple[ServerConnection, ...]:
        """The server connections that are logged in."""
        return tuple(one for one in self.servers if not one.is_opening)

    @property
    def busy(self) -> tuple[ServerConnection, ...]:
        """The server connections that clients have."""
        return tuple(one for one in self.servers if one.is_busy)

    @property
    def reached_server_limit(self) -> Limit | None:
        """The first limit that lets no further server connection be opened."""
        return next((limit for limit in self.server_limits if limit.is_reached), None)

    @property
    def reached_client_limit(self) -> Limit | None:
        """The first limit that lets no further client in."""
        return next((limit for limit in self.client_limits if limit.is_reached), None)
