"""Reads the queue of one pool off the consoles of a PgBouncer: SHOW CLIENTS, SERVERS, DATABASES, CONFIG, LISTS, DNS."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime

from django.utils.translation import gettext as _

from pools.errors import NotLive
from pools.models import Pooler
from pools.poolers.pgbouncer import console, kept_consoles, process_sockets, processes
from pools.poolers.pgbouncer.console import Row, Rows
from pools.poolers.pgbouncer.core_use import CoreWatch
from pools.poolers.pgbouncer.stats import number
from pools.poolers.pool_queue import WAITING, ClientOfServer, Limit, PoolQueue, QueuedClient, ServerConnection

CLIENTS_SHOWN = 50
WHOLE_SECOND = len("2026-01-31 12:00:00")
WORDS = ("clients", "servers", "databases", "config", "lists", "dns_hosts")
Tables = Mapping[str, Rows]


@dataclass(frozen=True)
class _Answers:
    """The tables of each process, its pids, and the sums that a limit is compared with."""

    name: str
    tables: tuple[Tables, ...]

    def rows(self, word: str) -> Rows:
        return [row for tables in self.tables for row in tables[word]]

    def entries(self) -> Rows:
        return [row for row in self.rows("databases") if row["name"] == self.name]


def read(pooler: Pooler, name: str) -> PoolQueue:
    """Return the queue of the pool that clients name so. Raises `PoolerUnreachable`, `NotLive` for an unknown pool."""
    with consoles(pooler) as found:
        watch = CoreWatch(pooler, [pid for _one, pid in found])
        answers = _Answers(name, tuple({word: console.rows(one, word) for word in WORDS} for one, _pid in found))
        core, core_unknown = watch.use()
    entries = answers.entries()
    if not entries:
        text = _("pooler %(pooler)s has no pool %(name)s: it has to be applied first")
        raise NotLive(text % {"pooler": pooler, "name": name})
    own, others = _servers(answers)
    waiting = sorted(_waiting(answers), key=lambda client: -client.waited_s)
    return PoolQueue(
        name=name,
        waiting=len(waiting),
        longest_s=waiting[0].waited_s if waiting else 0.0,
        mode=str(entries[0].get("pool_mode") or _config(answers).get("pool_mode", "")),
        clients=tuple(waiting[:CLIENTS_SHOWN]),
        servers=own,
        elsewhere=others,
        server_limits=tuple(_server_limits(answers, entries, own, others)),
        client_limits=tuple(_client_limits(answers, entries)),
        server_host=str(entries[0].get("host") or ""),
        server_port=number(entries[0].get("port")) or None,
        unresolved=tuple(_unresolved(answers, entries)),
        core=core,
        core_unknown=core_unknown,
        paused=any(bool(number(row.get("paused"))) for row in entries),
    )


@contextmanager
def consoles(pooler: Pooler) -> Iterator[list[tuple[console.Console, int | None]]]:
    """Lend the console of each process, with its pid where that runs on this host. Raises `PoolerUnreachable`."""
    if pooler.shares_its_port:
        with processes.known(pooler) as (found, _missing):
            yield [(one.console, one.pid) for one in found]
        return
    with kept_consoles.lent(pooler) as connection:
        yield [(connection, process_sockets.pid_behind(pooler, connection))]


def _config(answers: _Answers) -> dict[str, str]:
    return {str(row["key"]): str(row["value"] or "") for row in answers.rows("config")}


def text_of(row: Row, column: str) -> str:
    """Return a column as text, empty where the release has none of this name."""
    return str(row.get(column) or "")


def address_of(row: Row) -> str:
    """Return a client's address and port, empty over a Unix socket."""
    addr, port = text_of(row, "addr"), text_of(row, "port")
    return "" if addr in ("", "unix") else f"{addr}:{port}"


def now_of(rows: Rows) -> str:
    """Return the time of this reading as a process of PgBouncer writes it: that of the newest request of all."""
    return max((text_of(row, "request_time")[:WHOLE_SECOND] for row in rows), default="")


def _waiting(answers: _Answers) -> Iterator[QueuedClient]:
    for tables in answers.tables:
        now = now_of(tables["clients"])
        for row in tables["clients"]:
            if row["database"] == answers.name and row["state"] == WAITING:
                user, application = text_of(row, "user"), text_of(row, "application_name")
                identity = text_of(row, "id"), text_of(row, "connect_time")
                yield QueuedClient(user, application, address_of(row), waited_s(row, now), *identity)


def waited_s(row: Row, now: str) -> float:
    """Return the seconds that a client has waited.

    One that waits since its login has 0 in the columns wait and wait_us. It waits since its request, and the newest
    request of all is the one of this reading.
    """
    waited_s = number(row.get("wait")) + number(row.get("wait_us")) / 1e6
    asked_at = text_of(row, "request_time")[:WHOLE_SECOND]
    if waited_s or not asked_at:
        return waited_s
    return (datetime.fromisoformat(now) - datetime.fromisoformat(asked_at)).total_seconds()


def _servers(answers: _Answers) -> tuple[tuple[ServerConnection, ...], tuple[ServerConnection, ...]]:
    """Return the server connections of the pool, and those of all others. A link holds within its process alone."""
    own: list[ServerConnection] = []
    others: list[ServerConnection] = []
    for tables in answers.tables:
        clients = {row["ptr"]: row for row in tables["clients"]}
        for row in tables["servers"]:
            found = _server(row, clients.get(row.get("link")))
            (own if found.pool == answers.name else others).append(found)
    return tuple(own), tuple(others)


def _server(row: Row, client: Row | None) -> ServerConnection:
    return ServerConnection(
        pool=text_of(row, "database"),
        user=text_of(row, "user"),
        state=text_of(row, "state"),
        pid=number(row.get("remote_pid")),
        local_port=number(row.get("local_port")),
        client=_client(client) if client else None,
    )


def _client(row: Row) -> ClientOfServer:
    user, application = text_of(row, "user"), text_of(row, "application_name")
    return ClientOfServer(user, application, address_of(row), text_of(row, "id"), text_of(row, "connect_time"))


def _server_limits(
    answers: _Answers, entries: Rows, own: Iterable[ServerConnection], others: Iterable[ServerConnection]
) -> Iterator[Limit]:
    """Yield the limits of the pool's size (of each user), of its database and of its busiest user.

    The reserve counts once all of it is used: a client gets of it only after reserve_pool_timeout, so that a queue of
    short waits never does.
    """
    config, by_user = _config(answers), _counted(own)
    size = sum(number(row.get("pool_size")) for row in entries)
    reserve = sum(number(row.get("reserve_pool_size", row.get("reserve_pool"))) for row in entries)
    used = max(by_user.values(), default=0)
    yield Limit("pool_size", size + reserve if used >= size + reserve else size, used)
    current = sum(number(row.get("current_connections")) for row in entries)
    yield Limit("max_db_connections", sum(number(row.get("max_connections")) for row in entries), current)
    of_users = _counted([*own, *others])
    most = number(config.get("max_user_connections")) * len(answers.tables)
    yield Limit("max_user_connections", most, max((of_users[user] for user in by_user), default=0))


def _counted(servers: Iterable[ServerConnection]) -> dict[str, int]:
    counts: dict[str, int] = {}
    for one in servers:
        counts[one.user] = counts.get(one.user, 0) + 1
    return counts


def _client_limits(answers: _Answers, entries: Rows) -> Iterator[Limit]:
    """Yield the limit of all clients of the pooler, and from 1.24 on that of the database's."""
    used = sum(number(row["items"]) for row in answers.rows("lists") if row["list"] == "used_clients")
    most = sum(number(row["value"]) for row in answers.rows("config") if row["key"] == "max_client_conn")
    yield Limit("max_client_conn", most, used)
    current = sum(number(row.get("current_client_connections")) for row in entries)
    of_database = sum(number(row.get("max_client_connections")) for row in entries)
    yield Limit("max_db_client_connections", of_database, current)


def _unresolved(answers: _Answers, entries: Rows) -> Iterator[str]:
    """Yield the host names of the entry that have no address in SHOW DNS_HOSTS of any process."""
    hosts = {host.strip() for row in entries for host in str(row.get("host") or "").split(",")}
    for row in answers.rows("dns_hosts"):
        if row["hostname"] in hosts and not row.get("addrs"):
            yield str(row["hostname"])
