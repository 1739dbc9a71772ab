"""What surrounds a refusal and may change without a change of the pool: files, the room for them, servers and logins.

Servers are asked by the panel's own login, which their logs do not show as an error. What only a login of the pool's
role can tell (a password that the panel may not compare, a rule of a standby, an outer authority) is tried by one.
"""

import errno
import hashlib
import os
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from typing import NamedTuple, TypeVar
from uuid import UUID

import psycopg

from core.lib.crypto import SealBroken
from pools.clusters import auth_query, connect, login_facts, topology
from pools.clusters.topology import Address
from pools.config_files import deliveries
from pools.deployment import live_files
from pools.errors import ClusterUnreachable, PoolsError
from pools.hosts.base import UnsafeFolder
from pools.models import REFUSED_STATES, Cluster, ClusterStatus, NodeRole, Pool, Pooler
from pools.poolers import direct_login, driver
from pools.poolers.base import READ_BY_POOLERS
from pools.poolers.faults import ClusterBusy

MOST_FILES_ELSEWHERE = 100
AVAILABLE = 3  # a column of `df -P`
SPARE_BYTES = 1024 * 1024  # space needed besides twice the size of the folder's files
FREED_BYTES = 8 * 1024
MOST_BYTES = 99_999_999  # More free space is not counted: the cause may then be a quota, or missing inodes.
UNSUPPORTED = (errno.EOPNOTSUPP, errno.EISDIR, errno.ENOENT)  # errors where O_TMPFILE is not supported, see open(2)
AT_ONCE, MOST_LOGINS = 16, 8  # logins per pooler: each minute the checks of clusters cover the others
T = TypeVar("T")
R = TypeVar("R")


class Circumstances(NamedTuple):
    """Digests of what decides, and how many bytes there are where they are scarce.

    `logins` is empty where none was tried.
    """

    facts: str
    room: str
    logins: str

    def __str__(self) -> str:
        return ":".join(self)

    def differ_from(self, kept: str) -> bool:
        """Return whether anything changed since they were kept as a text."""
        try:
            before = Circumstances(*kept.split(":"))
        except TypeError:  # An earlier release saved it in another format.
            return True
        logins_differ = bool(self.logins and before.logins) and self.logins != before.logins
        return self.facts != before.facts or logins_differ or self._has_more_room_than(before)

    def _has_more_room_than(self, before: "Circumstances") -> bool:
        if not before.room:
            return False
        return not self.room or int(self.room) > int(before.room) + FREED_BYTES


@dataclass(frozen=True)
class Login:
    """One login that a refused pool needs, with all that a thread needs for it."""

    pool: Pool
    at: Address
    role: str
    password: str = field(repr=False)

    @property
    def server(self) -> tuple[UUID, Address]:
        """The id of the cluster, and host and port of its server."""
        return self.pool.cluster_id, self.at

    @property
    def names(self) -> login_facts.Login:
        """Database and role."""
        return self.pool.database, self.role

    def is_away(self) -> bool:
        """Return whether its server is down or full; it is asked by the panel's login where no password is known."""
        try:
            if self.password:
                direct_login.connected(self.pool, self.role, self.password, self.at).close()
            else:
                connect.connect(self.pool.cluster, at=self.at).close()
        except ClusterBusy:
            return True
        except ClusterUnreachable as error:
            return error.cause in direct_login.NOBODY_THERE | direct_login.BUSY
        except PoolsError:
            return False
        return False


def observe(pooler: Pooler, *, log_in: bool) -> Circumstances:
    """Return the current circumstances of a pooler's refusals; its pools' roles log in only where `log_in` is set."""
    refused = pooler.pools.filter(state__in=REFUSED_STATES).order_by("pk")
    pools = list(refused.select_related("cluster", "pooler", "through"))
    logins = _first_logins(pools)
    facts = (pooler.server_version, list(_files(pooler)), _catalog_facts(pooler, pools), _facts_of_servers(logins))
    tried = in_parallel(_outcome, [one for one in logins if one.password]) if log_in else []
    room = _scarce_space(pooler.config_dir) if deliveries.of(pooler).runs_here else ""
    return Circumstances(_digest(facts), room, _digest(tried) if tried else "")


def _digest(facts: object) -> str:
    return hashlib.sha256(repr(facts).encode(errors="surrogateescape")).hexdigest()[:20]


def _files(pooler: Pooler) -> Iterator[tuple[object, ...]]:
    """Yield size, time and rights of the files that the pooler reads, in its folder and elsewhere."""
    if not deliveries.of(pooler).runs_here:
        yield from _files_there(pooler)
        return
    folder = Path(pooler.config_dir or "/nowhere")
    try:
        here = sorted(path for path in folder.iterdir() if path.name.endswith(READ_BY_POOLERS))
    except OSError as error:
        yield (error.errno,)
        return
    texts: dict[str, str] = {}
    with suppress(UnsafeFolder):
        texts = live_files.on_disk(pooler)
    elsewhere = sorted(driver(pooler).files_elsewhere(pooler, texts).items())[:MOST_FILES_ELSEWHERE]
    yield _status_of_file(folder, has_content=False)
    yield from (_status_of_file(path, has_content=True) for path in here)
    yield from (_status_of_file(Path(path), has_content=counts) for path, counts in elsewhere)


def _files_there(pooler: Pooler) -> Iterator[tuple[object, ...]]:
    """Yield the texts of the files on another host, and whether its disk is full."""
    try:
        yield from sorted(live_files.on_disk(pooler).items())
        with deliveries.of(pooler).connected(pooler) as host:
            if host:
                yield (_is_full(host.run(["df", "-Pk", pooler.config_dir]).stdout.decode(errors="replace")),)
    except PoolsError as error:
        yield (str(error),)


def _is_full(printed: str) -> bool:
    """Return whether df prints less than the spare room."""
    fields = printed.strip().splitlines()[-1].split() if printed.strip() else []
    return len(fields) > AVAILABLE and fields[AVAILABLE].isdigit() and int(fields[AVAILABLE]) * 1024 < SPARE_BYTES


def _status_of_file(path: Path, *, has_content: bool) -> tuple[object, ...]:
    """Return why a file can't be seen, or what decides whether a pooler can read it, and with `has_content` what.

    The folders above it count by their rights.
    """
    try:
        status = path.stat()
        above = [(one.stat().st_uid, one.stat().st_gid, one.stat().st_mode) for one in path.parents]
    except OSError as error:
        return str(path), error.errno
    rights = (str(path), status.st_uid, status.st_gid, status.st_mode, above)
    return (*rights, status.st_size, status.st_mtime_ns) if has_content else rights


def _scarce_space(folder: str) -> str:
    """Return the bytes free where the files of a pooler, or those of a trial instance, would not find room.

    Only then: the room says nothing elsewhere.
    """
    needed = 2 * _size(folder) + SPARE_BYTES
    free = [_free_bytes(place) for place in (folder, tempfile.gettempdir()) if place and _lacks_space(place, needed)]
    return str(min(free)) if free else ""


def _size(folder: str) -> int:
    try:
        return sum(entry.stat().st_size for entry in os.scandir(folder) if entry.name.endswith(READ_BY_POOLERS))
    except OSError:
        return 0


def _lacks_space(folder: str, size: int) -> bool:
    """Return whether a file of that size can't be written, by one without a name: a quota and inodes count too."""
    try:
        file_fd = os.open(folder, os.O_TMPFILE | os.O_WRONLY | os.O_CLOEXEC, 0o600)
    except OSError as error:
        return _free_bytes(folder) < size if error.errno in UNSUPPORTED else True
    try:
        os.posix_fallocate(file_fd, 0, size)
    except OSError:
        return True
    finally:
        os.close(file_fd)
    return False


def _free_bytes(folder: str) -> int:
    try:
        file_system = os.statvfs(folder)
    except OSError:
        return 0
    return min(file_system.f_bavail * file_system.f_frsize, MOST_BYTES)


def _catalog_facts(pooler: Pooler, pools: Sequence[Pool]) -> list[tuple[object, ...]]:
    """Return for each pool whether its database exists, its role's record, and its chained pooler's state."""
    statuses = ClusterStatus.objects.in_bulk({pool.cluster_id for pool in pools})
    databases = {pk: {str(one["name"]) for one in status.databases} for pk, status in statuses.items()}
    roles = {pk: {str(one["name"]): one for one in status.roles} for pk, status in statuses.items()}
    return [
        (
            pool.pk,
            pool.database in databases.get(pool.cluster_id, ()),
            roles.get(pool.cluster_id, {}).get(driver(pooler).probing_role(pool)),
            pool.through.state if pool.through else None,
        )
        for pool in pools
    ]


def logins_of(pools: Iterable[Pool]) -> Iterator[Login]:
    """Yield a login for each pool and each server that it leads to."""
    for pool in pools:
        role = driver(pool.pooler).probing_role(pool)
        password = _password(pool.cluster, role)
        for at in topology.addresses(pool.cluster, NodeRole(pool.target)):
            yield Login(pool, at, role, password)


def _first_logins(pools: Iterable[Pool]) -> list[Login]:
    """Return the first logins that these pools need, each once."""
    logins: dict[tuple[object, ...], Login] = {}
    for login in logins_of(pools):
        logins.setdefault((login.server, login.names), login)
        if len(logins) == MOST_LOGINS:
            break
    return list(logins.values())


def _password(cluster: Cluster, role: str) -> str:
    try:
        return cluster.password_of(role) or ""
    except SealBroken:
        return ""


def _facts_of_servers(logins: Iterable[Login]) -> list[object]:
    by_server = sorted(logins, key=lambda one: repr(one.server))
    return in_parallel(_facts_of_server, [list(group) for _, group in groupby(by_server, key=lambda one: one.server)])


def _facts_of_server(logins: Sequence[Login]) -> object:
    """Return the facts on one server that decide these logins, or the reason why the server can't be asked."""
    first = logins[0]
    try:
        with connect.connect(first.pool.cluster, at=first.at) as connection:
            return login_facts.ask(connection, [login.names for login in logins])
    except ClusterUnreachable as error:
        return error.cause
    except psycopg.Error as error:
        return type(error).__name__


def _outcome(login: Login) -> str:
    """Log in as the pool's role would, and return what came of it in a word."""
    try:
        with direct_login.connected(login.pool, login.role, login.password, login.at) as connection:
            if driver(login.pool.pooler).uses_auth_query(login.pool) and not auth_query.may_ask(connection):
                return "no look-up"
            return "let in"
    except ClusterBusy:
        return "busy"
    except ClusterUnreachable as error:
        return error.cause
    except (PoolsError, psycopg.Error) as error:
        return type(error).__name__


def in_parallel(ask: Callable[[T], R], whom: Sequence[T]) -> list[R]:
    """Ask all at the same time, since one that is silent takes the whole time-out of a login."""
    if not whom:
        return []
    with ThreadPoolExecutor(min(AT_ONCE, len(whom)), thread_name_prefix="retry") as threads:
        return list(threads.map(ask, whom))
