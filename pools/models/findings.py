"""What checks and applies write down: the JSON in columns of `ClusterStatus`, `Pooler`, `Revision` and `Host`."""

from typing import NotRequired, TypedDict


class Difference(TypedDict):
    """A difference from what was applied."""

    where: str  # the name of a file, or `live` for the console
    what: str  # a sentence
    by: NotRequired[str]  # `operator` of an edit outside the panel's part


class WaitingSetting(TypedDict):
    """A changed setting that the program reads only at its start."""

    name: str
    live: str
    wanted: str


class ProcessRow(TypedDict):
    """One of the processes that take a pooler's clients, as the last check found it."""

    name: str
    main_file: str
    pid: int | None  # None where it can't be seen from the panel
    socket: str  # the folder of its Unix socket
    peer_id: int | None
    version: str
    state: str  # a value of `ProcessState`


class Step(TypedDict):
    """A step of an apply."""

    at: str  # ISO 8601
    step: str  # a word of the API
    detail: str  # a sentence


class ListedDatabase(TypedDict):
    """A database of a cluster; records from earlier releases lack some fields."""

    name: str
    owner: str
    allow_connections: NotRequired[bool]
    connection_limit: NotRequired[int]
    size_bytes: int | None  # None where the panel's role may not see it


class ListedRole(TypedDict):
    """A role of a cluster; records from earlier releases lack some fields."""

    name: str
    can_login: bool
    superuser: NotRequired[bool]
    connection_limit: NotRequired[int]
    password_expired: NotRequired[bool]
    password_digest: NotRequired[str]  # left out where the panel's role may not read it


class FoundProcess(TypedDict):
    """A process of a pooler that runs on a host."""

    pid: int
    user: str
    main_file: str


class FoundPooler(TypedDict):
    """A pooler that runs on a host: those of one kind that share their ports are one (so_reuseport)."""

    kind: str
    main_file: str
    ports: list[int]
    addresses: NotRequired[list[str]]  # records from before the panel looked for them have none
    socket_folders: list[str]
    control_sockets: NotRequired[list[str]]  # missing in records from before the panel looked for them
    processes: list[FoundProcess]
    version: str
    unit: str
